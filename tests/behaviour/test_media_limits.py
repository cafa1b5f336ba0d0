"""Pictures of Gemini's responses have tokens; pages of documents count against Anthropic's limit of pictures."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from support.models import CLAUDE, GEMINI_UNSIGNED
from support.transcripts import png
from trimtab import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable


PNG = png(1_280, 800)
FORMS: dict[str, dict[str, Any]] = {
    "inlineData": {"inlineData": {"mimeType": "image/png", "data": PNG}},
    "inline_data": {"inline_data": {"mime_type": "image/png", "data": PNG}},
    "inline_data, bytes": {"inline_data": {"mime_type": "image/png", "data": base64.b64decode(PNG)}},
    "fileData": {"fileData": {"mimeType": "image/png", "fileUri": "https://files.test/1"}},
    "file_data": {"file_data": {"mime_type": "image/png", "file_uri": "https://files.test/1"}},
}


def screenshots(part: dict[str, Any], steps: int) -> list[dict[str, Any]]:
    """A browser's session: each response of the tool has a screenshot beside it."""
    camel = not any("_" in key for key in part)
    call, response = ("functionCall", "functionResponse") if camel else ("function_call", "function_response")
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Book the flight."}]}]
    for _ in range(steps):
        contents.append({"role": "model", "parts": [{call: {"name": "click", "args": {"x": 1}}}]})
        answer = {"name": "click", "response": {"output": "done"}, "parts": [part]}
        contents.append({"role": "user", "parts": [{response: answer}]})
    return contents


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_picture_in_a_function_response_costs_what_one_beside_it_costs(form: str) -> None:
    (key, file), *_ = FORMS[form].items()
    inside, without = screenshots(FORMS[form], 1), screenshots(FORMS[form], 1)
    del next(iter(without[-1]["parts"][0].values()))["parts"]
    beside = [*without[:-1], {**without[-1], "parts": [*without[-1]["parts"], {key: file}]}]
    counts = [trimtab.count(contents, model=GEMINI_UNSIGNED) for contents in (inside, beside, without)]
    assert counts[0] == pytest.approx(counts[1], abs=2)
    assert counts[0] - counts[2] > 250


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_session_of_screenshots_in_function_responses_is_compacted(form: str) -> None:
    contents = screenshots(FORMS[form], 400)
    cm = trimtab.Compactor(GEMINI_UNSIGNED, window=100_000, max_output=8_000)
    assert cm.count(contents) > 100_000
    fitted = cm.fit(contents)
    assert fitted.compaction is not None
    assert cm.count(fitted.messages) < 92_000
    assert not trimtab.validate(fitted.messages, provider="gemini")
    assert cm.restore(fitted.compaction.ref or "") == contents or "bytes" in form


def test_a_pruned_response_keeps_no_picture_beside_its_placeholder() -> None:
    contents = [*screenshots(FORMS["inlineData"], 12), {"role": "user", "parts": [{"text": "And now?"}]}]
    cm = trimtab.Compactor(GEMINI_UNSIGNED, window=30_000, max_output=8_000)
    out = cm.compact(contents, target_share=0.6)
    responses = [part["functionResponse"] for m in out.messages for part in m["parts"] if "functionResponse" in part]
    pruned = [response for response in responses if "[trimtab: pruned" in str(response["response"])]
    assert pruned
    assert not any("parts" in response for response in pruned)
    assert cm.count(out.messages) <= out.tokens_after + cm.count([])


def pdf(pages: int) -> dict[str, Any]:
    """A document of so many pages."""
    tree = f"2 0 obj <</Type/Pages/Count {pages}/Kids[3 0 R]>> endobj "
    data = base64.b64encode(f"%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj {tree}%%EOF".encode())
    return {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": data.decode()},
    }


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(20, 20)}}


