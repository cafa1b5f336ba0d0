"""The LiteLLM adapter: the real ``completion``, and the real proxy, against a strict provider on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it fetches its table at import
pytest.importorskip("litellm", reason="make adapters installs litellm")

import litellm

import trimtab
from support.agent_litellm import TOOLS, answered, parts, results, upstream
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, RefusedError, Summarizer, run_page
from trimtab.adapters.litellm import CompactionCallback, wrap

litellm.suppress_debug_info = True
FIRST = [{"role": "system", "content": "Be good."}, {"role": "user", "content": RULE + " Look at everything."}]

pytestmark = pytest.mark.filterwarnings("ignore")  # of LiteLLM and what it imports


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def went_on(messages: list[Any], said: Any, stub: Model) -> None:
    """Add an answer, and what follows it."""
    found = results(said)
    messages += [said, *(found or [{"role": "user", "content": f"Go on with part {stub.calls}."}])]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "async", "stream", "astream"])
def test_wrapped_calls_stay_within_their_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has nothing but the archive."""
    stub, summarizer, messages = Model(encode), Summarizer(), list(FIRST)
    where = f"sqlite:///{tmp_path / 'archive.db'}"

    def fresh() -> Any:
        given = litellm.completion if how in {"sync", "stream"} else litellm.acompletion
        return wrap(given, summarizer=summarizer, archive=where, **OPTIONS)

    async def gathered(answer: Any) -> Any:
        return [part async for part in await answer]

    with upstream(stub) as url, asyncio.Runner() as runner:  # LiteLLM keeps a client for each event loop
        options: dict[str, Any] = {"model": f"openai/{MODEL}", "tools": TOOLS, "api_base": url, "api_key": "k"}
        options |= {"stream": True, "stream_options": {"include_usage": True}} if "stream" in how else {}
        protected, before = fresh(), 0
        while stub.calls < CALLS:
            if stub.calls // 40 != before:
                protected.compactor_of(f"openai/{MODEL}").close()
                protected, before = fresh(), stub.calls // 40
            answer = protected(messages=messages, **options)
            if how == "async":
                answer = runner.run(answer)
            elif how == "stream":
                answer = litellm.stream_chunk_builder([*answer])
            elif how == "astream":
                answer = litellm.stream_chunk_builder(runner.run(gathered(answer)))
            went_on(messages, answer.choices[0].message, stub)
        runner.run(litellm.close_litellm_async_clients())
    stub.judge()
    with trimtab.Compactor(MODEL, archive=where) as cm:
        assert 5 <= len(cm.archive.history(None, limit=None)) < 80
        assert cm.archive.search("everything", session=None) is not None
    assert 1 <= summarizer.calls < 60


class Fake:
    """LiteLLM's function without HTTP: an answer, or a stream that is refused by its first part."""

    def __init__(self, stub: Model) -> None:
        self.stub = stub
        self.seen: list[dict[str, Any]] = []

    def _whole(self, options: dict[str, Any]) -> Any:
        self.seen.append(options)
        try:
            return answered(self.stub, {**options, "messages": [dict(m) for m in options["messages"]]})
        except RefusedError as error:
            raise litellm.ContextWindowExceededError(str(error), options["model"], "openai") from error

    def completion(self, model: str, messages: Any = (), **options: Any) -> Any:
        options = {"model": model, "messages": messages, **options}
        if not options.get("stream"):
            return litellm.ModelResponse(**self._whole(options))
        return (litellm.ModelResponseStream(**part) for part in parts(self._whole(options)))

    async def acompletion(self, model: str, messages: Any = (), **options: Any) -> Any:
        options = {"model": model, "messages": messages, **options}

        async def streamed() -> Any:
            for part in parts(self._whole(options)):
                yield litellm.ModelResponseStream(**part)

        return streamed() if options.get("stream") else litellm.ModelResponse(**self._whole(options))

    def get_model_list(self, model_name: str) -> Any:
        return [{"litellm_params": {"model": MODEL}}] if model_name == "alias" else None


