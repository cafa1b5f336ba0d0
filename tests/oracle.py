"""Slow and obvious versions of what the core does: they are its meaning. They read messages, not columns."""

import decimal
import itertools
import json
import math
import re
from dataclasses import dataclass, field

import regex

TEXT, CALL, RESULT, THINKING, IMAGE, DOCUMENT, SERVER_CALL, SERVER_RESULT, COMPACTION, OPAQUE = range(10)
USER, ASSISTANT, SYSTEM, TOOL, OTHER = range(5)
ROLES = {"user": USER, "assistant": ASSISTANT, "model": ASSISTANT, "system": SYSTEM, "developer": SYSTEM, "tool": TOOL}
GLUED, THINKS = 4, 32  # of the marks of a message: it holds together with the next; its turn begins with thinking
UNKNOWN_IMAGE = 1_560


@dataclass
class Row:
    """A block as the ledger sees it.

    `pieces` are its texts, counted one by one: a call's name apart from its arguments. `media` are the tokens of what
    is no text, `hidden` the length of what stands for thinking, `input` a call's arguments where they are an object.
    """

    owner: int
    kind: int
    role: int
    id: str = ""
    name: str = ""
    pieces: list = field(default_factory=list)
    media: int = 0
    hidden: int = 0
    input: dict | None = None
    failed: bool = False


