"""LiteLLM's ``trim_messages`` and ours, for ``adapters.py``: LiteLLM compacts nothing by itself."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it fetches its table at import

import litellm
from litellm.utils import trim_messages

from adapters import TRIGGER
from support.agent_litellm import TOOLS, results, upstream
from support.agents import MODEL, OPTIONS
from trimtab.adapters.litellm import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Judged

litellm.suppress_debug_info = True


async def talk(stub: Judged, *, make: Callable[[Judged], Any]) -> None:
    complete = make(stub)
    messages: list[Any] = [{"role": "system", "content": "Be good."}]
    with upstream(stub) as url:
        options = {"model": f"openai/{MODEL}", "tools": TOOLS, "api_base": url, "api_key": "k"}
        for said in stub.requests():
            messages.append({"role": "user", "content": said})
            found: list[Any] = [None]
            while found:
                answer = complete(messages=messages, **options).choices[0].message
                found = results(answer)
                messages += [answer, *found]


def plain(stub: Judged) -> Any:
    del stub
    return litellm.completion


def trimmed(stub: Judged, **given: Any) -> Any:
    """Return a completion that trims at each call, and keeps what is left: a list that grows takes hours."""
    del stub

    def complete(messages: list[Any], model: str, **options: Any) -> Any:
        messages[:] = trim_messages(messages, model=MODEL, **given)
        return litellm.completion(model=model, messages=messages, **options)

    return complete


def ours(stub: Judged, **options: Any) -> Any:
    del stub
    return wrap(litellm.completion, **options, **OPTIONS)


def ours_with_a_model(stub: Judged) -> Any:
    return ours(stub, summarizer=stub.summarize)


ROWS = {
    "no compaction": partial(talk, make=plain),
    "`trim_messages` to where ours begins": partial(talk, make=partial(trimmed, max_tokens=TRIGGER)),
    "trimtab: `wrap`": partial(talk, make=ours),
    "the same, summaries by a model": partial(talk, make=ours_with_a_model),
}