def long(many: int = 80) -> list[dict[str, Any]]:
    talk = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " + "words " * 300} for n in range(many)]
    return [*talk, {"role": "user", "content": "RULE-7. Go on."}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_recovered_also_at_the_first_part_of_a_stream(stream: bool, encode: Any) -> None:
    stub = Model(encode, window=12_000, lowered=12_000)
    fake = Fake(stub)
    answer = wrap(fake.completion)(MODEL, long(), stream=stream)
    answer = litellm.stream_chunk_builder([*answer]) if stream else answer
    assert answer.choices[0].message.tool_calls
    assert stub.refused >= 1

    async def gathered() -> Any:
        got = await wrap(fake.acompletion)(MODEL, long(), stream=stream)
        return [part async for part in got] if stream else got

    assert asyncio.run(gathered())
    assert stub.findings == []


def test_a_refusal_that_cannot_be_mended_is_the_providers_error(encode: Any) -> None:
    fake = Fake(Model(encode, window=2_100, lowered=2_100))
    with pytest.raises(litellm.ContextWindowExceededError):
        wrap(fake.completion)(MODEL, [{"role": "user", "content": "words " * 3_000}])
    with pytest.raises(TypeError, match="by keyword"):
        wrap(fake.completion)(MODEL, long(), 60)
    with pytest.raises(ZeroDivisionError):
        wrap(lambda **_: 1 / 0)(model=MODEL, messages=long(2))


def test_conversations_have_the_callers_id_and_a_router_tells_the_model(encode: Any) -> None:
    fake = Fake(Model(encode, 200_000, 200_000))
    protected = wrap(fake.completion, archive="memory", **OPTIONS)
    for name in ("a", "b"):
        protected("alias", long(), metadata={"session_id": name})
    cm = protected.compactor_of(MODEL)
    assert [len(cm.session(name).history(None)) for name in ("a", "b")] == [1, 1]
    assert len(fake.seen[0]["messages"]) < 60
    assert fake.seen[0]["model"] == "alias"


class Odd(Fake):
    """Bills one token, which no session believes: the event says that the usage came."""

    def _whole(self, options: dict[str, Any]) -> Any:
        whole = super()._whole(options)
        return {**whole, "usage": {**whole["usage"], "prompt_tokens": 1}}


@pytest.mark.parametrize("how", ["sync", "stream", "async", "astream"])
def test_the_usage_of_answers_and_streams_is_recorded(how: str, encode: Any) -> None:
    fake, cm, seen = Odd(Model(encode, 200_000, 200_000)), trimtab.Compactor(MODEL), []
    cm.on("usageignored")(seen.append)

    async def gathered() -> None:
        got = await wrap(fake.acompletion, cm)("any", long(6), stream=how == "astream")
        if how == "astream":
            assert [part async for part in got]

    if how in {"async", "astream"}:
        asyncio.run(gathered())
    else:
        got = wrap(fake.completion, cm)("any", long(6), stream=how == "stream")
        assert [*got]
    assert seen


def test_a_public_table_says_the_window_of_an_unknown_model_alone(monkeypatch: Any, encode: Any) -> None:
    table = {"acme/unheard": {"max_input_tokens": 16_000}, MODEL: {"max_input_tokens": 9_000_000}}
    monkeypatch.setattr(litellm, "model_cost", table)
    fake = Fake(Model(encode, 300_000, 300_000))
    protected = wrap(fake.completion)
    protected("acme/unheard", long())
    assert sum(len(encode(m["content"])) for m in fake.seen[-1]["messages"]) < 16_000
    protected(MODEL, long())
    assert fake.seen[-1]["messages"] == long()
    with pytest.raises(TypeError, match="window"):
        wrap(fake.completion, trimtab.Compactor(MODEL), window=1_000)


class Key:
    """As the proxy describes a caller."""

    def __init__(self, api_key: str) -> None:
        self.api_key = api_key


def test_the_callback_compacts_records_and_makes_the_next_try_smaller(encode: Any) -> None:
    stub = Model(encode, 200_000, 200_000)
    callback = CompactionCallback(MODEL, archive="memory", window=100_000)
    cm = callback.compactor_of(MODEL)

    async def talk() -> None:
        data = {"model": "any", "messages": long(), "tools": TOOLS, "litellm_call_id": "1"}
        made = await callback.async_pre_call_hook(Key("x"), None, data, "acompletion")
        assert made["messages"] == long()
        error = litellm.ContextWindowExceededError("maximum context length is 9000 tokens", "any", "openai")
        assert await callback.async_post_call_failure_hook(made, error, Key("x")) is None
        made = await callback.async_pre_call_hook(Key("x"), None, {**data, "litellm_call_id": "2"}, "acompletion")
        assert sum(len(encode(m["content"])) for m in made["messages"]) < 9_000
        response = litellm.ModelResponse(**answered(stub, {"model": "m", "messages": made["messages"]}))
        assert await callback.async_post_call_success_hook(made, Key("x"), response) is response
        other = await callback.async_pre_call_hook(Key("y"), None, {**data, "litellm_call_id": "3"}, "acompletion")
        assert len(other["messages"]) <= len(long())
        for call_type, messages in (("embeddings", long()), ("acompletion", None)):
            untouched = {"model": "any", "messages": messages}
            assert await callback.async_pre_call_hook(Key("x"), None, untouched, call_type) is untouched
        broken = {"model": "any", "messages": [{"role": "tool", "tool_call_id": "none", "content": "x"}]}
        assert await callback.async_pre_call_hook(Key("x"), None, broken, "acompletion") == broken

    asyncio.run(talk())
    assert len({each.session for each in cm.archive.history(None, limit=None)}) >= 1


def test_it_imports_without_the_proxys_packages() -> None:
    code = "import sys; sys.modules['fastapi'] = None; import trimtab.adapters.litellm"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ}, timeout=120)


