"""The operations of the conformance cases, each a translation: inputs into the library's shapes, results read off.

Nothing is computed here (``test_adapter.py`` walks this file): no arithmetic, no comparison with a constant, and no
value that a case expects.
"""

from __future__ import annotations

import copy
import itertools
import json
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import transcripts
import trimtab
from trimtab import _apply, _core, _errors, config, hooks, queue
from trimtab._budget import Budget, Terms
from trimtab._estimate import asked
from trimtab._flow import Compaction
from trimtab._gate import Gate
from trimtab._ledger import unpaired
from trimtab._messages import text_of, whole_calls
from trimtab._overflow import is_overflow, kind_of
from trimtab._plan import Summarize, dropped
from trimtab._validate import refusal
from trimtab.archive import Record
from trimtab.events import CompactBoundary, Compacted, ContextCompacted, Step
from trimtab.formats import opencode
from trimtab.policies import POLICIES
from trimtab.stages import Keep, Messages, Tokens
from trimtab.stages._draft import Draft
from trimtab.summarize import Ask, Function, Limits

SPEC09, GOAT, AGENTPG, SVEN, OPENCODE = (
    replace(POLICIES[name], parity=True) for name in ("spec09", "goat", "agentpg", "sven", "opencode")
)
SYSTEMS = {policy.strategy: policy for policy in (AGENTPG, replace(POLICIES["agentpg_summarization"], parity=True))}
ROLES = ("user", "assistant")
MODEL = "claude-sonnet-4-5"
TALK = [
    {"role": role, "content": "words of one message, to fill it. ".ljust(999)}
    for role in (*ROLES, *ROLES, *ROLES, *ROLES)
]
"""What is compacted where a case does not say."""

OPS: dict[str, Callable[..., Any]] = {}