def beside(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks one a turn, and a last request without any."""
    messages: list[dict[str, Any]] = []
    for block in blocks:
        messages.append({"role": "user", "content": [{"type": "text", "text": "Look."}, block]})
        messages.append({"role": "assistant", "content": "Seen."})
    return [*messages, {"role": "user", "content": "Compare them."}]


def in_results(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks one a tool's result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Compare them."}]
    for n, block in enumerate(blocks):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"n": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": [block]}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


MIXTURES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "60 pages and 60 pictures": ([pdf(60), *[IMAGE] * 60], "60 document pages + 60 images > 100"),
    "120 pages of two documents": ([pdf(60)] * 2, "120 document pages + 0 images > 100"),
    "pictures first": ([*[IMAGE] * 99, pdf(2)], "2 document pages + 99 images > 100"),
}


@pytest.mark.parametrize("held", [beside, in_results])
@pytest.mark.parametrize("name", sorted(MIXTURES))
def test_pages_count_with_pictures(name: str, held: Callable[..., list[dict[str, Any]]]) -> None:
    blocks, words = MIXTURES[name]
    messages = held(*blocks)
    (problem,) = trimtab.validate(messages, provider="anthropic", model=CLAUDE)
    assert problem.code == "too_many_images"
    assert words in problem.message
    assert not trimtab.validate(messages, provider="anthropic", model="claude-sonnet-5-5")
    repaired = trimtab.repair(messages, provider="anthropic", model=CLAUDE)
    assert {change.code for change in repaired.changes} == {"picture"}
    assert not trimtab.validate(repaired.messages, provider="anthropic", model=CLAUDE)
    cm = trimtab.Compactor(CLAUDE, window=600_000)
    fitted = cm.fit(messages)
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=CLAUDE)
    ledger = Ledger.of(fitted.messages, counter=trimtab.Counter.for_model(CLAUDE), provider="anthropic")
    assert 30 < len(ledger.pictured) + len(ledger.paged) <= 100
    assert fitted.compaction is not None
    assert cm.restore(fitted.compaction.ref or "") == messages
    assert fitted.messages[0]["role"] == "user"


def test_the_oldest_document_leaves_with_a_notice_that_names_it() -> None:
    fitted = trimtab.Compactor(CLAUDE, window=600_000).fit(beside(*MIXTURES["60 pages and 60 pictures"][0]))
    assert fitted.messages[0]["content"][1]["text"] == "[trimtab: a document was left out here; it is archived]"
    assert fitted.compaction is not None
    assert "60 pictures and pages stay" in fitted.compaction.reason


def test_a_page_of_the_limit_is_no_page_too_many() -> None:
    assert not trimtab.validate(beside(pdf(40), *[IMAGE] * 60), provider="anthropic", model=CLAUDE)


def test_pages_that_the_structure_hides_are_not_guessed_for_the_limit() -> None:
    packed = pdf(1)
    packed["source"]["data"] = base64.b64encode(b"%PDF-1.7\n" + bytes(7_000_000)).decode()
    assert trimtab.count(beside(packed), model=CLAUDE) > 100 * 2_000
    assert not trimtab.validate(beside(packed), provider="anthropic", model=CLAUDE)


def test_text_documents_have_no_pages() -> None:
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words " * 100}}
    assert not trimtab.validate(beside(*[text] * 120), provider="anthropic", model=CLAUDE)


def test_a_document_that_is_asked_about_does_not_leave() -> None:
    request = [{"role": "user", "content": [pdf(120), {"type": "text", "text": "What does it say?"}]}]
    with pytest.raises(trimtab.MessageError, match="too_many_images") as raised:
        trimtab.Compactor(CLAUDE, window=600_000).fit(request)
    assert raised.value.path == "messages[0].content[0]"


def test_a_session_file_of_gemini_cli_keeps_the_pictures_of_its_responses() -> None:
    function = {"id": "c1", "name": "shot", "response": {"output": "done"}, "parts": [FORMS["inlineData"]]}
    call = {"id": "c1", "name": "shot", "args": {}, "status": "success", "result": [{"functionResponse": function}]}
    session = {
        "sessionId": "s",
        "projectHash": "p",
        "startTime": "2026-11-01T00:00:00.000Z",
        "lastUpdated": "2026-11-01T00:00:01.000Z",
        "messages": [
            {"id": "1", "type": "user", "content": "Look."},
            {"id": "2", "type": "gemini", "content": "I look.", "toolCalls": [call]},
        ],
    }
    transcript = trimtab.read(json.dumps(session).encode(), format="gemini_cli")
    assert transcript.messages[-2]["content"] == "done"
    assert [part["type"] for part in transcript.messages[-1]["content"]] == ["text", "image_url"]