def compact(value):
    """Return the text that a provider receives for a value of another type."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def rows(messages, provider):
    """All rows of a transcript, in order."""
    found = []
    for owner, message in enumerate(messages):
        role, blocks = _READ[provider](message)
        found += [Row(owner, role=role, **block) for block in blocks]
    return found


def _anthropic(message):
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return ROLES[message["role"]], [_block(block) for block in blocks]


def _block(block):
    kind = block["type"]
    match kind:
        case "text":
            return {"kind": TEXT, "name": kind, "pieces": [block["text"]]}
        case "thinking":
            return {"kind": THINKING, "name": kind, "pieces": [block["thinking"]]}
        case "tool_use" | "server_tool_use":
            pieces = [block["name"], compact(block["input"])]
            row = CALL if kind == "tool_use" else SERVER_CALL
            return {"kind": row, "id": block["id"], "name": block["name"], "pieces": pieces, "input": block["input"]}
        case "tool_result":
            given = _returned(block.get("content", "")) | {"failed": block.get("is_error", False)}
            return {"kind": RESULT, "id": block["tool_use_id"], "name": kind, **given}
        case "web_search_tool_result":
            given = _returned(block["content"])
            return {"kind": SERVER_RESULT, "id": block["tool_use_id"], "name": kind, **given}
        case "image":
            return {"kind": IMAGE, "name": kind, "media": image(block["source"].get("data", ""))}
        case _:
            return {"kind": OPAQUE, "name": kind, "pieces": [compact(block)]}


def _returned(content):
    """Return a tool result as texts, and the tokens of its images."""
    if isinstance(content, str):
        return {"pieces": [content]}
    pieces, media = [], 0
    for part in content:
        if part["type"] == "image":
            media += image(part["source"].get("data", ""))
        elif part["type"] in {"text", "input_text", "output_text", "summary_text"}:
            pieces.append(part["text"])
        else:
            pieces.append(compact(part))
    return {"pieces": pieces, "media": media}


def _chat(message):
    role, content = ROLES[message["role"]], message["content"]
    if role == TOOL:
        return role, [{"kind": RESULT, "id": message["tool_call_id"], "name": "tool", **_returned(content)}]
    blocks = []
    texts = [name for name in ("reasoning_content", "thinking", "reasoning") if isinstance(message.get(name), str)]
    lists = [name for name in ("reasoning_details", "thinking_blocks") if message.get(name)]
    if texts:
        blocks.append({"kind": THINKING, "name": texts[0], "pieces": [message[texts[0]]]})
    elif lists:
        said = [part.get("text") or part.get("thinking") or part.get("summary") for part in message[lists[0]]]
        blocks.append({"kind": THINKING, "name": lists[0], "pieces": [text for text in said if text]})
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for part in parts:
        if part["type"] == "image_url":
            media = _url(part["image_url"]["url"])
            blocks.append({"kind": IMAGE, "name": "image_url", "media": media})
        else:
            blocks.append(_block(part))
    for call in message.get("tool_calls", []):
        function = call["function"]
        pieces = [function["name"], function["arguments"]]
        sent = {"pieces": pieces, "input": _object(function["arguments"])}
        blocks.append({"kind": CALL, "id": call["id"], "name": function["name"], **sent})
    return role, blocks


def _object(text):
    """The arguments that a text of JSON says, None where it says no object."""
    try:
        said = json.loads(text)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _converse(block):
    (kind, held), *_ = block.items()
    match kind:
        case "text":
            return {"kind": TEXT, "name": kind, "pieces": [held]}
        case "reasoningContent":
            return {"kind": THINKING, "name": kind, "pieces": [held["reasoningText"]["text"]]}
        case "toolUse":
            pieces = [held["name"], compact(held["input"])]
            named = {"id": held["toolUseId"], "name": held["name"]}
            return {"kind": CALL, **named, "pieces": pieces, "input": held["input"]}
        case "toolResult":
            pieces = [part["text"] if "text" in part else compact(part["json"]) for part in held["content"]]
            return {"kind": RESULT, "id": held["toolUseId"], "name": kind, "pieces": pieces}
        case "image":
            return {"kind": IMAGE, "name": kind, "media": image(held["source"]["bytes"])}
        case _:
            return {"kind": OPAQUE, "name": kind, "pieces": [compact(block)]}


def _part(part):
    (kind, held), *_ = part.items()
    match kind:
        case "text":
            thought = part.get("thought", False)
            return {"kind": THINKING if thought else TEXT, "name": "thought" if thought else kind, "pieces": [held]}
        case "functionCall":
            pieces = [held["name"], compact(held["args"])]
            named = {"id": held.get("id", held["name"]), "name": held["name"]}
            return {"kind": CALL, **named, "pieces": pieces, "input": held["args"]}
        case "functionResponse":
            pieces = [held["name"], compact(held["response"])]
            return {"kind": RESULT, "id": held.get("id", held["name"]), "name": held["name"], "pieces": pieces}
        case "inlineData":
            return {"kind": IMAGE, "name": kind, "media": image(held["data"])}
        case _:
            return {"kind": OPAQUE, "name": kind, "pieces": [compact(part)]}


def _responses(item):
    kind = item.get("type", "message")
    match kind:
        case "message":
            content = item["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return ROLES[item["role"]], [_said(part) for part in parts]
        case "reasoning":
            hidden = len(item["encrypted_content"])
            row = {"kind": THINKING, "id": item["id"], "name": kind, "hidden": hidden}
            return ASSISTANT, [row | {"pieces": [part["text"] for part in item["summary"]]}]
        case "function_call":
            pieces = [item["name"], item["arguments"]]
            sent = {"pieces": pieces, "input": _object(item["arguments"])}
            return ASSISTANT, [{"kind": CALL, "id": item["call_id"], "name": item["name"], **sent}]
        case "function_call_output":
            return TOOL, [{"kind": RESULT, "id": item["call_id"], "name": kind, **_returned(item["output"])}]
        case _:
            return ASSISTANT, [{"kind": OPAQUE, "name": kind, "pieces": [compact(item)]}]


_READ = {
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "bedrock": lambda message: (ROLES[message["role"]], [_converse(block) for block in message["content"]]),
    "gemini": lambda content: (ROLES[content["role"]], [_part(part) for part in content["parts"]]),
}


def _said(part):
    match part["type"]:
        case "text" | "input_text" | "output_text":
            return {"kind": TEXT, "name": part["type"], "pieces": [part["text"]]}
        case "input_image":
            return {"kind": IMAGE, "name": "input_image", "media": _url(part["image_url"])}
        case _:
            return _block(part)


def _url(url):
    return image(url.partition(";base64,")[2]) if url.startswith("data:") else UNKNOWN_IMAGE


def image(data):
    """Tokens of a base64 picture whose header we wrote ourselves: width and height are bytes 16 to 24 of a PNG."""
    import base64

    header = base64.b64decode(data[:32])
    if header[:4] != b"\x89PNG":
        return UNKNOWN_IMAGE
    return patches(int.from_bytes(header[16:20]), int.from_bytes(header[20:24]))


def patches(width, height, tier="standard"):
    """Patches of 28 pixels of the largest picture of that form that keeps the tier's pixels a side and patches."""
    edge, most = PATCHES[tier]

    def cost(w, h):
        across, down = math.ceil(w / 28), math.ceil(h / 28)
        return across * down if max(across, down) * 28 <= edge and across * down <= most else None

    long, short = max(width, height), min(width, height)
    sizes = ((side, max(1, round(short * side / long))) for side in range(long, 0, -1))
    return next(tokens for tokens in (cost(*size) for size in sizes) if tokens)


