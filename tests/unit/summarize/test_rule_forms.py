"""Rules without a word of one: what counts by its form, in nine languages, and what only looks so."""

import random

import pytest

from oracles.offline.limits import is_limit, is_output, limited
from trimtab import _core

LIMITS = """
Keep the parser as it is.
keep column order as in the source
Leave the billing folder alone.
Stick to the standard library.
No new dependencies.
no mocks in these tests
No mocks, no fixtures, no sleeps
Write it in plain sqlite, no ORM.
free-form markdown, not JSON
Return the rows as a list, not a generator.
Use tabs instead of spaces.
docs only
Change at most two files.
reduce the table to open orders only
Run the linter before each push.
Run the tests before merging.
Wait until I say so.
Ask me before each deployment.
Use bun for all scripts.
The config file stays where it is.
The public names remain unchanged.
same names as before
I did not say that you may push.
That's not what I asked for.
Push one at a time.
Format: keep the two columns
3. Keep the old route as an alias
On slow turbines (e.g. the old one) set a longer pause.
Mantén los nombres de las columnas.
Sin dependencias nuevas.
Usa solo la biblioteca estándar.
Responde en español, no en inglés.
No pedí un archivo nuevo.
Garde les noms actuels.
Pas de nouvelles dépendances.
Utilise uniquement la bibliothèque standard.
Lance les tests avant de pousser.
Lass die alte Schnittstelle wie sie ist.
Keine neuen Abhängigkeiten.
Nutze nur die Standardbibliothek.
Schreib Tabs statt Leerzeichen.
Mantenha os nomes das colunas.
Sem dependências novas.
Use apenas a biblioteca padrão.
Оставь старый интерфейс.
Никаких новых зависимостей.
Используй только стандартную библиотеку.
保持接口不变。
只修改 tests 目录。
提交之前先跑测试。
APIはそのままにしてください。
スペースではなくタブを使ってください。
コミットする前にテストを実行してください。
API는 그대로 유지해 주세요.
새 의존성 없이 구현해 주세요.
커밋하기 전에 테스트를 실행해 주세요.
""".strip().splitlines()

OTHERS = """
Create a file called hello.txt.
No errors found.
no, that is fine
No module named 'flask'
No tests collected
`make lint` - no lint errors
Keep going.
keep me posted
Leave a comment there.
Let me check this one first.
It stays red after the second click.
Can you keep the old name?
Could we instead use sqlite
Update the port to 8080 instead of 80
Update the label: "Phase" instead of "Batch".
The build is slow.
I kept the old name.
The parser keeps the comments.
Verify that one row is returned as before
It is not only slow but wrong.
We have no idea.
El archivo es demasiado grande.
Sin embargo, funciona.
Sans doute.
Les tests passent seulement ici.
Keine Ahnung.
Der Test läuft nur montags.
Ohne den Cache ist es langsam.
Crea un archivo llamado a.txt.
Без проблем.
Тест падает только по понедельникам.
修复这个错误。
测试通过了。
テストを書いてください。
テストはそのままでした。
테스트를 작성해 주세요.
""".strip().splitlines()

PRINTED = "=== Step 1: build ===\n[main a1b2c3] first\n✓ done\n\nThe rest of the file remains unchanged.\n"


def limits_of(text: str) -> list[str]:
    return _core.facts(([{"role": "user", "content": text}], ()), "")[5]


@pytest.mark.parametrize("text", LIMITS)
def test_a_sentence_that_limits_the_work_is_a_limit(text: str) -> None:
    assert limits_of(text) == [text]
    assert limited(text)


@pytest.mark.parametrize("text", OTHERS)
def test_a_sentence_that_limits_nothing_is_none(text: str) -> None:
    assert limits_of(text) == []
    assert not limited(text)


def test_a_rule_with_a_word_of_one_is_a_rule_and_no_limit() -> None:
    rules, *_, limits = _core.facts(([{"role": "user", "content": "Never push. Keep the old names."}], ()), "")
    assert (rules, limits) == (["Never push. Keep the old names."], [])


def test_what_a_program_printed_limits_nothing() -> None:
    assert limits_of(PRINTED) == []
    assert limits_of("The rest of the file remains unchanged.") != []
    assert is_output(PRINTED)


def test_a_limit_that_is_replaced_later_is_none() -> None:
    said = ["Keep the timeout of the loader at 30 seconds.", "Keep the timeout of the loader at 90 seconds."]
    later = [{"role": "user", "content": text} for text in said]
    assert _core.facts((later, ()), "")[5] == said[1:]


def test_any_words_are_judged_as_the_slow_version_judges_them() -> None:
    words = sorted({word for line in (*LIMITS, *OTHERS) for word in line.split(" ")})
    joins = (" ", " ", " ", " ", ", ", "; ", " - ", ": ", " (", ". ")
    chance = random.Random(45)
    found = 0
    for _ in range(6_000):
        text = "".join(chance.choice(words) + chance.choice(joins) for _ in range(chance.randrange(3, 9))).strip(" -")
        rules, *_, limits = _core.facts(([{"role": "user", "content": text}], ()), "")
        if len(text) <= 60 and not rules:
            assert limits == ([text] if is_limit(text) else []), text
            found += bool(limits)
    assert found > 200
