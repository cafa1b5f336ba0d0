"""The language of a text, by its letters and its commonest words; none where they do not tell."""

from __future__ import annotations

import re
from typing import Final, Literal

NAMES: Final = {
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "pt": "Portuguese",
    "it": "Italian",
    "nl": "Dutch",
    "ru": "Russian",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
}

_WORDS: Final = {
    "en": "the and of to is in that it for was on with not are this be have you or from at as by which had were an",
    "es": "el la los las de que y en un una es por con para no se del lo al está más pero como su hay fue ser son",
    "fr": "le la les des est et un une dans que qui pour pas du ne au sur avec ce il sont nous vous par plus être",
    "de": "der die das und ist nicht ein eine zu den von mit auf für wird dem des auch sich im wurde noch sind",
    "pt": "o a os as de que e em um uma é para com não do da por no na se mais foi ser são está este isso ao dos ou",
    "it": "il la di che e un una è per non con del della sono si da nel più gli le questo alla ma dei come anche",
    "nl": "de het een en van is dat niet op te zijn met voor er aan ook als om wordt bij nog naar maar deze dit heeft",
}
_TABLE: Final = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\S*[/_\\=<>{}()]\S*", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_LETTERS = re.compile(r"[^\W\d_]")

MOST = 20_000
"""Characters of a text that are read."""

SHARE = 0.15
"""Share of the letters from which a script decides: a word of another language is longer, and names are Latin."""

LETTERS = 10
"""Letters of another script for each common word of a language in which a text quotes them."""

LEAST = 6
"""Common words that tell a language of Latin letters."""

HEADINGS: Final = {
    "en": ("Rules", "Requests", "Files", "Open items", "written", "first request"),
    "es": ("Reglas", "Peticiones", "Archivos", "Pendiente", "escrito", "primera petición"),
    "fr": ("Règles", "Demandes", "Fichiers", "À faire", "écrit", "première demande"),
    "de": ("Regeln", "Aufträge", "Dateien", "Offen", "geschrieben", "erster Auftrag"),
    "pt": ("Regras", "Pedidos", "Arquivos", "Pendente", "escrito", "primeiro pedido"),
    "ru": ("Правила", "Запросы", "Файлы", "Открыто", "записано", "первый запрос"),
    "zh": ("规则", "请求", "文件", "待办", "已写入", "最初的请求"),
    "ja": ("ルール", "依頼", "ファイル", "未完了", "書き込み", "最初の依頼"),
    "ko": ("규칙", "요청", "파일", "남은 일", "작성", "첫 요청"),
}
"""Headings of rules, requests, files and open items, and the words for a written file and the first request."""

_TITLES: Final[dict[Literal["rules", "requests", "decisions", "errors"], str]] = {
    "rules": "rules reglas règles regeln regras правила 规则 ルール 규칙",
    "requests": "requests peticiones demandes anfragen pedidos запросы 请求 依頼 요청",
    "decisions": "decisions decisiones décisions entscheidungen decisões решения 决定 決定 결정",
    "errors": "errors errores erreurs fehler erros ошибки 错误 エラー 오류",
}

SECTIONS: Final[dict[str, Literal["rules", "requests", "decisions", "errors"]]] = {
    title: section for section, titles in _TITLES.items() for title in titles.split()
}
"""Sections of an offline summary by their heading in small letters."""


def language(text: str) -> str | None:
    """Return the code of a text's language, or None if its words do not tell."""
    text = _CODE.sub(" ", text[:MOST])
    letters = len(_LETTERS.findall(text))
    if not letters:
        return None
    for code, script in _SCRIPTS:
        if len(script.findall(text)) >= SHARE * letters:
            return code
    hits = hits_of(text)
    best, second = sorted(hits.values(), reverse=True)[:2]
    if best < LEAST or best < 1.3 * second:
        return None
    return max(hits, key=lambda code: hits[code])


def is_both(text: str, one: str, other: str) -> bool:
    """Return whether a text in one language also has many common words that only the other has: it quotes one."""
    if other not in _TABLE:
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    others = sum(word in _TABLE[other] - _TABLE.get(one, frozenset()) for word in words)
    if one not in _TABLE:
        letters = sum(len(script.findall(text)) for code, script in _SCRIPTS if code == one)
        return LETTERS * others > letters
    return 3 * others > sum(word in _TABLE[one] - _TABLE[other] for word in words)


def hits_of(text: str) -> dict[str, int]:
    """Return the number of common words of each language of Latin letters in a text."""
    words = [word.lower() for word in _WORD.findall(text)]
    return {code: sum(word in common for word in words) for code, common in _TABLE.items()}