def op(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes a function as the operation of its name."""
    OPS[function.__name__] = function
    return function


def run(name: str, given: Mapping[str, Any]) -> Any:
    """The result of an operation."""
    return OPS[name](**given)


class Stub:
    """A model that says what a case says, and remembers what it was asked."""

    def __init__(self, answers: Any) -> None:
        self.asks: list[Ask] = []
        self.answers = itertools.chain(answers) if isinstance(answers, list) else itertools.repeat(answers)

    def __call__(self, ask: Ask) -> str:
        self.asks.append(ask)
        return self.say()

    def say(self) -> str:
        answer = next(self.answers)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return str(answer.get("text"))

    @property
    def prompts(self) -> list[str]:
        return [ask.request().prompt for ask in self.asks]

    @property
    def writer(self) -> Function:
        return Function(self, limits=Limits(tries=True))


class Listed(dict[str, Any]):
    """A list and what else is known of it, under one roof: a case looks at both."""

    def __init__(self, messages: list[Any], **more: Any) -> None:
        super().__init__({str(n): message for n, message in enumerate(messages)} | more)
        self.messages = messages

    def __len__(self) -> int:
        return len(self.messages)

    def __eq__(self, other: object) -> bool:
        return self.messages == other

    __hash__ = None  # type: ignore[assignment]


# Messages in the shapes of the cases, as a provider has them


def chat(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """spec09 and goat: calls in OpenAI's form."""
    return [{**message, **calls(message)} for message in messages]


def calls(message: Mapping[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return {}
    found = [
        {"type": "function", "id": call["id"], "function": {key: call.get(key, "") for key in ("name", "arguments")}}
        for call in message["tool_calls"]
    ]
    return {"tool_calls": found}


BLOCKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "thinking": lambda block: {"type": "thinking", "thinking": block["text"], "signature": ""},
    "tool_use": lambda block: {**block, "input": json.loads(block["input"])},
    "tool_result": lambda block: block,
    "image": lambda block: {"type": "image", "source": {"type": "url", "url": ""}, **block},
    "document": lambda block: {"type": "document", "source": {"type": "url", "url": ""}, **block},
}


def blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """agentpg: blocks in Anthropic's form; flags and ids stay where they are."""
    return [{**message, "content": [block(part) for part in message["content"]]} for message in messages]


def block(part: dict[str, Any]) -> dict[str, Any]:
    return BLOCKS.get(part["type"], lambda other: {"type": "text", "text": str(other.get("text", ""))})(part)


class Sven:
    """sven: a message a call, a message a result; calls of a batch become one message, and come apart again."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.originals: dict[int, list[dict[str, Any]]] = {}
        self.messages: list[dict[str, Any]] = []
        for is_call, group in itertools.groupby(messages, lambda message: "tool_call" in message):
            batch = list(group)
            for each in [batch] if is_call else [[message] for message in batch]:
                self.messages.append(self.told(each))
                self.originals[id(self.messages[-1])] = each

    def told(self, each: list[dict[str, Any]]) -> dict[str, Any]:
        for key, make in self.FORMS.items():
            if key in each[0]:
                return make(each)
        return {"role": each[0]["role"], "content": each[0].get("text", "")}

    FORMS: ClassVar[dict[str, Callable[[list[dict[str, Any]]], dict[str, Any]]]] = {
        "tool_call": lambda each: {
            "role": "assistant",
            "content": None,
            **calls({"tool_calls": [message["tool_call"] for message in each]}),
        },
        "tool_result": lambda each: {
            "role": "tool",
            "tool_call_id": each[0]["tool_result"]["id"],
            "content": parts(each[0]["tool_result"]["content"]),
        },
        "parts": lambda each: {"role": each[0]["role"], "content": parts(each[0]["parts"])},
    }

    def back(self, messages: Any) -> list[dict[str, Any]]:
        """The same in the case's own form."""
        found = [self.originals.get(id(message), [self.plain(message)]) for message in messages]
        return list(itertools.chain.from_iterable(found))

    def kept(self, messages: Any) -> list[dict[str, Any]]:
        """Those that were there before, without what stands in front."""
        tail = [message for message in messages if id(message) in self.originals]
        return self.back(itertools.dropwhile(lambda message: message["role"] in FRONT, tail))

    def plain(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": message["role"], "text": text_of(message.get("content"))}


FRONT = frozenset({"system"})


def parts(content: Any) -> Any:
    if isinstance(content, str):
        return content
    picture = {"url": ""}
    return [part if "text" in part else {"type": "image_url", "image_url": {**picture, **part}} for part in content]


def stored(message: dict[str, Any]) -> dict[str, Any]:
    """opencode: a message as it stores it."""
    info = {key: message[key] for key in ("id", "role", "summary", "finish", "error") if key in message}
    return {
        "info": {**info, "parentID": message.get("parent")},
        "parts": [PARTS.get(part["type"], dict)(part) for part in message["parts"]],
    }


def tool(part: dict[str, Any]) -> dict[str, Any]:
    state = {"status": part["status"], "input": {}, "output": part.get("output", "")}
    times = {"compacted": part["compacted"]} if "compacted" in part else {}
    return {"type": "tool", "callID": part["call_id"], "tool": part["tool"], "state": {**state, "time": times}}


PARTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"tool": tool}


# Questions about numbers


def terms(context_limit: int, system_tokens: int, message_tokens: int, max_output_tokens: int) -> Terms:
    return Terms(context_limit, max_output_tokens, message_tokens, system_tokens)


@op
def budget_available(**given: int) -> int:
    return terms(**given).room


@op
def budget_available_seed001(**given: int) -> int:
    return terms(**given).available


OPS["token_budget_available_seed000"] = budget_available_seed001


@op
def budget_utilization(**given: int) -> float:
    return SPEC09.trigger.utilisation(terms(**given))


@op
def budget_utilization_seed001(**given: int) -> float:
    return GOAT.trigger.utilisation(terms(**given))


@op
def budget_is_overflow(**given: int) -> bool:
    return SPEC09.trigger.overflows(terms(**given))


@op
def should_compact(budget: dict[str, int], threshold: float) -> bool:
    return replace(SPEC09.trigger, share=threshold).fires(terms(**budget))


@op
def must_compact(budget: dict[str, int], critical: float) -> bool:
    return replace(SPEC09.trigger, critical=critical).endangers(terms(**budget))


@op
def should_compact_seed001(**given: int) -> bool:
    return GOAT.trigger.fires(terms(**given))


@op
def calculate_token_budget_seed001(
    system_prompt: str, messages: list[dict[str, Any]], context_limit: int, max_output_tokens: int
) -> dict[str, Any]:
    system, said = estimate_text(system_prompt), estimate_messages(messages)
    found = terms(context_limit, system, said, max_output_tokens)
    return {
        "context_limit": found.window,
        "system_tokens": found.system,
        "message_tokens": found.messages,
        "max_output_tokens": found.output,
        "available": found.available,
        "utilization": GOAT.trigger.utilisation(found),
    }


@op
def token_budget_defaults() -> dict[str, int]:
    return {"max_output_tokens": SPEC09.trigger.output}


@op
def get_context_limit(model: str, betas: list[str] | None) -> int:
    return trimtab.Compactor(model, policy=SPEC09, betas=betas or ()).window


@op
def model_context_limit_table(model: str) -> int:
    return trimtab.Compactor(model, policy=GOAT).window


@op
def needs_compaction(total_tokens: int, max_tokens_for_model: int, trigger: float) -> bool:
    return replace(AGENTPG.trigger, share=trigger).fires(Terms(max_tokens_for_model, messages=total_tokens))


@op
def usage_percent(total_tokens: int, max_tokens_for_model: int) -> float:
    return AGENTPG.trigger.utilisation(Terms(max_tokens_for_model, messages=total_tokens))


@op
def trigger_threshold(**given: Any) -> float:
    if "trigger" in given:
        rule = replace(AGENTPG.trigger, share=given["trigger"])
        return rule.limit(Terms(given["max_tokens_for_model"]))
    return config.configured("agent", given, SVEN).trigger.threshold


@op
def recommended_target(max_tokens_for_model: int) -> int:
    return Budget.of(Terms(max_tokens_for_model), AGENTPG.trigger, POLICIES["default"].target).target


@op
def reduction_percent(original: int, compacted: int) -> float:
    plan = trimtab.Plan((), original, compacted, compacted, "", False, "", "", "")
    return Compaction((), plan, None, original, compacted, "").reduction


@op
def is_overflow_seed004(model: dict[str, int], tokens: dict[str, int], auto: bool = True) -> bool:
    trigger = replace(OPENCODE.trigger, auto=auto)
    found = Terms(
        model["context"],
        trigger.kept_free(model.get("output")),
        input_limit=model.get("input"),
        input=tokens["input"],
        cache_read=tokens["cache_read"],
        cache_write=tokens["cache_write"],
        answered=tokens["output"],
    )
    return trigger.fires(found)


# Estimates


@op
def estimate_text(text: str) -> int:
    return SPEC09.counter.counter().count(text)


@op
def estimate_messages(messages: list[dict[str, Any]]) -> int:
    return trimtab.Ledger.of(chat(messages), counter=SPEC09.counter.counter(), provider="openai_chat").total


@op
def content_string(content: Any) -> str:
    return text_of(content)


@op
def approx_tokens(**given: Any) -> int:
    if "text" in given:
        return AGENTPG.counter.counter().count(given["text"])
    return ledger(Sven([given["message"]]).messages, SVEN).total


@op
def estimate_message(role: str, content: list[dict[str, Any]]) -> int:
    return ledger(blocks([{"role": role, "content": content}]), AGENTPG, "anthropic").total


@op
def token_estimate(text: str) -> int:
    return OPENCODE.counter.counter().count(text)


@op
def schema_overhead(tools: list[dict[str, Any]], dynamic_context: str | None) -> int:
    return SVEN.counter.overhead(tools, dynamic_context)


@op
def count_tokens(messages: list[dict[str, Any]], use_api: bool, api: dict[str, Any]) -> dict[str, Any]:
    stub = Stub(api)
    estimate = replace(AGENTPG.counter, asks=use_api)
    found = asked(blocks(messages), estimate, lambda _: int(api.get("total") or stub.say()))
    return {
        "total": found.total,
        "used_api": found.used_api,
        "per_message": found.per_message,
        "error": None,
        "logged": found.error,
    }


def ledger(messages: list[dict[str, Any]], policy: Any, provider: Any = "openai_chat") -> trimtab.Ledger:
    return trimtab.Ledger.of(messages, counter=policy.counter.counter(), provider=provider)


# Boundaries and zones


def boundary(messages: list[dict[str, Any]], policy: Any, keeper: Any) -> int:
    keep = replace(policy.keep, keepers=(keeper,))
    return keep.boundary(Draft(ledger(chat(messages), policy)))


@op
def split_point(messages: list[dict[str, Any]], preserve_budget: int) -> int:
    return boundary(messages, GOAT, Tokens(preserve_budget))


@op
def split_point_seed000(messages: list[dict[str, Any]], preserve_budget: int) -> int:
    return boundary(messages, SPEC09, Tokens(preserve_budget))


@op
def split_by_message_ratio(messages: list[dict[str, Any]], preserve_ratio: float) -> dict[str, Any]:
    split = boundary(messages, GOAT, Messages(share=preserve_ratio))
    kept = chat(messages)[split:]
    return {"split": split, "orphans": unpaired(ledger(kept, GOAT)), "preserved": messages[split:]}


@op
def adjust_split_for_tool_pairs(messages: list[dict[str, Any]], split: int) -> int:
    return _core.snap(ledger(chat(messages), GOAT).safe, split, back=True)


@op
def preserve_budget(context_limit: int) -> int:
    (tokens, *_) = SPEC09.keep.keepers
    _, amount = tokens.take(Draft(ledger([], SPEC09)), context_limit, context_limit)
    return amount


def agentpg(given: Mapping[str, Any], **more: Any) -> tuple[trimtab.Compactor, list[Any]]:
    """A Compactor with the configuration of a case, and what it tells."""
    keys = {key: given[key] for key in config.keys("agentpg") if key in given}
    policy = config.configured("agentpg", keys, AGENTPG)
    told: list[Any] = []
    policy = replace(policy, **{"parity": True} | more)
    stub = Stub(given.get("llm", {}))
    made = trimtab.Compactor(
        MODEL, provider="anthropic", policy=policy, summarizer=stub.writer, listeners=[told.append], session="session"
    )
    return made, told


@op
def partition(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    found, ids = made.stats(blocks(messages)), [message["id"] for message in messages]
    groups = {name: [ids[n] for n in group] for name, group in found.groups.items() if name in GROUPS}
    tokens = {name: found.tokens[name] for name in groups}
    kept = [messages[n] for n in found.kept]
    orphans = unpaired(ledger(blocks(kept), AGENTPG, "anthropic"))
    return {"groups": groups, "tokens": tokens, "total_tokens": found.total, "orphans": orphans, **groups}


GROUPS = ("protected", "preserved", "recent", "summary", "compactable")


@op
def all_preserved_ids(protected: Any, preserved: Any, recent: Any, summaries: Any) -> list[Any]:
    return [*protected, *preserved, *recent, *summaries]


@op
def stats(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    found = made.stats(blocks(messages))
    count = {name: len(group) for name, group in found.groups.items()}
    return {
        "session_id": found.session,
        "total_messages": found.messages,
        "total_tokens": found.total,
        "usage_percent": found.usage,
        "compaction_count": found.compactions,
        "protected_messages": count["protected"],
        "preserved_messages": len(found.kept) if count["recent"] else count["preserved"],
        "summary_messages": count["summary"],
        "compactable_messages": count["compactable"],
        "needs_compaction": found.due,
    }


# What is cut and pruned


@op
def truncate_tool_output(text: str, max_len: int) -> str:
    return _apply.cut(text, max_len, GOAT.prune.unit, GOAT.prune.marker)


@op
def prune_old_tool_results(messages: list[dict[str, Any]], preserve_recent: int) -> Listed:
    policy = replace(GOAT, prune=replace(GOAT.prune, age=preserve_recent))
    before = copy.deepcopy(messages)
    after = trimtab.Compactor(MODEL, provider="openai_chat", policy=policy).tidied(messages)
    changed = [n for n, (old, new) in enumerate(zip(messages, after, strict=True)) if old is not new]
    return Listed(after, changed_indices=changed, input_mutated=before != messages)


@op
def prune_tool_outputs(messages: list[dict[str, Any]]) -> dict[str, Any]:
    made, _ = agentpg({}, keep=Keep((), least=False), summarize=None, on_nothing=SPEC09.on_nothing)
    given = blocks(messages)
    done = made.compact(given)
    changed = [old["id"] for old, new in zip(given, done.messages, strict=True) if old is not new]
    return {"messages": list(done.messages), "pruned_ids": changed, "tokens_saved": done.saved}


@op
def smart_truncate(content: str, category: str, cap_tokens: int) -> str:
    return replace(SVEN.ingest, tokens=cap_tokens).taken(content, category)


@op
def output_category(tool: str) -> str:
    return SVEN.ingest.category(tool)


@op
def discard_truncated_tool_blocks(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return whole_calls({"role": "assistant", "content": content})["content"]


# Words


def ask(policy: Any, messages: list[dict[str, Any]], **more: Any) -> Ask:
    stage = policy.summarize
    return Ask(
        tuple(messages),
        "openai_chat",
        stage.max_tokens,
        policy.counter.counter().count,
        template=stage.template,
        model=stage.model,
        **more,
    )


@op
def build_summary_prompt(messages: list[dict[str, Any]], custom_instructions: str | None = None) -> str:
    return ask(SPEC09, chat(messages), instructions=custom_instructions).request().prompt


@op
def summary_request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    request = ask(SPEC09, chat(messages)).request()
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
        "stream": request.stream,
        "tools": list(request.tools),
    }


OPS["summary_request_seed000"] = summary_request


@op
def summary_system_prompt() -> str:
    template = AGENTPG.summarize.template
    return template.task()


@op
def compaction_system_prompt() -> str:
    return OPENCODE.summarize.template.system


@op
def compaction_request(messages: list[dict[str, Any]], plugin: dict[str, Any] | None = None) -> dict[str, Any]:
    plugin = plugin or {}
    template = OPENCODE.summarize.template
    template = replace(template, opening=plugin.get("prompt") or template.opening)
    policy = replace(OPENCODE, summarize=replace(OPENCODE.summarize, template=template))
    history = opencode.prompt(opencode.pivot([stored(message) for message in messages]))
    context = "\n\n".join(plugin.get("context") or ())
    request = ask(policy, history, context=context).request()
    found = [{"role": message["role"], "text": text_of(message.get("content"))} for message in request.messages]
    return {"messages": found, "tools": list(request.tools), "system": request.system}


@op
def compaction_model(configured: str | None, user_message_model: str) -> str:
    return replace(OPENCODE.summarize, model=configured).asked(user_message_model)


@op
def compact_session(messages: list[dict[str, Any]], strategy: str, system: str | None) -> dict[str, Any]:
    policy = config.configured("agent", {"compaction_strategy": strategy})
    request = ask(policy, Sven(messages).messages).request()
    front = [{"role": "system", "text": system}] if system else []
    return {"messages": [*front, {"role": "user", "text": request.prompt}], "returned": len(messages)}


@op
def accumulate_summary(blocks: list[dict[str, Any]]) -> str:
    return text_of(blocks)


@op
def place_summary_seed000(summary: str, preserved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return placed(SPEC09, summary, preserved)


@op
def place_summary_seed001(summary: str, preserved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return placed(GOAT, summary, preserved)


def placed(policy: Any, summary: str, preserved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    roles = ledger(chat(preserved), policy).role.tolist()
    put = _apply.put(f"{policy.place.prefix}{summary}", policy.place, "openai_chat", next(iter(roles), None))
    return [*(dict(message) for message in put), *preserved]


@op
def fallback_summary_seed001(dropped_messages: int) -> str:
    return dropped(Summarize(False, dropped_messages, False), GOAT.place.notice, "...").notice


@op
def boundary_event(trigger: str, pre_tokens: int, session_id: str) -> dict[str, Any]:
    return CompactBoundary("", compacted(trigger, pre_tokens, pre_tokens), "uuid", session_id).payload()


def compacted(trigger: str, before: int, after: int, strategy: str = "", turn: int = False) -> Compacted:
    plan = trimtab.Plan((), before, after, after, "", False, "", "", "")
    return Compacted(trigger, "", before, after, plan, None, strategy=strategy, turn=turn)


@op
def format_ci_log(before: int, after: int, strategy: str, turn: int) -> str:
    return str(ContextCompacted("", compacted("", before, after, strategy, turn)))


# Errors


def kinds(error: type[_errors.Error]) -> dict[str, str]:
    found = {error.kind: error.words}
    for below in error.__subclasses__():
        found |= kinds(below)
    return found


@op
def error_text(kind: str) -> str:
    return kinds(_errors.Error)[kind]


@op
def format_error(op: str, session: str | None, err: str | None) -> str:
    known = kinds(_errors.Error)
    return _errors.Error(*(known.get(text, text) for text in (err,) if text)).during(op, session).account


def failure(error: Exception | None) -> dict[str, Any] | None:
    """An error as a case looks at it."""
    if not isinstance(error, _errors.Error):
        return None
    return {"op": error.op, "kind": error.kind, "text": error.account, "context": error.context}


@op
def is_context_overflow(message: str) -> bool:
    return is_overflow(message)


@op
def classify_api_error(status: int | None = None, **error: Any) -> str:
    return kind_of(error, status)


@op
def classify_error(error: Any) -> str:
    return kind_of(error)


# Configuration


@op
def triggers() -> list[str]:
    return sorted(hooks.TRIGGERS)


@op
def enum_values(enum: str) -> list[str]:
    return config.choices(enum)


@op
def default_config_field(field: str) -> Any:
    return config.value("agentpg", field)


@op
def default_config() -> dict[str, Any]:
    return {key: config.value("agentpg", key) for key in config.keys("agentpg")}


@op
def apply_defaults(**given: Any) -> dict[str, Any]:
    policy = config.configured("agentpg", {key: value for key, value in given.items() if value})
    return {key: config.value("agentpg", key, policy) for key in config.keys("agentpg")}


@op
def validate_config(override: dict[str, Any]) -> dict[str, Any]:
    try:
        config.configured("agentpg", override)
    except trimtab.Error as error:
        return {"error": str(error)}
    return {"error": None}


@op
def config_default(key: str) -> Any:
    return config.value("agent", key)


@op
def config_yaml(yaml: str, key: str, round_trip: bool = False) -> Any:
    given = config.parse(yaml, "yaml")
    written = config.parse(json.dumps(given), "yaml") if round_trip else given
    return config.value("agent", key, config.section(written, "agent"))


@op
def recommended_preset(scenario: str) -> dict[str, Any]:
    section, keys = config.SCENARIOS[scenario]
    policy = config.configured(section, keys)
    return {key: config.value(section, key, policy) for key in config.keys(section)}


@op
def compactor_defaults() -> dict[str, Any]:
    made = trimtab.Compactor(MODEL, policy=GOAT)
    keys = ("threshold", "critical", "preserve_ratio", "summary_model", "estimator")
    return {key: config.value("goat", key, made.policy) for key in keys} | {"hooks": made.hook.__name__}


@op
def prune_default(era: str) -> bool:
    return config.value("compaction", "prune")


# Whole compactions


class Told:
    """Listens, and says it in the words of a case."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.reviews: list[hooks.Review] = []

    @property
    def order(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, Step)]

    @property
    def boundary(self) -> dict[str, Any] | None:
        found = [event.payload() for event in self.events if isinstance(event, CompactBoundary)]
        return next((each | each["compact_metadata"] for each in found), None)

    def hook(self, outputs: Any) -> Callable[[hooks.Review], hooks.Verdict]:
        said = [output.get("custom_instructions") for output in outputs or ()]
        verdict = hooks.Verdict(instructions=next(filter(None, said), None))

        def ask(review: hooks.Review) -> hooks.Verdict:
            self.reviews.append(review)
            return verdict

        return ask


def compaction(policy: Any, messages: list[dict[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """A compaction of spec09 or goat, in the words of a case."""
    stub, told = Stub(given.get("llm", {"text": "words"})), Told()
    outputs = (given.get("hook_outputs") or {}).get("PreCompact")
    made = trimtab.Compactor(
        given.get("model", MODEL),
        provider="openai_chat",
        policy=policy,
        summarizer=stub.writer,
        pre_compact=told.hook(outputs),
        listeners=[told.events.append],
        session=given.get("session_id"),
    )
    originals = chat(messages)
    pairs = {id(new): old for new, old in zip(originals, messages, strict=True)}
    error: Exception | None = None
    done: Any = None
    try:
        done = made.compact(
            originals, instructions=given.get("custom_instructions"), trigger=given.get("trigger", hooks.TRIGGERS[-1])
        )
    except trimtab.Error as raised:
        error = raised
    after = list(done.messages) if done else originals
    kept = [pairs[id(message)] for message in after if id(message) in pairs]
    gone = [pairs[id(message)] for message in originals if not any(message is other for other in after)]
    return {
        "messages": after,
        "preserved": kept,
        "preserve_zone": kept,
        "compact_zone": gone,
        "summarised": gone,
        "split": len(gone),
        "error": str(error) if error else None,
        "strategy": done.strategy if done else None,
        "summary": done.summary if done else None,
        "llm_calls": len(stub.asks),
        "llm_prompts": stub.prompts,
        "hooks": told.order,
        "hook_inputs": [review.payload() for review in told.reviews if review.plan is None],
        "boundary": told.boundary,
        "order": told.order,
        "provider_valid": not trimtab.validate(after, provider="openai_chat", in_flight=True),
    }


def strict(policy: Any, strict_errors: Any) -> Any:
    return replace(policy, fallback=("error",)) if strict_errors else policy


@op
def compact_seed000(messages: Any = TALK, preserve_budget: int = 999, strict_errors: Any = None, **given: Any) -> Any:
    keep = replace(SPEC09.keep, keepers=(Tokens(preserve_budget),))
    return compaction(replace(strict(SPEC09, strict_errors), keep=keep), messages, given)


@op
def compact_seed001(messages: Any = TALK, preserve_ratio: float | None = None, **given: Any) -> Any:
    keys = {"preserve_ratio": preserve_ratio} if preserve_ratio else {}
    return compaction(config.configured("goat", keys, GOAT), messages, given)


@op
def generate_summary(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    policy = replace(GOAT, keep=Keep((), least=False))
    policy = config.configured("goat", {"summary_model": given["model"]} if "model" in given else {}, policy)
    return compaction(policy, messages, given)


@op
def compact_repeatedly_seed000(
    rounds: int, messages_per_round: int, preserve_budget: int, llm: dict[str, str]
) -> dict[str, Any]:
    told, texts = Told(), [llm["text"].replace("{round}", str(n)) for n, _ in enumerate(range(rounds), start=True)]
    stub = Stub([{"text": text} for text in texts])
    made = trimtab.Compactor(
        MODEL,
        provider="openai_chat",
        policy=replace(SPEC09, keep=replace(SPEC09.keep, keepers=(Tokens(preserve_budget),))),
        summarizer=stub.writer,
        listeners=[told.events.append],
    )
    messages: list[Any] = []
    for _ in range(rounds):
        more = itertools.islice(itertools.cycle(TALK), messages_per_round)
        messages = list(made.compact([*messages, *(dict(message) for message in more)]).messages)
    found = [text_of(message.get("content")) for message in messages]
    summaries = [text for text in found if text in texts]
    return {
        "summaries_in_list": len(summaries),
        "last_summary": next(reversed(summaries), None),
        "boundary_events": len([event for event in told.events if isinstance(event, CompactBoundary)]),
        "messages": messages,
    }


@op
def compact(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, told = agentpg(given)
    originals = blocks(messages)
    error: Exception | None = None
    done: Any = None
    try:
        done = made.compact(originals)
    except trimtab.Error as raised:
        error = raised
    events = [event for event in told if isinstance(event, Compacted)]
    return {
        "error": failure(error),
        "messages_unchanged": originals == blocks(messages),
        "events_created": len(events),
        "order": [event.name for event in told if isinstance(event, Step)],
        **(compacted_by(done, originals) if done else {}),
    }


def compacted_by(done: Any, originals: list[dict[str, Any]]) -> dict[str, Any]:
    """What a compaction of agentpg came to, in the words of a case."""
    after = {id(message) for message in done.messages}
    listed = {message.get("id") for message in done.messages}
    kept = [message["id"] for message in originals if id(message) in after]
    gone = [message["id"] for message in originals if message["id"] not in listed]
    changed = [message["id"] for message in originals if id(message) not in after]
    return {
        "path": done.path,
        "messages": list(done.messages),
        "tokens_saved": done.saved,
        "tokens_after": done.tokens_after,
        "archived_ids": changed,
        "deleted_ids": gone,
        "summary": done.summary or "",
        "orphans": unpaired(ledger(list(done.messages), AGENTPG, "anthropic")),
        "result": {
            "original_tokens": done.tokens_before,
            "compacted_tokens": done.tokens_after,
            "messages_removed": len(gone),
            "preserved_message_ids": kept,
            "summary_created": done.summary is not None,
            "strategy": done.strategy,
        },
        "event": {
            "strategy": done.strategy,
            "summary_content": done.summary,
            "original_tokens": done.tokens_before,
            "compacted_tokens": done.tokens_after,
            "messages_removed": len(gone),
        },
    }


@op
def hybrid(**given: Any) -> dict[str, Any]:
    return compact(**given)


@op
def summarization(**given: Any) -> dict[str, Any]:
    (name,) = (name for name, policy in SYSTEMS.items() if policy.prune is None)
    return compact(**{"strategy": name} | given)


@op
def compact_trace(llm: dict[str, Any]) -> dict[str, Any]:
    return compact(many(), llm=llm)


def many(size: int = 9999) -> list[dict[str, Any]]:
    """A session of agentpg with something to compact."""
    text = {"type": "text", "text": "w".ljust(size, "w")}
    roles = itertools.islice(itertools.cycle(ROLES), size_of(TALK, TALK, TALK, TALK))
    return [{"id": str(n), "role": role, "content": [text]} for n, role in enumerate(roles)]


def size_of(*lists: list[Any]) -> int:
    return len(list(itertools.chain(*lists)))


@op
def compact_if_needed(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    made, _ = agentpg(given)
    fitted = made.fit(blocks(messages), when="after_run")
    return {"result": fitted.compaction, "error": None}


@op
def after_run(auto_compaction_enabled: bool, total_tokens: int, llm: Any = None) -> dict[str, Any]:
    given = {"llm": llm or {"text": "words"}}
    made, told = agentpg(given, trigger=replace(AGENTPG.trigger, auto=auto_compaction_enabled))
    made.record({"input_tokens": total_tokens})
    fitted = made.fit(blocks(many(total_tokens)), when="after_run")
    done = [event for event in told if isinstance(event, Compacted)]
    return {"compactions": len(done), "logged": bool(fitted.reason), "run_error": None}


@op
def summarize(llm: dict[str, Any]) -> dict[str, Any]:
    (name,) = (name for name, policy in SYSTEMS.items() if policy.prune is None)
    return compact(many(), llm=llm, strategy=name)


@op
def compact_times(times: int, llm: dict[str, Any]) -> dict[str, Any]:
    made, _ = agentpg({"llm": llm}, parity=False)
    messages: Any = blocks(many())
    for _ in range(times):
        messages = [*made.compact(messages).messages, *blocks(many())]
    found = made.stats(messages)
    return {
        "active_summaries": len(found.groups["summary"]),
        "session": {"compaction_count": found.compactions, "id": found.session},
    }


@op
def compact_then_read(messages: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    done = compact(messages, **given)
    return {"order": [message.get("id", message["role"]) for message in done["messages"]]}


# sven


def sven(given: Mapping[str, Any], stub: Stub, told: Told, **more: Any) -> trimtab.Compactor:
    template = replace(SVEN.summarize.template, headings=False)
    policy = config.configured("agent", given.get("config") or {}, SVEN)
    policy = replace(policy, parity=True, summarize=replace(policy.summarize, template=template))
    return trimtab.Compactor(
        "gpt-4o", provider="openai_chat", policy=policy, summarizer=stub.writer, listeners=[told.events.append], **more
    )


@op
def ensure_fits_budget_then_submit(
    messages: list[dict[str, Any]], max_tokens: int, llm: list[Any], submit: str, turn: int = False, **given: Any
) -> dict[str, Any]:
    stub, told, form = Stub(llm), Told(), Sven(messages)
    made = sven(given, stub, told, window=max_tokens, max_output=int(True))
    fitted = made.fit(form.messages, turn=turn)
    reply = stub.say()
    after = [*fitted.messages, {"role": "user", "content": submit}, {"role": "assistant", "content": reply}]
    back = form.back(after)
    events = [event.payload() for event in told.events if isinstance(event, ContextCompacted)]
    return {
        "messages": back,
        "preserved": form.kept(fitted.messages),
        "plan": fitted.compaction.path if fitted.compaction else None,
        "events": events,
        "event": next(iter(events), {}),
        "texts": [message.get("text") for message in back],
        "assistant_texts": [message.get("text") for message in back if message["role"] in ROLES[True:]],
        "reply": reply,
        "orphans": unpaired(ledger(list(fitted.messages), SVEN)),
        "requests": [{"tools": list(ask.request().tools)} for ask in stub.asks],
        "llm_summary_calls": len(stub.asks),
        "error": None,
    }


@op
def emergency_compact(messages: list[dict[str, Any]], keep_n: int, system: str | None) -> dict[str, Any]:
    front = [{"role": "system", "text": system}] if system else []
    form = Sven([*front, *(message for message in messages if message["role"] not in FRONT)])
    policy = config.configured("agent", {"compaction_keep_recent": keep_n}, SVEN)
    policy = replace(policy, keep=policy.emergency.keep, summarize=None, prune=None, parity=True)
    always = replace(policy.trigger, share=2e-4, critical=2e-4, reserve=False, floor=False)
    made = trimtab.Compactor(
        "gpt-4o", window=9_999, max_output=int(True), provider="openai_chat", policy=replace(policy, trigger=always)
    )
    done = made.fit(form.messages)
    back = form.back(done.messages)
    return {
        "messages": back,
        "preserved": form.kept(done.messages),
        "returned": len(messages),
        "non_system_count": len([message for message in back if message["role"] not in FRONT]),
        "orphans": unpaired(ledger(list(done.messages), SVEN)),
        "texts": [message.get("text") for message in back],
    }


class Session(dict[str, Any]):
    """sven's session as a case asks it."""

    def get(self, key: str, default: Any = None) -> Any:
        if key in self:
            return self[key]
        number = float(key.partition("(")[-1].rstrip(")"))  # is_near_limit(0.5)
        return replace(SVEN.trigger, share=number, reserve=False, floor=False).fires(self["_terms"])


@op
def session(  # noqa: PLR0917 - what a case of sven's session may say
    max_tokens: int = 0,
    max_output_tokens: int = 0,
    token_count: int | None = None,
    calibration_factor: float | None = None,
    schema_overhead: int = 0,
    ops: Any = (),
) -> Session:
    gate, messages = Gate(), []
    gate.factor = calibration_factor or gate.factor

    def counted() -> int:
        return ledger(Sven(messages).messages, SVEN).total if token_count is None else token_count

    def calibrate(times: int, actual: int, estimate: int) -> None:
        gate.seen = estimate
        for _ in range(times):
            gate.record({"input_tokens": actual}, SVEN)

    def usage(charged: dict[str, int]) -> None:
        gate.seen = Terms(max_tokens, messages=counted(), tools=schema_overhead).sent
        gate.record(charged, SVEN)

    steps = {
        "push": messages.append,
        "calibrate_n": calibrate,
        "cache": lambda read, write: gate.record(
            {"input": False, "cache_read": read, "cache_write": write}, replace(SVEN, counter=None)
        ),
        "usage": usage,
        "recalculate": lambda: None,
        "clear": messages.clear,
        "replace": lambda new: messages.__setitem__(slice(None), new),
    }
    for name, *arguments in ops:
        steps[name](*arguments)
    found = Terms(max_tokens, max_output_tokens, counted(), tools=schema_overhead, factor=gate.factor)
    return Session(
        token_count=found.messages,
        effective_token_count=int(SVEN.trigger.used(found)),
        input_budget=SVEN.trigger.capacity(found),
        context_fraction=SVEN.trigger.utilisation(found),
        calibration_factor=gate.factor,
        schema_overhead=found.tools,
        cache_read_total=gate.read,
        cache_write_total=gate.written,
        messages=messages,
        _terms=found,
    )


@op
def agent_tool_turn(config: dict[str, Any], max_tokens: int, tool: dict[str, Any]) -> dict[str, Any]:
    made = sven({"config": config}, Stub([]), Told(), window=max_tokens, max_output=int(True))
    name, output = tool["name"], tool.get("output", tool.get("result", ""))
    return {"stored_tool_result": made.take(name, output)}


# opencode


@op
def filter_compacted(messages: list[dict[str, Any]]) -> list[str]:
    return [message["info"]["id"] for message in opencode.pivot([stored(message) for message in messages])]


OPS["filter_compacted_seed004"] = filter_compacted


def opened(messages: list[dict[str, Any]], policy: Any, llm: Any = ()) -> queue.Queue:
    made = trimtab.Compactor("gpt-4o", provider="openai_chat", policy=policy, summarizer=Stub(llm).writer)
    return queue.Queue(made, [stored(message) for message in messages])


@op
def prune(messages: list[dict[str, Any]], config: dict[str, Any]) -> dict[str, Any]:
    policy = trimtab.config.configured("compaction", config, OPENCODE)
    filled = [{**message, "parts": message["parts"] or [{"type": "text", "text": MODEL}]} for message in messages]
    return {"pruned_ids": list(opened(filled, policy).prune())}


@op
def prune_then_read(output: str) -> dict[str, Any]:
    part = {"type": "tool", "call_id": "call", "tool": "bash", "status": "completed", "output": output}
    said = [{"role": "user", "id": name, "parts": [{"type": "text", "text": name}]} for name in ("one", "two", "three")]
    answer = {"role": "assistant", "id": "answer", "parts": [{**part, "attachments": []}]}
    held = opened([*said, answer, *said], OPENCODE)
    held.prune()
    (result,) = [message for message in held.prompt() if "tool_call_id" in message]
    (kept,) = [message["parts"][0]["state"] for message in held.messages if message["info"]["id"] in answer.values()]
    return {"stored_output": kept["output"], "model_output": result["content"], "model_attachments": []}


@op
def create_compaction(auto: bool) -> dict[str, Any]:
    held = opened([], OPENCODE)
    marker = held.enqueue(auto=auto)
    return {"messages": [{"role": marker["info"]["role"], "parts": marker["parts"]}]}


@op
def process_compaction(
    messages: list[dict[str, Any]], parent: str, auto: bool, llm: Any = ({"text": "words"},), **given: Any
) -> dict[str, Any]:
    held = opened(messages, OPENCODE, list(llm))
    before = {message["info"]["id"] for message in held.messages}
    held.enqueue(auto=auto)
    error = None
    try:
        done = held.run()
    except trimtab.Error as raised:
        error, done = raised, None
    new = [message for message in held.messages if message["info"]["id"] not in before]
    said = [part for message in new for part in message["parts"] if part.get("synthetic")]
    return {
        "messages": [{"role": m["info"]["role"], **m["info"], "parts": m["parts"]} for m in held.messages],
        "synthetic_user_texts": [part["text"] for part in said],
        "summary": done.summary if done else None,
        "filtered_ids": [message["info"]["id"] for message in held.visible()],
        "error": str(error) if error else None,
    }


# Providers


def drawn(value: Any) -> Any:
    """The messages with real pictures, where a case says only how large they are."""
    if isinstance(value, list):
        return [drawn(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "_width" in value:
        return {**value, "data": transcripts.png(value["_width"], value.get("_height", transcripts.HEIGHT))}
    return {key: drawn(inner) for key, inner in value.items()}


def original(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The transcript that a case's notes speak of: before a block was modified, or what it was created behind."""
    found = copy.deepcopy(messages)
    for at, message in enumerate(found):
        if message.get("_requires"):
            return [*found[:at], {"type": "reasoning", "id": message["_requires"], "summary": []}, *found[at:]]
        for part in listed(message.get("content")):
            if part.pop("_modified", None):
                part["thinking"] = "".join((part["thinking"], MODEL))
            if prefix := part.pop("_created_prefix", None):
                return [{"role": "user", "content": prefix}, message]
    return found


def listed(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else []


MARKED = {"type": "text", "text": MODEL, "cache_control": {"type": "ephemeral"}}


def judged(provider: Any, messages: Any, options: Mapping[str, Any], tools: Any) -> dict[str, Any]:
    found = trimtab.validate(
        drawn(messages),
        provider=provider,
        original=original(drawn(messages)),
        thinking=options.get("thinking"),
        alternation=options.get("strict_alternation", False),
        model="claude-sonnet-5-5" if options.get("preserved_thinking") else None,
        system=[MARKED for _ in range(options.get("cache_control_in_system", False))],
        tools=[MARKED for _ in range(options.get("cache_control_in_tools", False))] or tools,
    )
    first = refusal(found)
    return {
        "valid": not found,
        "code": first.code if first else None,
        "error": first.message if first else None,
        "codes": [problem.code for problem in found],
    }


def validator(provider: str, key: str) -> Callable[..., Any]:
    def judge(options: Any = None, **given: Any) -> dict[str, Any]:
        tools = given["tool_config"] or [] if "tool_config" in given else None
        return judged(provider, given[key], options or {}, tools)

    return judge


OPS |= {
    f"validate_{provider}": validator(provider, key)
    for provider, key in {
        "anthropic": "messages",
        "openai_chat": "messages",
        "openai_responses": "input",
        "bedrock": "messages",
        "gemini": "contents",
    }.items()
}


@op
def repair(messages: Any, provider: Any, options: Any = None) -> dict[str, Any]:
    done = trimtab.repair(messages, provider=provider, **(options or {}))
    held = [block for message in done.messages for block in opened_up(message.get("content"))]
    return {
        "messages": [{**message, "content": opened_up(message.get("content"))} for message in done.messages],
        "valid": not trimtab.validate(done.messages, provider=provider),
        "unchanged": done.messages is messages,
        "text_kept": [text_of([block]) for block in held if "text" in block],
        "result_ids": [block["tool_use_id"] for block in held if "tool_use_id" in block],
        "cache_control_count": len([block for block in held if "cache_control" in block]),
    }


def opened_up(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


# The archive of agentpg


def database() -> sqlite3.Connection:
    """A connection to an archive as it is made."""
    place = Path(tempfile.mkdtemp(), "archive.db")
    trimtab.Compactor(MODEL, archive=f"sqlite:///{place}").close()
    return sqlite3.connect(place)


@op
def schema_columns(table: str) -> list[str]:
    return [row[1] for row in database().execute(f"PRAGMA table_info({table})")]


@op
def schema_index(table: str) -> list[list[str]]:
    found = database().execute("SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type = 'index'", (table,))
    columns = [sql.partition("(")[-1].rstrip(")") for (sql,) in found if sql]
    return [text.split(", ") for text in columns]


def kept_events(archive: Any, events: list[Record], messages: list[Any]) -> None:
    for record in events:
        archive.commit(archive.store(messages, MODEL), record)


@op
def delete_session(events: int, archived: int) -> dict[str, int]:
    place = Path(tempfile.mkdtemp(), "archive.db")
    made = trimtab.Compactor(MODEL, archive=f"sqlite:///{place}", session=MODEL)
    records = [Record(f"ref{n}", AGENTPG.strategy, False, False, "{}") for n in range(events)]
    kept_events(made.archive, records, [{"role": "user", "content": str(n)} for n in range(archived)])
    made.archive.forget(MODEL)
    made.close()
    left = {table: next(sqlite3.connect(place).execute(f"SELECT count(*) FROM {table}")) for table in TABLES}
    return {f"{name}_left": count for (name, (count,)) in zip(("events", "archived"), left.values(), strict=True)}


TABLES = ("compaction_events", "message_archive")


@op
def session_totals(events: list[dict[str, int]]) -> dict[str, int]:
    made = trimtab.Compactor(MODEL, session=MODEL)
    for n, event in enumerate(events):
        record = Record(f"ref{n}", AGENTPG.strategy, event["original_tokens"], event["compacted_tokens"], "{}")
        kept_events(
            made.archive, [record], [{"role": "user", "content": str(k)} for k in range(event["messages_removed"])]
        )
    found = made.archive.totals(MODEL)
    return {
        "compaction_count": found.compactions,
        "messages_archived": found.messages_archived,
        "tokens_saved": found.tokens_saved,
    }
