"""Credentials: masked in texts of others, sent to named servers alone, and never behind a redirect."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import trimtab
from support import command, loopback
from support.loopback import DIALECTS, Reply
from support.models import CLAUDE, GPT
from support.transcripts import transcript
from trimtab._mask import mask, mask_known
from trimtab.events import FellBack, Refused
from trimtab.policies import POLICIES
from trimtab.summarize import Anthropic, Function, Limits, OpenAI, load, open_summarizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import CompletedProcess

TALK = " ".join("u:60 a:90" for _ in range(30))
WRITERS = {"anthropic": Anthropic, "openai": OpenAI}
SUMMARY = "The tests were mended; nothing is open."
PATHS = ["compact", "acompact"]
KEY = "internal-7f3a-key-without-a-known-form"
LOOKALIKES = {
    "sk-proj-abc123DEF456ghi789": "abc123",
    "sk-ant-api03-abcdefghij": "api03",
    "sk-abcd********wxyz": "abcd",
    "AIzaSyA1234567890abcdefghijklmnopqrstuvw": "SyA12",
    "AKIAIOSFODNN7EXAMPLE": "IOSF",
    "Bearer q1w2e3r4t5": "q1w2",
    "x-api-key: abc123abc": "abc123",
    "'x-api-key': 'abcdefghi'": "abcdef",
    "[('authorization', b'Basic dXNlcjpwYXNz')]": "dXNl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123": "eyJ",
    "https://user:pa55word@proxy.local/v1": "pa55",
    "postgresql://me:p@ss:w@rd@db/agents": "rd@",
    "https://host/v1?key=abcdefgh12345678": "abcdefgh",
    "password=hunter2": "hunter",
}
"""Texts that hold a credential, and a part of it."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("ANTHROPIC", "OPENAI"):
        for name in ("API_KEY", "BASE_URL", "AUTH_TOKEN", "CUSTOM_HEADERS", "ORG_ID", "PROJECT_ID"):
            monkeypatch.delenv(f"{package}_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))


@pytest.fixture
def other() -> Iterator[HTTPServer]:
    """A second server on another port."""
    with HTTPServer(host="127.0.0.1", port=0) as server:
        yield server


def base(server, kind: str, host: str = "localhost") -> str:
    return f"http://{host}:{server.port}{'' if kind == 'anthropic' else '/v1'}"


def compact(cm: trimtab.Compactor, path: str = "compact") -> trimtab.Compaction:
    messages = transcript(TALK)
    if path == "compact":
        return cm.compact(messages, target_share=0.5)
    return asyncio.run(cm.acompact(messages, target_share=0.5))


def headers_of(server, dialect: loopback.Dialect, status: int = 200) -> list[dict[str, str]]:
    """Answer each request with a summary or a status; return the list that receives its headers."""
    seen: list[dict[str, str]] = []

    def handler(request: Request) -> Response:
        seen.append({name.lower(): value for name, value in request.headers})
        body = dialect.body(SUMMARY) if status == 200 else dialect.error("no")
        return Reply(body, status).response()

    server.expect_request(dialect.path, method="POST").respond_with_handler(handler)
    return seen


# --- masks ---


@pytest.mark.parametrize("text", LOOKALIKES)
def test_mask_replaces_a_text_that_looks_like_a_credential(text: str) -> None:
    masked = mask(f"400 from the proxy: {text} was refused")
    assert "[REDACTED]" in masked
    assert masked.startswith("400 from the proxy: ")
    assert masked.endswith(" was refused")
    assert LOOKALIKES[text] not in masked


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 213,000 tokens > 200,000 maximum",
        "max_tokens: 4096 > 8192",
        "x-api-key: header is required",
        "Limit 30000, Requested 31000 tokens per min (TPM)",
        "http://localhost:11434/v1 has no model qwen3:8b",
        "KeyError: 'messages'",
    ],
)
def test_mask_keeps_a_text_without_a_credential(text: str) -> None:
    assert mask(text) == text


def test_mask_replaces_credentials_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_GATEWAY_TOKEN", KEY)
    monkeypatch.setenv("FEATURE_TOKEN", "true")
    assert mask(f"true: {KEY}.") == "true: [REDACTED]."


def test_mask_known_replaces_a_short_credential_as_a_whole_word_alone() -> None:
    assert mask_known("postgres: not postgresql", ["postgres", None, "no"]) == "[REDACTED]: not postgresql"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("secret", [KEY, *LOOKALIKES])