def covering(width, height, most):
    """Patches of 32 pixels of a picture, shrunk as OpenAI documents it where they are more than `most`."""
    sides = [decimal.Decimal(side) / 32 for side in (width, height)]
    if math.prod(map(math.ceil, sides)) > most:
        root = (most / (sides[0] * sides[1])).sqrt()
        kept = min(max(math.floor(side * root), 1) / (side * root) for side in sides)
        sides = [round(side * root * min(kept, decimal.Decimal(1)), 12) for side in sides]
    return min(math.prod(max(math.ceil(side), 1) for side in sides), most)


def pairs(table):
    """For each row its partner's position, -1 for none: a result takes the latest call of its id that is not taken.

    One that has its function's name in place of an id, and no call of that id, takes the first call of that name that
    is not taken of the model's turn before it, once the results of its message that have ids have theirs.
    """
    pair = [-1] * len(table)
    for at, row in enumerate(table):
        asks = {RESULT: CALL, SERVER_RESULT: SERVER_CALL}.get(row.kind)
        free = [c for c in range(at) if table[c].kind == asks and table[c].id == row.id and pair[c] == -1]
        if free:
            pair[at], pair[free[-1]] = free[-1], at
        if at + 1 == len(table) or table[at + 1].owner != row.owner:
            _pair_by_name(table, pair, row.owner)
    return pair


def _pair_by_name(table, pair, owner):
    before = [c for c, row in enumerate(table) if row.owner < owner]
    while before and table[before[-1]].role != ASSISTANT:
        before.pop()
    turn = list(itertools.takewhile(lambda c: table[c].role == ASSISTANT, reversed(before)))[::-1]
    for at, row in enumerate(table):
        if (row.owner, row.role, row.kind, row.id) == (owner, USER, RESULT, row.name) and row.id and pair[at] == -1:
            free = [c for c in turn if table[c].kind == CALL and table[c].name == row.name and pair[c] == -1]
            if free:
                pair[at], pair[free[0]] = free[0], at


def safe(messages, provider):
    """For each cut, whether no group has messages on both sides; an open call is open to the end and beyond."""
    table, end = rows(messages, provider), len(messages)
    groups = []
    for row, partner in zip(table, pairs(table), strict=True):
        if row.kind in {CALL, SERVER_CALL}:
            groups.append({row.owner, table[partner].owner if partner >= 0 else end})
    for at in range(end):
        last = [row.kind for row in table if row.owner == at][-1:]
        if last == [THINKING] and provider not in ("openai_chat", "gemini"):
            groups.append({at, at + 1})
    roles = [_READ[provider](message)[0] for message in messages]
    kinds = [[row.kind for row in table if row.owner == at] for at in range(end)]
    thinks = [provider in ("anthropic", "bedrock") and THINKING in of for of in kinds]
    return [
        not any(min(g) < cut <= max(g) for g in groups) and not parts_thinking(cut, roles, kinds, thinks)
        for cut in range(end + 1)
    ]


