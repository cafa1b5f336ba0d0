"""Bad data in large quantities: nesting, odd content, pairs, files, ten million messages.

All of it is slow; ``make slow ARGS=tests/faults`` runs it and prints what it did. The short forms, and the requirements
behind the numbers, are in ``test_bad_input`` and ``test_bad_data``.
"""

import base64
import copy
import json
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from test_bad_input import FILLER, call, damage, doors, nested, outcome

import trimtab
from support.checker import check
from support.damage import IDS, SAID, fields, places
from support.measured import counted
from support.models import CLAUDE, GPT
from support.transcripts import PROVIDERS, deep_hash, png, transcript
from trimtab import formats

pytestmark = pytest.mark.slow

# D5: nesting, in objects and in text, read and written, on stacks of eight megabytes and of a quarter of one

DEPTHS = (100, 150, 190, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 200_000, 500_000, 1_000_000)
DEEP = """
import sys, threading
sys.path.insert(0, {tests!r})
from test_bad_quantities import deep
worker = threading.Thread(target=deep, args=({depth},))
worker.start()
worker.join()
"""


def deep(depth):
    """Prints what comes of a call whose input is so deep: handled, or an error of ours, never anything else."""
    filler = FILLER
    text = json.dumps([*call("HERE"), *filler]).replace('"HERE"', "[" * depth + "null" + "]" * depth)
    lines = "\n".join(json.dumps(message) for message in [*call("HERE"), *filler])
    lines = lines.replace('"HERE"', "[" * depth + "null" + "]" * depth)
    for kind, ask in {
        **{name: lambda door=door: door([*call(nested(depth)), *filler]) for name, door in doors("anthropic").items()},
        "read": lambda: trimtab.read(text.encode()).messages,
        "read lines": lambda: trimtab.read(lines.encode()).messages,
        "scan": lambda: formats.scan(lines.encode(), counter=trimtab.Counter("o200k_base"), provider="anthropic"),
        "write": lambda: json.dumps(
            trimtab.repair(trimtab.read(text.encode()).messages, provider="anthropic").messages
        ),
    }.items():
        try:
            ask()
        except trimtab.Error as error:
            print(kind, "error" if getattr(error, "hint", "x") else "no hint")
        else:
            print(kind, "handled")


@pytest.mark.parametrize("stack", [8 << 20, 256 << 10])
def test_d5_nesting_of_any_depth_is_read_or_raises_a_trimtab_error(stack):
    for depth in DEPTHS:
        program = f"import threading\nthreading.stack_size({stack})\n" + DEEP.format(
            tests=str(Path(__file__).parents[1]), depth=depth
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr[-2_000:]) == (0, ""), depth
        told = dict(line.rsplit(" ", 1) for line in ran.stdout.splitlines())
        assert len(told) == 10, told
        print(f"stack {stack >> 10:,} KB, depth {depth:,}: " + ", ".join(f"{k} {v}" for k, v in told.items()))
        assert set(told.values()) <= {"handled", "error"}
        assert all(told[name] == ("handled" if depth < 195 else "error") for name in ("count", "fit", "repair")), told


# D7: 20,000 lists with one value of another kind


@pytest.mark.parametrize("provider", PROVIDERS)
def test_d7_4000_damaged_lists_of_each_shape_are_read_or_reported(provider):
    draw, seen = random.Random(7), {"read": 0, "named": 0, "mended": 0}
    spec = "u c1+c2 r1+r2 t+a u"
    for n in range(4_000):
        messages = json.loads(json.dumps(transcript(spec, provider)))
        damage(messages, draw)
        before, ways = deep_hash(messages), doors(provider)
        for name in ("count", "validate", "fit", draw.choice(["plan", "compact"])):
            seen["named" if outcome(ways[name], messages) is None else "read"] += 1
        mended = outcome(ways["repair"], messages)
        if mended is not None:
            seen["mended"] += 1
            assert trimtab.validate(list(mended.messages), provider=provider) == [], n
        assert deep_hash(messages) == before, n
    print(f"{provider}: 4,000 lists, {seen}")


# D8: 50,000 histories whose pairs do not fit


def broken(draw, provider):
    """A session with one to three messages, blocks, ids or texts that are gone, there twice, or elsewhere."""
    words, ref = ["u:3"], 0
    for _ in range(draw.randrange(1, 7)):
        ref += 2
        both = f"c{ref}+c{ref + 1} r{ref}+r{ref + 1} a:2"
        words.append(draw.choice(["a:2 u:2", f"c{ref} r{ref} a:2", both, f"a:2+{both}", f"c{ref} r{ref} {both}"]))
    found = copy.deepcopy(transcript(" ".join(words), provider))
    for _ in range(draw.randrange(1, 4)):
        (of, at), (_, to) = draw.choice(places(found)), draw.choice(places(found))
        way = draw.randrange(5)
        if way == 0:
            del of[at]
        elif way == 1:
            of.insert(draw.randrange(len(of) + 1), copy.deepcopy(of[at]))
        elif way == 2:
            of[at], of[to % len(of)] = of[to % len(of)], of[at]
        elif way == 3 and (ids := [pair for pair in fields(found, IDS) if str(pair[0][pair[1]]).startswith("call_")]):
            part, name = draw.choice(ids)
            part[name] = f"call_{draw.randrange(1, 9)}"
        elif texts := fields(found, SAID):
            part, name = draw.choice(texts)
            part[name] = draw.choice(["", " ", None, []])
        if not places(found):
            break
    return found


