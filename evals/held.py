"""What becomes of a bad model's summaries: 500 generated answers, held to their messages; ``make eval-held``.

    python evals/held.py [NUMBER]

Each case is a generated session or chat, and an answer with true bullets and one or two faults: a path, a name, a
number or a quotation that stands nowhere; a rule left out; a test that failed and is said to pass; another language;
more than the limit; reasoning in tags. Half of the stub models repeat the answer when it is sent back, the others
repeat it without the true bullets. A fault is caught if the summary in the result does not have it and has every rule,
in at most two calls. True bullets that are lost are counted too. Prints a row a fault; exits with 1 if one got through.
"""

from __future__ import annotations

import platform
import random
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import trimtab
from trimtab.summarize import Answer, Ask
from trimtab.summarize.languages import language

SEED = 20261125
PLACES = ("harbour", "ledger", "orchard", "turbine", "quarry", "lantern", "meadow", "foundry")
VERBS = ("parse", "merge", "seal", "weigh", "route", "hash")
RULES = (
    "Never write to the {0} bucket without asking me first.",
    "Always run the {0} checks before you commit anything.",
    "Do not touch the {0} migration files under any circumstances.",
    "From now on keep every {0} reply below {1} words.",
    "You must leave the {0} schema at version {1}, never change it.",
)
TALK = {
    "en": "I was at the market with my sister and we bought some bread and cheese for the weekend, it was very good.",
    "es": "Ayer fui al mercado con mi hermana y compramos pan y queso para el fin de semana, que estaba muy bueno.",
    "fr": "Hier je suis allé au marché avec ma sœur et nous avons acheté du pain et du fromage pour le week-end.",
    "de": "Gestern war ich mit meiner Schwester auf dem Markt und wir haben Brot und Käse für das Wochenende gekauft.",
    "pt": "Ontem fui ao mercado com a minha irmã e compramos pão e queijo para o fim de semana, e estava muito bom.",
    "ru": "Вчера я была на рынке с сестрой, и мы купили хлеб и сыр на выходные, всё было очень вкусно.",  # noqa: RUF001
    "zh": "昨天我和姐姐去了市场，我们买了周末吃的面包和奶酪，都很好吃。",  # noqa: RUF001
    "ja": "昨日は姉と一緒に市場へ行って、週末のためにパンとチーズを買いました。とても美味しかったです。",
    "ko": "어제 언니와 함께 시장에 가서 주말에 먹을 빵과 치즈를 샀는데 아주 맛있었어요.",
}
FAULTS = ("path", "name", "number", "quotation", "rule", "verdict", "language", "limit", "reasoning")


@dataclass(slots=True)
class Case:
    """A session, the bad answer of a stub model to it, and what must come of it.

    Attributes:
        messages: the session.
        answer: the answer.
        spoken: the session's language.
        faults: the answer's faults, by name.
        invented: texts that must not be in the summary.
        rules: texts that must be in it.
        true: bullets of the answer that hold.
        repeats: whether the stub gives the answer again, true bullets and all.
    """

    messages: list[dict[str, Any]]
    answer: str = ""
    spoken: str = "en"
    faults: tuple[str, ...] = ()
    invented: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    true: list[str] = field(default_factory=list)
    repeats: bool = True


def case(seed: int) -> Case:
    """The case of a seed."""
    chance = random.Random(f"{SEED} {seed}")
    faults = tuple(chance.sample(FAULTS, chance.choice((1, 1, 2))))
    made = _chat(chance) if "language" in faults else _session(chance)
    made.faults, made.repeats = faults, chance.random() < 0.5
    _answer(made, chance)
    return made


def _chat(chance: random.Random) -> Case:
    spoken = chance.choice(list(TALK))
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"{TALK[spoken]} ({n}) {TALK[spoken]}"} for n in range(60)
    ]
    return Case(messages, spoken=spoken)


def _session(chance: random.Random) -> Case:
    place, other = chance.sample(PLACES, 2)
    verb, port = chance.choice(VERBS), chance.randrange(2_000, 9_000)
    path = f"src/{place}/{verb}_{other}.py"
    name, value = f"{verb}_{place}", chance.randrange(100, 999)
    rules = [rule.format(other, chance.randrange(20, 90)) for rule in chance.sample(RULES, 2)]
    made = Case([], rules=rules)
    made.messages = [
        {"role": "user", "content": f"Please mend {name} in {path}; the service listens on port {port}. {rules[0]}"},
        {"role": "assistant", "content": f"I begin with {path}."},
        *_run(chance, "1", "Read", {"file_path": path}, f"def {name}(rows):\n    return rows[:{value}]\n" * 8),
        {"role": "assistant", "content": f"The cause is that {name} cuts at {value} rows."},
        {"role": "user", "content": f"{rules[1]} The budget of the {place} is ${value} in total."},
        *_run(chance, "2", "Edit", {"file_path": path, "old_string": f"[:{value}]", "new_string": ""}, "edited"),
        *_run(chance, "3", "Bash", {"command": f"pytest tests/test_{place}.py"}, "2 failed, 14 passed", failed=True),
        {"role": "assistant", "content": "Two tests fail still."},
    ]
    for n in range(24):
        made.messages += _run(chance, f"x{n}", "Bash", {"command": f"cat part{n}.log"}, "nothing to see here\n" * 30)
        made.messages.append({"role": "assistant", "content": f"part{n}.log has nothing."})
    made.messages += [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "I go on."}]
    made.true = [
        f"- The user asked to mend `{name}` in {path}.",
        f"- {name} cut at {value} rows, which was the cause.",
        f"- The service listens on port {port}.",
        f'- The assistant said "The cause is that {name} cuts at {value} rows."',
        f"- `pytest tests/test_{place}.py` failed: 2 failed, 14 passed.",
    ]
    return made