def parts_thinking(cut, roles, kinds, thinks):
    """Whether a cut inside a turn leaves something else in front of the turn's thinking."""
    stop = next((at for at in range(cut, len(roles)) if roles[at] != ASSISTANT), len(roles))
    inside = 0 < cut < stop and roles[cut - 1] == ASSISTANT
    return inside and any(thinks[cut:stop]) and kinds[cut][:1] != [THINKING]


def split(costs, cuts, keep):
    """The earliest safe cut whose tail costs at most `keep`."""
    fits = (cut for cut in range(len(costs) + 1) if cuts[cut] and sum(costs[cut:]) <= keep)
    return next(fits, None)


def tail_cuts(ledger):
    """As `safe`, of a ledger that is there; calls that have no result and another turn behind theirs wait for none."""
    end, role, owner = len(ledger), ledger.role.tolist(), ledger.owner.tolist()
    live = max((at for at in range(end) if role[at] == ASSISTANT), default=0)
    while live > 0 and role[live - 1] == ASSISTANT:
        live -= 1
    spans = [(at, at + 1) for at in range(end) if ledger.marks[at] & GLUED]
    for row, (kind, pair) in enumerate(zip(ledger.kind, ledger.pair, strict=True)):
        if kind in {CALL, SERVER_CALL} and (pair >= 0 or owner[row] >= live):
            spans.append((owner[row], owner[pair] if pair >= 0 else end))
    kinds = [ledger.kind[owner_is].tolist() for owner_is in (ledger.owner == at for at in range(end))]
    thinks = [bool(marks & THINKS) for marks in ledger.marks.tolist()]
    return [
        not any(start < cut <= stop for start, stop in spans) and not parts_thinking(cut, role, kinds, thinks)
        for cut in range(end + 1)
    ]


def scalars(text):
    """The text as Rust holds it: pairs of surrogates are one character, lone ones U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def length(text, unit):
    """Unicode scalar values, bytes of UTF-8 or UTF-16 units."""
    text = scalars(text)
    sizes = {"chars": len(text), "bytes": len(text.encode()), "utf16": len(text.encode("utf-16-le")) // 2}
    return sizes[unit]


def quarter(size, rounding, per=4):
    """A fourth part, or another one, as a whole number."""
    whole = {"floor": math.floor, "ceil": math.ceil, "half_up": lambda part: math.floor(part + 0.5)}
    return whole[rounding](size / per)


NAMESPACE = "antml:"
PATCHES = {"standard": (1_568, 1_568), "high": (2_576, 4_784)}


def tokens(row, count):
    """Tokens of a row's texts and pictures, nothing around them."""
    return sum(map(count, row.pieces)) + row.media + hidden(row, 125, 0)


def hidden(row, factor, without):
    """Tokens of thinking of which only so many characters of a signature are there, a factor in thousandths."""
    return math.floor(max(row.hidden - without, 0) * factor / 1000 + 0.5)