@pytest.mark.parametrize("provider", PROVIDERS)
def test_d8_10000_broken_histories_of_each_shape_are_repaired_and_no_pair_is_split(provider):
    draw, told = random.Random(8), {"valid": 0, "mended": 0, "changes": 0, "compacted": 0, "named": 0}
    cm = trimtab.Compactor(CLAUDE if provider in ("anthropic", "bedrock") else GPT, provider=provider)
    for n in range(10_000):
        messages = broken(draw, provider)
        before = deep_hash(messages)
        mended = outcome(lambda given: trimtab.repair(given, provider=provider), messages)
        if mended is None:
            told["named"] += 1
            continue
        told["valid" if mended.messages is messages else "mended"] += 1
        told["changes"] += len(mended.changes)
        assert bool(mended.changes) == (mended.messages is not messages), n
        assert check(list(mended.messages), provider) == [], n
        if (
            n % 10 == 0
            and (done := outcome(lambda given: cm.compact(given, target_share=0.5), mended.messages)) is not None
        ):
            told["compacted"] += done.messages is not mended.messages
            assert check(list(done.messages), provider) == [], n
        assert deep_hash(messages) == before, n
    print(f"{provider}: 10,000 histories, {told}, 0 split pairs")


# D9: ten million messages


def test_d9_ten_million_messages_are_counted_in_half_a_gigabyte(tmp_path):
    turn = transcript("u:9 c1 r1:9 a:9 u:3 a:5 u:4 a:6 u:2 a:3")
    block = ("\n".join(json.dumps(message) for message in turn) + "\n").encode() * 10_000
    path = tmp_path / "many.jsonl"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(block)
    told, most, _ = counted(path)
    print(
        f"{path.stat().st_size / 1e6:,.0f} MB, {told['messages']:,} messages, {told['tokens']:,} tokens, {most:,.0f} MB"
    )
    assert told["messages"] == 10_000_000
    assert most <= 500


# D10 and D11: files that are none


def jpeg(width, height):
    size = height.to_bytes(2) + width.to_bytes(2)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(11) + b"\xff\xc0\x00\x11\x08" + size + bytes(40) + b"\xff\xd9"


def gif(width, height):
    return b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + bytes(20) + b";"


def webp(width, height):
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + (30).to_bytes(4, "little") + b"WEBPVP8X" + (10).to_bytes(4, "little") + bytes(4) + size


def pdf(pages, *, packed=False):
    tree = f"2 0 obj <</Type/Pages/Count {pages}/Kids[3 0 R]>> endobj ".encode()
    if packed:
        tree = (
            b"5 0 obj <</Type/ObjStm/Filter/FlateDecode>> stream\n" + zlib.compress(tree * 99) + b"\nendstream endobj "
        )
    return (
        b"%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj " + tree + b"xref\n0 4\ntrailer <</Root 1 0 R>>\n%%EOF"
    )


PICTURES = [kind(*size) for kind in (jpeg, gif, webp) for size in ((300, 200), (1, 8_000), (8_001, 9))]
PICTURES += [base64.b64decode(png(*size)) for size in ((300, 200), (1, 8_000), (8_001, 9))]
DOCUMENTS = [pdf(n) for n in (0, 1, 31, 100_000, 10**12)]
DOCUMENTS += [
    pdf(3, packed=True),
    pdf(3).replace(b"trailer <<", b"trailer <</Encrypt 9 0 R"),
    pdf(3).replace(b"xref", b"xerf"),
    b"%PDF-1.4\n4 0 obj <</Filter/FlateDecode>> stream\n" + zlib.compress(bytes(64 << 20)) + b"\nendstream endobj",
]


def spoilt(draw, data):
    """The file with a few bytes changed, cut anywhere, or as text that is no base64."""
    raw = bytearray(data)
    for _ in range(draw.randrange(4)):
        raw[draw.randrange(len(raw))] = draw.randrange(256)
    text = base64.b64encode(raw[: draw.randrange(1, len(raw) + 1)] if draw.random() < 0.5 else raw).decode()
    if draw.random() < 0.2:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(["!", "\n", "=", "é", "\ud800", " "]) + text[at:]
    return text


@pytest.mark.parametrize(
    ("block", "made", "most"), [("image", PICTURES, 500), ("document", DOCUMENTS, 300)], ids=["d10", "d11"]
)
def test_d10_and_d11_damaged_images_and_documents_are_estimated_and_kept(block, made, most):
    draw, costs = random.Random(10), []
    for n in range(most):
        data = draw.choice(made) if n >= len(made) else made[n]
        source = {
            "type": "base64",
            "media_type": draw.choice(["image/png", "application/pdf"]),
            "data": spoilt(draw, data),
        }
        content = [{"type": block, "source": source}, {"type": "text", "text": "see"}]
        messages = [{"role": "user", "content": content}]
        before = deep_hash(messages)
        costs.append(trimtab.count(messages, model=CLAUDE))
        assert trimtab.Compactor(CLAUDE).fit(messages).messages is messages, n
        codes = {problem.code for problem in trimtab.validate(messages, provider="anthropic")}
        assert codes <= {"image_too_large"}, codes
        assert deep_hash(messages) == before
    print(f"{most} spoilt: {min(costs):,} to {max(costs):,} tokens")
    assert min(costs) > 0