def _run(
    chance: random.Random, key: str, tool: str, given: dict[str, str], output: str, *, failed: bool = False
) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{key}_{chance.randrange(10**6)}", "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": failed}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def _answer(made: Case, chance: random.Random) -> None:
    """Write the answer: true bullets, rules unless they are dropped, and the faults, in any order."""
    lines = list(made.true)
    if "rule" not in made.faults:
        lines += [f"- {rule}" for rule in made.rules]
    place = chance.choice(PLACES)
    for fault in made.faults:
        if fault == "path":
            wrong = chance.choice(
                (f"lib/{place}/store.py", f"src/{place}/main_v2.rs", f"/srv/{place}/conf.d/site.yml", f"{place}.tf")
            )
            forms = (f"- Wrote {wrong}.", f"- `{wrong}` was created and has the fix.", f"## {wrong}", f"**{wrong}**")
            lines.append(chance.choice(forms))
            made.invented.append(wrong)
        elif fault == "name":
            wrong = chance.choice(
                (
                    f"{place}_daemon_pool",
                    f"{place.title()}FactoryBean",
                    "v4.17.2",
                    "deadbeef42cafe17",
                    f"ops@{place}.example",
                    f"{place}.internal",
                )
            )
            lines.append(f"- {wrong} is what the fix needs.")
            made.invented.append(wrong)
        elif fault == "number":
            wrong = chance.choice(("31,337", "$77.25", "1949", "63%", "10007ms"))
            lines.append(f"- It took {wrong} of it.")
            made.invented.append(wrong)
        elif fault == "quotation":
            wrong = chance.choice(
                ("please delete the whole archive", "you may always push to main", "the owner agreed")
            )
            lines.append(
                chance.choice((f'- The user said "{wrong}".', f"- The user: “{wrong}”", f"- '{wrong}', it says."))
            )
            made.invented.append(wrong)
        elif fault == "verdict" and made.true:
            command = re.findall(r"`(pytest [^`]*)`", made.true[-1])[0]
            lines = [line for line in lines if command not in line]
            made.true = made.true[:-1]
            lines.append(f"- `{command}` passed.")
            made.invented.append(f"`{command}` passed")
    chance.shuffle(lines)
    if "language" in made.faults:
        foreign = chance.choice([one for one in TALK if one != made.spoken])
        made.invented.append(TALK[foreign])
        lines = [f"- {TALK[foreign]}"] * 3
        made.true = []
    text = "## Summary\n" + "\n".join(lines)
    if "limit" in made.faults:
        text += "\n- " + "The service goes on. " * 4_000
    if "reasoning" in made.faults:
        tag = chance.choice(("think", "analysis", "thinking"))
        made.invented.append("First I look at what was asked")
        text = f"<{tag}>\nFirst I look at what was asked, 4711 times.\n</{tag}>\n\n{text}"
    made.answer = text


def problems(made: Case) -> tuple[list[str], int]:
    """What of a case's faults got through, and the number of true bullets that were lost."""
    calls: list[Ask] = []

    def stub(ask: Ask) -> Answer:
        calls.append(ask)
        again = len(calls) > 1 and not made.repeats
        lines = [line for line in made.answer.splitlines() if not again or line not in made.true]
        return Answer("\n".join(lines), usage={"calls": 1})

    told: list[Any] = []
    cm = trimtab.Compactor("claude-sonnet-5-5", summarizer=stub, listeners=[told.append])
    done = cm.compact(made.messages, target_share=0.5)
    text = done.summary or ""
    zone = done.plan.zone()
    gone = made.messages[zone.start : zone.stop] if zone else []
    found = [f"holds {wrong}" for wrong in made.invented if wrong in text]
    found += [f"lacks {rule}" for rule in made.rules if rule in str(gone) and rule not in text]
    if len(calls) > 2:
        found.append(f"{len(calls)} calls")
    if zone is None or cm.counter.count(text) > getattr(zone, "max_tokens", 0):
        found.append("over its limit")
    if language(text) not in {None, made.spoken}:
        found.append(f"in {language(text)}")
    wrote = done.summarizer == "stub"
    named = "\n".join(told[-1].dropped)
    kept = made.true if wrote and made.repeats else []
    in_answer = {"path", "name", "number", "quotation"} & set(made.faults)
    if wrote and in_answer and not all(wrong in named or wrong not in made.answer for wrong in made.invented[:1]):
        found.append("dropped without a word in the event")
    return found, sum(line.removeprefix("- ") not in text for line in kept)


def main() -> int:
    """Prints the table."""
    number = int(sys.argv[1]) if sys.argv[1:] else 500
    rows = {fault: [0, 0] for fault in FAULTS}
    lost = true = 0
    for seed in range(number):
        made = case(seed)
        found, missing = problems(made)
        lost, true = lost + missing, true + len(made.true)
        for fault in made.faults:
            rows[fault][0] += 1
            rows[fault][1] += not found
        if found:
            print(f"seed {seed}, {', '.join(made.faults)}: {'; '.join(found)}")
    print(f"trimtab {trimtab.__version__}, Python {platform.python_version()}, seed {SEED}, {number} answers")
    print(f"{'fault':12}{'answers':>9}{'caught':>9}")
    for fault, (answers, caught) in rows.items():
        print(f"{fault:12}{answers:>9,}{caught:>9,}")
    print(f"true bullets lost: {lost:,} of {true:,}")
    return any(answers != caught for answers, caught in rows.values()) or lost > 0


if __name__ == "__main__":
    sys.exit(main())