def costs(messages, provider, count, prompt):
    """Tokens of each row, and what each message adds beyond them, as a prompt's grammar writes them."""
    table = rows(messages, provider)
    roles = [_READ[provider](message)[0] for message in messages]
    if prompt.form == "plain":
        return [tokens(row, count) for row in table], [0] * len(messages)
    spent = [_sent(at, table, count, prompt) for at in range(len(table))]
    framing, partner = [0] * len(messages), pairs(table)
    for turn in _turns(roles):
        own = [at for at, row in enumerate(table) if row.owner in turn]
        calls, results, thinking = ([at for at in own if table[at].kind == kind] for kind in (CALL, RESULT, THINKING))
        for message in turn:
            said = {table[at].kind for at in own if table[at].owner == message}
            begins = {ASSISTANT: prompt.assistant, SYSTEM: prompt.system}.get(roles[message], prompt.user)
            if prompt.form == "framed":
                framing[message] = begins if not said or said - {CALL, RESULT, THINKING} else 0
            else:
                framing[message] = prompt.again if message > turn[0] else 0 if calls else begins
        for at in own:
            if table[at].kind in {CALL, SERVER_CALL}:
                spent[at] += prompt.call
            if at in thinking and "".join(table[at].pieces):
                spent[at] += prompt.thinking
        if calls:
            spent[calls[0]] += prompt.calls + (prompt.parallel if len(calls) > 1 else 0)
            if prompt.form == "tagged":
                spent[calls[0]] += count(f"<{NAMESPACE}function_calls>\n</{NAMESPACE}function_calls>")
            for at in thinking[:1]:
                spent[at] += prompt.thought
        if len(results) == 1:
            empty = not tokens(table[results[0]], count)
            spent[results[0]] += prompt.result + (prompt.failed if table[results[0]].failed or empty else 0)
        elif results:
            spent[results[0]] += prompt.results
            for at in results:
                name = table[partner[at]].name if partner[at] >= 0 else "tool"
                spent[at] += prompt.each + (count(f"<name>{name}</name>") if prompt.form == "tagged" else 0)
    words = [at for at, row in enumerate(table) if row.role == USER and row.kind in {TEXT, IMAGE, DOCUMENT}]
    if words and not prompt.keeps_thinking:
        spent = [0 if row.kind == THINKING and at < words[-1] else spent[at] for at, row in enumerate(table)]
    return [max(cost, 0) for cost in spent], framing


def _turns(roles):
    """Runs of messages of one side; results stand on the user's."""
    sides = [{TOOL: USER, OTHER: USER}.get(role, role) for role in roles]
    starts = [at for at in range(len(sides)) if not at or sides[at] != sides[at - 1]]
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], len(sides)], strict=True)]


def _sent(at, table, count, prompt):
    """Tokens of a row's texts as they stand in the prompt, and of its pictures."""
    row = table[at]
    pieces, factor = row.pieces, prompt.given
    if row.role == ASSISTANT and row.kind != SERVER_RESULT:
        factor = prompt.written
    if prompt.form == "tagged":
        if row.kind == RESULT and not "".join(pieces) and not row.media:
            pieces = ["Tool ran without output or errors"]
        elif row.kind == RESULT and pieces:
            wrapped = ["<x>" + pieces[0], *pieces[1:]]
            return sum(map(count, [*wrapped[:-1], wrapped[-1] + "</x>"])) - count("<x></x>") + row.media
        elif row.input is not None:
            pieces = [_invoked(row)]
        elif (
            row.kind == TEXT and at + 1 < len(table) and (table[at + 1].kind, table[at + 1].owner) == (CALL, row.owner)
        ):
            pieces = [*pieces[:-1], pieces[-1] + "\n\n"]
    unseen = hidden(row, prompt.signature, prompt.unsigned)
    return math.floor(sum(map(count, pieces)) * factor / 1000 + 0.5) + row.media + unseen


def _invoked(row):
    values = {key: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for key, v in row.input.items()}
    tag = f"{NAMESPACE}parameter"
    inner = "".join(f'<{tag} name="{key}">{value}</{tag}>\n' for key, value in values.items())
    return f'<{NAMESPACE}invoke name="{row.name}">\n{inner}</{NAMESPACE}invoke>\n'


NOTICE = re.compile(r"\[(\d+) lines?, (\d+) bytes? omitted(?:; [^\]\n]*)?\]\n")
HEADS = {"head-tail": 6, "file-content": 5, "match-list": 10, "generic": 10}  # tenths of the room