def test_a_refusal_that_repeats_a_credential_is_masked_everywhere(
    httpserver, kind: str, path: str, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect = DIALECTS[kind]
    # In front of the credential is a text of the length at which a reason is cut.
    for filler in ("", "x " * 90):
        loopback.serve(httpserver, dialect, [Reply(dialect.error(f"bad: {filler}{secret} refused"), 400)])
        events: list[object] = []
        writer = WRITERS[kind](base_url=base(httpserver, kind), api_key=KEY)
        cm = trimtab.Compactor(GPT, summarizer=writer, listeners=[events.append]).session("s")
        caplog.set_level(logging.DEBUG, logger="trimtab.details")
        with caplog.at_level(logging.DEBUG, logger="trimtab"):
            done = compact(cm, path)
        told = [*(event.reason for event in events if isinstance(event, FellBack))]
        archived = [asdict(record) for record in cm.archive.history("s")]
        assert told
        assert archived
        everything = f"{done.reason} {done.failed} {done.plan.to_json()} {told} {events} {archived} {caplog.text}"
        assert LOOKALIKES.get(secret, "7f3a") not in everything
        assert "400: the request was refused" in done.reason
        assert filler or "[REDACTED]" in done.reason


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_summary_that_repeats_the_key_in_use_is_masked_and_another_text_is_not(
    httpserver, kind: str, path: str
) -> None:
    dialect = DIALECTS[kind]
    loopback.serve(httpserver, dialect, [Reply(dialect.body(f"Used {KEY}, and AKIAIOSFODNN7EXAMPLE of the talk."))])
    cm = trimtab.Compactor(GPT, summarizer=WRITERS[kind](base_url=base(httpserver, kind), api_key=KEY))
    messages = [{"role": "user", "content": "Who uses AKIAIOSFODNN7EXAMPLE?"}, *transcript(TALK)[1:]]
    options = {"target_share": 0.5}
    done = cm.compact(messages, **options) if path == "compact" else asyncio.run(cm.acompact(messages, **options))
    assert (done.summary or "").startswith("Used [REDACTED], and AKIAIOSFODNN7EXAMPLE of the talk.")


def test_a_stop_reason_with_a_credential_is_masked(httpserver) -> None:
    dialect = DIALECTS["anthropic"]
    body = {**dialect.body(SUMMARY), "stop_reason": "sk-ant-api03-abcdefghij"}
    loopback.serve(httpserver, dialect, [Reply(body)])
    done = compact(trimtab.Compactor(GPT, summarizer=Anthropic(base_url=base(httpserver, "anthropic"))))
    assert "stop reason [REDACTED]" in done.reason


@pytest.mark.parametrize("before", [0, 1_990, 5_000])
def test_stderr_of_a_program_is_masked(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_API_KEY", KEY)
    code = f"import os, sys; sys.exit('x' * {before} + ' ' + os.environ['GATEWAY_API_KEY'] + ' y' * 985)"
    done = compact(trimtab.Compactor(GPT, summarizer=trimtab.summarize.Command([sys.executable, "-c", code])))
    assert "exit code 1" in done.reason
    assert "without-a-known-form" not in done.reason
    assert "known-form" not in done.reason


def test_an_exception_of_a_callable_is_masked() -> None:
    def raises(_: object) -> str:
        raise RuntimeError("connect to https://me:pa55word@host/v1 failed")

    done = compact(trimtab.Compactor(GPT, summarizer=Function(raises)))
    assert "RuntimeError: connect to https://[REDACTED]@host/v1 failed" in done.reason


def test_a_failed_fit_without_a_fallback_is_masked_in_the_reason_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def raises(_: object) -> str:
        raise RuntimeError("connect to https://me:pa55word@host/v1 failed")

    policy = replace(POLICIES["default"], fallback=("error",))
    cm = trimtab.Compactor(GPT, window=8_000, max_output=1_000, policy=policy, summarizer=raises)
    with caplog.at_level(logging.DEBUG, logger="trimtab.details"):
        fitted = cm.fit(transcript(" ".join("u:160 a:160" for _ in range(10))))
    assert "connect to https://[REDACTED]@host/v1 failed" in fitted.reason
    assert "connect to https://[REDACTED]@host/v1 failed" in caplog.text
    assert "pa55" not in fitted.reason + caplog.text


def test_exceptions_of_hooks_and_listeners_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    def raises(_: object) -> None:
        raise RuntimeError(f"cannot reach {url}")

    url = "https://me:pa55word@hook.local/"
    events: list[object] = []
    cm = trimtab.Compactor(GPT, pre_compact=raises, listeners=[events.append])
    assert "the hook raised RuntimeError: cannot reach https://[REDACTED]@hook.local/" in compact(cm).reason
    assert [event.reason for event in events if isinstance(event, Refused)]
    assert "pa55" not in "".join(event.reason for event in events if isinstance(event, Refused))
    with caplog.at_level(logging.DEBUG, logger="trimtab.details"):
        compact(trimtab.Compactor(GPT, listeners=[raises]))
    assert "RuntimeError: cannot reach https://[REDACTED]@hook.local/" in caplog.text
    assert "pa55" not in caplog.text


@pytest.mark.parametrize("path", ["check", "acheck", "fit", "afit"])
def test_an_answer_of_a_counting_endpoint_is_masked(httpserver, path: str, caplog: pytest.LogCaptureFixture) -> None:
    sdk = pytest.importorskip("anthropic")
    body = DIALECTS["anthropic"].error(f"bad key {KEY}")
    httpserver.expect_request("/v1/messages/count_tokens").respond_with_json(body, status=400)
    kind = sdk.AsyncAnthropic if path in {"acheck", "afit"} else sdk.Anthropic
    client = kind(api_key=KEY, base_url=base(httpserver, "anthropic"), max_retries=0)
    messages = transcript(TALK, provider="anthropic")
    cm = trimtab.Compactor(CLAUDE, policy="agentpg", count_with=client)
    with caplog.at_level(logging.DEBUG, logger="trimtab.details"):
        try:
            fits = path.endswith("fit")
            done = getattr(cm, path)(messages, **({"when": "after_run"} if fits else {"client": client}))
            asyncio.run(done) if asyncio.iscoroutine(done) else None
            said = ""
        except trimtab.CountError as error:
            said = str(error)
    assert "bad key [REDACTED]" in said + caplog.text
    assert KEY not in said + caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pa55 word@h:x/db",
        "postgresql://me:pa55word@h:1/db?no_such_option=pa55word",
        "postgres://me:pa55%zz@h/db",
    ],
)
def test_an_address_that_cannot_be_read_is_an_archive_error_without_its_password(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(trimtab.ArchiveError) as raised:
        trimtab.archive.open_archive(url)
    assert "pa55" not in "".join(traceback.format_exception(raised.value)).replace(repr(url), "")


def test_an_unknown_archive_is_named_without_its_password() -> None:
    with pytest.raises(ValueError, match=r"unknown archive 'mysql://\[REDACTED\]@db/agents'"):
        trimtab.archive.open_archive("mysql://me:pa55word@db/agents")


# --- keys ---


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_another_server_gets_nothing_of_the_environment(
    httpserver, kind: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {name: f"secret-{name.lower()}" for name in ("API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID")}
    for name, value in secrets.items():
        monkeypatch.setenv(f"{kind.upper()}_{name}", value)
    monkeypatch.setenv(f"{kind.upper()}_CUSTOM_HEADERS", "X-Gateway: secret-gateway\nAuthorization: secret-custom")
    seen = headers_of(httpserver, DIALECTS[kind])
    cm = trimtab.Compactor(GPT, summarizer=f"{kind}:m@{base(httpserver, kind)}")
    assert compact(cm, path).summarizer == f"{kind}:m"
    assert len(seen) == 1
    assert "secret" not in json.dumps(seen)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("how", ["api_key", "key_env"])
def test_another_server_gets_the_key_that_is_named(
    httpserver, kind: str, path: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "secret-of-the-provider")
    monkeypatch.setenv(f"{kind.upper()}_AUTH_TOKEN", "secret-token")
    monkeypatch.setenv("GATEWAY_KEY", "the-gateways-own")
    named = {"api_key": "the-gateways-own"} if how == "api_key" else {"key_env": "GATEWAY_KEY"}
    seen = headers_of(httpserver, DIALECTS[kind])
    writer = WRITERS[kind](base_url=base(httpserver, kind), **named)
    assert compact(trimtab.Compactor(GPT, summarizer=writer), path).summarizer == writer.name
    assert "the-gateways-own" in json.dumps(seen)
    assert "secret" not in json.dumps(seen)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("explicit", [False, True])
def test_the_server_of_the_sdks_own_variable_gets_the_environments_key(
    httpserver, kind: str, explicit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", base(httpserver, kind))
    seen = headers_of(httpserver, DIALECTS[kind])
    writer = WRITERS[kind](base_url=base(httpserver, kind) if explicit else None)
    assert compact(trimtab.Compactor(GPT, summarizer=writer)).summarizer == writer.name
    assert KEY in json.dumps(seen)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://api.openai.com@evil.example/v1", False),
        ("https://evil.example/api.openai.com", False),
        ("https://evilopenai.com/v1", False),
        ("https://me.openai.azure.com/openai/v1", False),
        ("https://[broken/v1", False),
        ("", False),
    ],
)
def test_only_the_providers_own_encrypted_hosts_get_the_environments_key(url: str, own: bool) -> None:
    assert OpenAI(base_url=url).takes_environment is own


def test_a_key_in_the_address_and_headers_of_the_caller_reach_another_server(
    httpserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    seen = headers_of(httpserver, DIALECTS["openai"])
    url = base(httpserver, "openai").replace("://", "://me:pa55word@")
    assert compact(trimtab.Compactor(GPT, summarizer=OpenAI("m", url))).summarizer == "openai:m"
    assert seen[0]["authorization"] == "Basic bWU6cGE1NXdvcmQ="


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_got_no_key_and_refuses_says_how_to_name_one(httpserver, kind: str, path: str) -> None:
    headers_of(httpserver, DIALECTS[kind], 401)
    done = compact(trimtab.Compactor(GPT, summarizer=f"{kind}:m@{base(httpserver, kind)}"), path)
    assert "401: the key is missing or not accepted (no key was sent to this server: name its" in done.reason


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_variable_that_is_not_set_is_named_and_nothing_is_sent(httpserver, kind: str, path: str) -> None:
    seen = headers_of(httpserver, DIALECTS[kind])
    writer = WRITERS[kind](base_url=base(httpserver, kind), key_env="NO_SUCH_KEY")
    done = compact(trimtab.Compactor(GPT, summarizer=writer), path)
    assert "the environment variable NO_SUCH_KEY, which key_env names, is not set" in done.reason
    assert seen == []


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_key_with_a_line_end_that_the_client_repeats_is_masked(
    httpserver, kind: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY", f"{KEY}\n")
    writer = WRITERS[kind](base_url=base(httpserver, kind), key_env="GATEWAY", limits=Limits(tries=1))
    done = compact(trimtab.Compactor(GPT, summarizer=writer), path)
    assert done.summarizer == "offline"
    assert "7f3a" not in done.reason


@pytest.mark.parametrize("given", [{"api_key": "k", "key_env": "K"}, {"key_env": ""}])
def test_a_summarizer_rejects_two_keys_and_an_empty_name(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="give api_key, or key_env"):
        OpenAI(**given)


# --- redirects ---


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["port", "host"])
def test_a_redirect_to_another_server_is_not_followed(  # noqa: PLR0917 - two servers, and four parameters
    httpserver, other, kind: str, path: str, status: int, to: str
) -> None:
    dialect = DIALECTS[kind]
    asked: list[str] = []

    def answers(request: Request) -> Response:
        asked.append(request.host)
        return Reply(dialect.body(SUMMARY)).response()

    def redirects(request: Request) -> Response:
        asked.append(request.host)
        port, host = (other.port, "localhost") if to == "port" else (httpserver.port, "127.0.0.1")
        target = f"http://{host}:{port}{'/elsewhere' if to == 'host' else dialect.path}"
        return Response("", status, {"location": target})

    other.expect_request(dialect.path).respond_with_handler(answers)
    httpserver.expect_request(dialect.path).respond_with_handler(redirects)
    httpserver.expect_request("/elsewhere").respond_with_handler(answers)
    writer = WRITERS[kind](base_url=base(httpserver, kind), api_key=KEY, limits=Limits(pause=0.0))
    done = compact(trimtab.Compactor(GPT, summarizer=writer), path)
    assert done.summarizer == "offline"
    assert f"{status}: the server redirects to another one" in done.reason
    assert asked == [f"localhost:{httpserver.port}"], "neither followed nor tried again"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("path", PATHS)
def test_a_redirect_on_the_same_server_is_followed(httpserver, kind: str, path: str) -> None:
    dialect = DIALECTS[kind]
    seen = loopback.serve(httpserver, dialect, [Reply(dialect.body(SUMMARY))])
    first = f"/old{dialect.path}"
    httpserver.expect_request(first).respond_with_data("", 307, {"location": dialect.path})
    url = base(httpserver, kind).replace(f":{httpserver.port}", f":{httpserver.port}/old")
    done = compact(trimtab.Compactor(GPT, summarizer=WRITERS[kind](base_url=url, api_key=KEY)), path)
    assert (done.summary or "").startswith(SUMMARY)
    assert len(seen) == 1


# --- the command line ---


def run(tmp_path: Path, *words: str) -> CompletedProcess[str]:
    session = tmp_path / "s.json"
    session.write_text(json.dumps(transcript(TALK, provider="anthropic")))
    return command.run("compact", str(session), "--model", GPT, "--target-share", "0.5", *words)


def test_the_command_line_names_a_key_and_masks_what_a_server_repeats(
    httpserver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-provider")
    monkeypatch.setenv("MY_GATEWAY", KEY)
    dialect = DIALECTS["openai"]
    words = ("--summarizer", f"openai:m@{base(httpserver, 'openai')}", "--key-env", "MY_GATEWAY")
    seen = headers_of(httpserver, dialect)
    assert "by openai:m" in run(tmp_path, *words).stderr
    assert [headers["authorization"] for headers in seen] == [f"Bearer {KEY}"]
    loopback.serve(httpserver, dialect, [Reply(dialect.error(f"bad key {KEY}"), 400)])
    for more, code in (((), 0), (("--no-fallback",), 69)):
        done = run(tmp_path, *words, *more)
        assert done.returncode == code
        assert "bad key [REDACTED]" in done.stdout + done.stderr
        assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_the_command_line_masks_what_an_error_repeats(tmp_path: Path, debug: tuple[str, ...]) -> None:
    (tmp_path / "s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))
    done = command.run(*debug, "compact", str(tmp_path / "s.json"), "--archive", "mysql://me:pa55word@db/agents")
    assert done.returncode == 64
    assert "mysql://[REDACTED]@db/agents" in done.stderr
    assert "pa55" not in done.stderr
    assert ("Traceback" in done.stderr) == bool(debug)


def test_key_env_goes_with_a_provider(tmp_path: Path) -> None:
    done = run(tmp_path, "--summarizer", "cmd:true", "--key-env", "MY_GATEWAY")
    assert done.returncode == 64
    assert "--key-env goes with --summarizer anthropic or openai" in done.stderr


def test_an_unknown_summarizer_is_named_without_its_password() -> None:
    with pytest.raises(ValueError, match=r"unknown summarizer 'opnai:m@http://\[REDACTED\]@host/v1'"):
        open_summarizer("opnai:m@http://me:pa55word@host/v1")


# --- configuration ---


def test_a_summarizer_is_read_from_file_environment_and_code(tmp_path: Path) -> None:
    file = tmp_path / "trimtab.toml"
    file.write_text(
        '[summarizer]\nname = "openai"\nmodel = "m"\nbase_url = "https://h/v1"\nkey_env = "A"\nseconds = 9\n\n[agent]\n'
    )
    environ = {"TRIMTAB_SUMMARIZER_KEY_ENV": "B", "TRIMTAB_SUMMARIZER_WINDOW": "9_000", "TRIMTAB_AGENT_X": "1"}
    assert load(file, environ=environ, model="n") == OpenAI(
        "n", base_url="https://h/v1", key_env="B", window=9_000, limits=Limits(seconds=9)
    )
    assert load(environ={}).name == "offline"
    assert load(environ={}, name="cmd:sh -c x", tries=1).limits == Limits(tries=1)


def test_a_section_that_is_no_mapping_is_a_configuration_error(tmp_path: Path) -> None:
    file = tmp_path / "trimtab.toml"
    file.write_text('summarizer = "openai"\n')
    with pytest.raises(trimtab.ConfigError, match="summarizer must be a mapping of keys, got 'openai'"):
        load(file, environ={})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"name": "openai", "api_key": "k"},
            "unknown key 'api_key' in 'summarizer'; known are name, model, base_url, key_env",
        ),
        ({"name": "openai", "keyenv": "K"}, "unknown key 'keyenv' in 'summarizer'; known are name, model"),
        ({"name": "openai", "key_env": ""}, "key_env is required"),
        ({"name": "openai", "seconds": "soon"}, "seconds"),
        ({"name": "openai", "seconds": -1}, "seconds must be a positive number"),
        ({"name": "gpt"}, "unknown summarizer 'gpt'"),
        ({"name": "cmd:true", "model": "m"}, "model of 'summarizer': only anthropic and openai have it"),
    ],
)
def test_load_rejects_a_wrong_key_or_value(values: dict[str, object], says: str) -> None:
    with pytest.raises(trimtab.ConfigError) as raised:
        load(environ={}, **values)
    assert says in str(raised.value)
