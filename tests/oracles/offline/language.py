"""The language of the user's words, and the headings in it."""

from __future__ import annotations

import re
from collections import Counter

TITLES = {
    "en": "Rules|Project rules|Requests|Earlier|Decisions|Files|Commands|Errors|Identifiers|Open items",
    "es": "Reglas|Reglas del proyecto|Peticiones|Antes|Decisiones|Archivos|Comandos|Errores|Nombres|Pendiente",
    "fr": "Règles|Règles du projet|Demandes|Avant|Décisions|Fichiers|Commandes|Erreurs|Noms|À faire",
    "de": "Regeln|Projektregeln|Anfragen|Zuvor|Entscheidungen|Dateien|Befehle|Fehler|Namen|Offen",
    "pt": "Regras|Regras do projeto|Pedidos|Antes|Decisões|Arquivos|Comandos|Erros|Nomes|Pendente",
    "ru": "Правила|Правила проекта|Запросы|Ранее|Решения|Файлы|Команды|Ошибки|Имена|Открыто",
    "zh": "规则|项目规则|请求|此前|决定|文件|命令|错误|名称|待办",
    "ja": "ルール|プロジェクトのルール|依頼|以前|決定|ファイル|コマンド|エラー|名前|未完了",
    "ko": "규칙|프로젝트 규칙|요청|이전|결정|파일|명령|오류|이름|남은 일",
}
SECTIONS = tuple(TITLES["en"].split("|"))
NAMED = {title: SECTIONS[at] for titles in TITLES.values() for at, title in enumerate(titles.split("|"))}
"""The section of each heading, in any language."""

_WORDS = {
    "en": "the and is to of that for with you this not it in on we be",
    "es": "el la los las que y en por para con una se lo está pero como un del es",
    "fr": "le la les des et est que pour dans une pas sur avec ce je vous il un du en",
    "de": "der das und ist nicht ein eine mit für auf den ich wir bitte zu dem im es",
    "pt": "o que e em para com uma não se por da é um os mas como você isso",
}
_LANGUAGES = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_READ = 4_000
"""Characters that are read."""
_LEAST = 4
"""Least words of a language."""
_LEAST_DIFFERENT = 3
"""Least different ones: ``e`` and ``o`` are flags and names too."""
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = (("ko", "가", "힣"), ("ja", "ぁ", "ヿ"), ("zh", "一", "鿿"), ("ru", "\u0410", "\u044f"))


def language(text: str, earlier: str = "") -> str:
    """The language of a text, by its script or its short words; that of the earlier summary where neither tells."""
    text = text[:_READ]
    letters = [c for c in text if c.isalpha()]
    of = Counter(map(_script, letters))
    if 3 * of["ko"] > len(letters):
        return "ko"
    if of["ja"] and 3 * (of["ja"] + of["zh"]) > len(letters):
        return "ja"
    if 3 * of["zh"] > len(letters):
        return "zh"
    if 2 * of["ru"] > len(letters):
        return "ru"
    words = Counter(_WORD.findall(text.lower()))
    found = {name: sum(words[word] for word in known) for name, known in _LANGUAGES.items()}
    best = max(found, key=found.__getitem__)
    is_told = found[best] >= _LEAST and len(_LANGUAGES[best] & set(words)) >= _LEAST_DIFFERENT
    if is_told and 2 * found[best] > 3 * found["en"]:
        return best
    return "en" if found["en"] >= _LEAST else _of_headings(earlier)


def _of_headings(summary: str) -> str:
    """The language of a summary's first heading; English where it has none."""
    title = next((line[3:].strip() for line in summary.split("\n") if line.startswith("## ")), "")
    return next((name for name, titles in TITLES.items() if title in titles.split("|")), "en")


def _script(c: str) -> str:
    for name, first, last in _SCRIPTS:
        if first <= c <= last:
            return name
    return ""