# LiteLLM's streams set context variables in `__del__`. Before Python 3.12 a collection may run that inside of another
# `ContextVar.set`, which then reads what was freed (cpython#148891): with PYTHONMALLOC=debug four of 13 runs crashed.
PROXY = """
import sys

from litellm.litellm_core_utils.streaming_handler import CustomStreamWrapper
from trimtab.adapters.litellm import CompactionCallback

if sys.version_info < (3, 12) and hasattr(CustomStreamWrapper, "__del__"):
    del CustomStreamWrapper.__del__

callback = CompactionCallback(window=20_000, max_output=2_000, archive={where!r})
"""

CONFIG = """
model_list:
  - model_name: worker
    litellm_params: {{model: openai/gpt-5.5, api_base: {url!r}, api_key: k}}
litellm_settings: {{callbacks: callback.callback, num_retries: 0}}
general_settings: {{master_key: sk-1}}
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def posted(url: str, body: dict[str, Any]) -> tuple[int, str]:
    head = {"content-type": "application/json", "authorization": "Bearer sk-1"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head), timeout=60) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.slow
def test_the_proxy_stays_within_the_window(encode: Any, tmp_path: Path) -> None:
    """The real proxy with the callback from its configuration, started anew in the middle of the conversation.

    Every second answer is streamed.
    """
    pytest.importorskip("fastapi", reason="the proxy needs litellm[proxy]")
    pytest.importorskip("uvicorn", reason="the proxy needs litellm[proxy]")
    stub, messages, refused = Model(encode), list(FIRST), 0
    where = f"sqlite:///{tmp_path / 'archive.db'}"
    (tmp_path / "callback.py").write_text(PROXY.format(where=where))
    with upstream(stub) as url:
        (tmp_path / "config.yaml").write_text(CONFIG.format(url=url))
        for until in (60, CALLS):
            port = free_port()
            command = [sys.executable, "-c", "from litellm import run_server; run_server()", "--config", "config.yaml"]
            environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
            with (tmp_path / "log").open("w") as out:
                proxy = subprocess.Popen(
                    [*command, "--port", str(port), "--host", "127.0.0.1"],
                    cwd=tmp_path,
                    env=environment,
                    stdout=out,
                    stderr=out,
                )
            try:
                wait_for(port, proxy, tmp_path / "log")
                while stub.calls < until:
                    stream = stub.calls % 2 == 1
                    body = {"model": "worker", "messages": messages, "tools": TOOLS, "stream": stream}
                    status, text = posted(f"http://127.0.0.1:{port}/v1/chat/completions", body)
                    if status == 200:
                        said = streamed(text) if stream else json.loads(text)["choices"][0]["message"]
                        went_on(messages, said, stub)
                    else:
                        refused += 1
                        assert "context" in text
                        assert refused < 5
            finally:
                proxy.terminate()
                proxy.wait(30)
    stub.judge()
    assert refused >= 1
    with trimtab.Compactor(MODEL, archive=where) as cm:
        assert 5 <= len(cm.archive.history(None, limit=None)) < 80


def streamed(text: str) -> dict[str, Any]:
    found = [json.loads(line) for line in re.findall(r"^data: (\{.*)$", text, flags=re.MULTILINE)]
    whole = litellm.stream_chunk_builder([litellm.ModelResponseStream(**part) for part in found])
    said = whole.choices[0].message.model_dump(exclude_none=True)
    return {key: value for key, value in {"content": None, **said}.items() if key in {"role", "content", "tool_calls"}}


def wait_for(port: int, proxy: Any, log: Path) -> None:
    for _ in range(240):
        assert proxy.poll() is None, log.read_text()[-3_000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text()[-3_000:])


def test_the_page_runs(encode: Any, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with upstream(Model(encode, 2_000_000, 2_000_000)) as url:
        monkeypatch.chdir(tmp_path)
        run_page("litellm", url=url, messages=list(FIRST), tools=TOOLS)
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