def notices(gone, category, more=""):
    """Return the notices of the removed text, the preferred one first: with both hints, with one, without."""
    lines, size = line_count(gone), len(gone.encode())
    start = f"[{lines} line{'s' * (lines != 1)}, {size} byte{'s' * (size != 1)} omitted"
    hints = [
        f"; {words}" if words else "" for words in ({"file-content": "read on with offset/limit"}.get(category), more)
    ]
    return [f"{start}{hint}]\n" for hint in dict.fromkeys(("".join(hints), hints[1], hints[0], ""))]


def truncation(text, cut, category, more=""):
    """Whether `cut` is a head of `text`, a true notice of what is gone, and a tail of it, or stands for none of it."""
    return cut in ("…", "") or any(_truthful(text, cut, match, category, more) for match in NOTICE.finditer(cut))


def _truthful(text, cut, match, category, more):
    before, tail = cut[: match.start()], cut[match.end() :]
    for head in {before, before.removesuffix("\n")}:
        gone = text[len(head) : len(text) - len(tail)]
        if head + gone + tail == text and gone and match[0] in notices(gone, category, more):
            return (head == "" or before.endswith("\n")) and {len(head), len(text) - len(tail)} <= boundaries(text)
    return False


def truncation_around(text, cut, more=""):
    """The parts of `text`, which has no notice, that `cut` has, each gap with its notice, the first with `more`."""
    parts, at, begin = [], 0, 0
    for number, match in enumerate(NOTICE.finditer(cut)):
        part = cut[begin : match.start()]
        kept = part if text.startswith(part, at) else part.removesuffix("\n")
        assert text.startswith(kept, at), (kept, text[at : at + 80])
        at += len(kept)
        gone = text[at:].encode()[: int(re.search(r"(\d+) byte", match[0])[1])].decode()
        assert match[0] == notices(gone, "head-tail", "" if number else more)[0]
        parts.append(kept)
        at, begin = at + len(gone), match.end()
    assert text[at:] == cut[begin:]
    return [*parts, cut[begin:]]


ESCAPES = re.compile(r"\x1b(?:\[[ -?]*[@-~]|[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])")  # ECMA-48


def boundaries(text):
    """Places of a text that are inside no grapheme cluster and no escape sequence of a terminal."""
    places, at = {0}, 0
    for cluster in regex.findall(r"\X", text):
        at += len(cluster)
        places.add(at)
    return places - {n for found in ESCAPES.finditer(text) for n in range(found.start() + 1, found.end())}


def truncated(text, category, lines=None, chars=None, *, size=None, more=""):
    """The cut by lines, characters and bytes, which add up: of every head and tail, the longest that fits stays."""
    limits = [math.inf if limit is None else limit for limit in (lines, chars, size)]

    def measures(part):
        return line_count(part), len(part), len(part.encode())

    def fits(part, limits):
        return all(measure <= limit for measure, limit in zip(measures(part), limits, strict=True))

    if fits(text, limits):
        return text
    all_gone = notices(text, category, more)
    most = [math.inf, *(limit if limit == math.inf else limit * 3 // 4 for limit in limits[1:])]
    which = next((n for n, longest in enumerate(all_gone[:-1]) if fits(longest, most)), len(all_gone) - 1)
    length = (0, len(all_gone[which]), len(all_gone[which].encode()))  # and the line end before it
    free = [limit - used - 1 for limit, used in zip(limits, length, strict=True)]
    if min(free) < 0:
        return "…" if fits("…", limits) else ""
    share = [limit if limit == math.inf else math.ceil(limit * HEADS[category] / 10) for limit in free]
    places = sorted(boundaries(text))
    longest = next(text[:n] for n in reversed(places) if fits(text[:n], share))
    head = _at_line(longest, text, category)
    tail, rest = "", text[len(head) :]
    if HEADS[category] < 10:
        left = [limit - measure for limit, measure in zip(free, measures(head), strict=True)]
        shortest = next(text[n:] for n in places if n >= len(head) and fits(text[n:], left))
        tail = _from_line(shortest, rest)
    gone = rest[: len(rest) - len(tail)]
    return head + "\n" * (head != "" and not head.endswith("\n")) + notices(gone, category, more)[which] + tail


def _at_line(head, text, category):
    """The head without its last line, if that is a part, and the category does not lose too much by it."""
    whole = head[: head.rfind("\n") + 1]
    lost = {"match-list": False, "generic": whole == ""}.get(category, 4 * len(whole.encode()) < len(head.encode()))
    return head if lost or head == text else whole


def _from_line(tail, rest):
    """The tail without its first line, if that is a part and not most of it."""
    if len(tail) == len(rest) or rest[: len(rest) - len(tail)].endswith("\n"):
        return tail
    whole = tail.partition("\n")[2]
    return whole if 4 * len(whole.encode()) >= len(tail.encode()) else tail


def line_count(text):
    """Lines, the last one with its end or without."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def pieces(text, scores, whole=(), *, prefix=True):
    """The tokens of a SentencePiece vocabulary, by its definition: of all neighbours that make a piece the two with the
    best score merge, of equal ones the first; a text of `whole` is one token, and a character without one its bytes."""
    text = ("▁" if prefix and text else "") + text.replace(" ", "▁")
    symbols = []
    while text:
        fixed = max((one for one in whole if text.startswith(one)), key=len, default="")
        symbols.append((fixed or text[0], bool(fixed)))
        text = text[len(symbols[-1][0]) :]
    while True:
        made = [
            (-scores[one + other], at)
            for at, ((one, is_fixed), (other, other_fixed)) in enumerate(itertools.pairwise(symbols))
            if one + other in scores and not is_fixed and not other_fixed
        ]
        if not made:
            break
        at = min(made)[1]
        symbols[at : at + 2] = [(symbols[at][0] + symbols[at + 1][0], False)]
    return sum(1 if fixed or one in scores else len(one.encode()) for one, fixed in symbols)


def fewest(marked, pieces, prefixes):
    """The fewest pieces that a stream can be laid with.

    `marked` holds characters, as bytes, and markers. One without a piece costs a token a byte, less what the longest of
    `prefixes` saves.
    """

    def alone(char):
        saved = max((n for n in range(2, len(char) + 1) if char[:n] in prefixes), default=1)
        return 1 if char in pieces else 1 + len(char) - saved

    longest = max(map(len, pieces))
    least = [0]
    for end in range(1, len(marked) + 1):
        starts = (start for start in range(max(0, end - longest), end) if b"".join(marked[start:end]) in pieces)
        least.append(min([least[end - 1] + alone(marked[end - 1]), *(least[start] + 1 for start in starts)]))
    return least[-1]


def estimate(texts, *, unit, rounding, joined=False, message=0, least=0, beside=0, per=4):
    """Tokens of one message by length: its texts, what it costs by itself, and flat numbers for what is no text."""
    lengths = [length(text, unit) for text in texts]
    said = quarter(sum(lengths), rounding, per) if joined else sum(quarter(n, rounding, per) for n in lengths)
    return max(said + beside, least) + message


def groups(safe):
    """The groups of a transcript: from each safe cut to the next."""
    cuts = [cut for cut, is_safe in enumerate(safe) if is_safe or cut in {0, len(safe) - 1}]
    return [range(a, b) for a, b in itertools.pairwise(cuts)]


def partition(costs, safe, cuts, summary, pinned, *, keepers, snap="own", head=0, least=0):
    """The zone of each message, one message at a time; 0 may go, 1 tokens, 2 pins, 3 messages, 4 summaries, 5 head."""
    n, zones = len(costs), [5] * head + [0] * (len(costs) - head)
    tail = n

    def land(raw, how, end):
        behind = [c for c in range(raw, end + 1) if cuts[c]]
        before = [c for c in range(head, raw + 1) if cuts[c]]
        return behind[0] if how == "forward" and behind else before[-1] if before else head

    def label(start, end, zone):
        for m in range(start, end):
            zones[m] = zones[m] or zone

    for kind, amount in keepers:
        if kind == "summaries":
            for m in range(n):
                label(m, m + 1, 4 if summary[m] else 0)
        elif kind == "pins":
            for group in groups(safe):
                label(group.start, group.stop, 2 if any(pinned[m] for m in group) else 0)
        else:
            raw = tail
            while raw > head and (sum(costs[raw - 1 : tail]) <= amount if kind == "tokens" else tail - raw < amount):
                raw -= 1
            own = {"tokens": "forward", "messages": "back"}[kind] if snap == "own" else snap
            start = tail if raw == tail < n else land(raw, own, tail)
            label(start, tail, {"tokens": 1, "messages": 3}[kind])
            tail = start
    if n - tail < min(least, n - head):
        label(land(n - min(least, n - head), "back", n), tail, 3)
    return zones


def ends_of_tokens(text, head, tail, encoding):
    """Return the texts of the first and the last tokens, without partial characters."""
    tokens = [encoding.decode_single_token_bytes(token) for token in encoding.encode_ordinary(text)]
    whole = b"".join(tokens).decode()
    if len(tokens) <= head + tail:
        return whole, ""
    first, last = b"".join(tokens[:head]), b"".join(tokens[len(tokens) - tail :])
    while last and last[0] & 0xC0 == 0x80:
        last = last[1:]
    return first.decode(errors="ignore"), last.decode()


def superseded(reads):
    """The newest read that makes one old, by position; each ``(file, part, failed, pruned)``, part None for all."""
    newest = {}
    for old, (file, part, *_) in enumerate(reads):
        for new, (later, asked, failed, pruned) in enumerate(reads):
            if new > old and file == later and not failed and not pruned and asked in {None, part}:
                newest[old] = new
    return newest


def is_plain(message):
    """Whether a message is a dict down to its blocks, and no entry of a log."""
    if type(message) is not dict or "message" in message:
        return False
    content = message.get("content")
    return not isinstance(content, list | tuple) or all(type(block) is dict for block in content)


def request_bytes(messages):
    """The bytes of messages in the body of a request, as an SDK writes it."""
    return len(json.dumps(list(messages), ensure_ascii=False, separators=(",", ":")).encode())


BLANK = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"  # white space as Unicode has it

HARNESS = (  # tags of a harness's own, in whose text no tag counts; those of a project's rules are none of them
    "system-reminder command-name command-message command-contents local-command-stdout local-command-stderr"
    " local-command-caveat bash-stdout bash-stderr user-prompt-submit-hook task-notification environment_context"
    " turn_aborted skill ide_opened_file ide_selection ide_diagnostics new-diagnostics"
).split()


def kept_spans(text, tag):
    """The spans between tags: pairs of neighbours go again and again, and the outermost pairs are left."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    hidden = set()
    for name in HARNESS:
        start, end = text.find(f"<{name}>"), text.rfind(f"</{name}>")
        if start >= 0:
            hidden |= {*range(start, len(text) if end < 0 else end)}
    places = [(at, each) for each in (opening, closing) for at in range(len(text)) if text.startswith(each, at)]
    left = sorted(place for place in places if place[0] not in hidden)
    pairs = []
    while True:
        each = next((n for n in range(len(left) - 1) if (left[n][1], left[n + 1][1]) == (opening, closing)), None)
        if each is None:
            break
        pairs.append((left[each][0], left[each + 1][0]))
        del left[each : each + 2]
    outer = [(a, b) for a, b in pairs if not any(c < a and b < d for c, d in pairs)]
    found = [text[a + len(opening) : b] for a, b in sorted(outer)]
    return [span for span in found if not re.fullmatch(BLANK, span)]
