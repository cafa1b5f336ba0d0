"""A refusal of too many bytes is no window: the token budget stays as it was."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import trimtab
from trimtab.session.overflow import refusal

NGINX = (
    "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity "
    "Too Large</h1></center>\r\n<hr><center>nginx/1.25.3</center>\r\n</body>\r\n</html>"
)
AIOHTTP = "Maximum request body size 1048576 exceeded, actual body size 1056562"


class StatusError(Exception):
    """An SDK's exception by its attributes."""

    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        self.__dict__.update(attributes)


def answered(status: int, body: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "https://api.test/v1")
    return httpx.HTTPStatusError(
        f"{status}", request=request, response=httpx.Response(status, text=body, request=request)
    )


BYTES: dict[str, tuple[Any, int | None]] = {
    "nginx": ("413 Request Entity Too Large", None),
    "nginx's page": (NGINX, None),
    "a page of openresty, by an HTTP client": (answered(413, NGINX), None),
    "HTTP's second name": ("413 Payload Too Large", None),
    "HTTP's third name": ("HTTP 413: Content Too Large", None),
    "go": ("http: request body too large", None),
    "anthropic": ("Request exceeds the maximum size", None),
    "anthropic's documentation": ("Request exceeds the maximum allowed number of bytes", None),
    "anthropic's body": (
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
        None,
    ),
    "anthropic, behind litellm": (
        'litellm.APIError: AnthropicException - {"type":"error","error":{"type":"request_too_large","message":"..."}}',
        None,
    ),
    "claude code": ("Request too large (max 20MB)", 20_000_000),
    "copilot": ('Request Failed: 413 {"error":{"message":"failed to parse request","code":""}}', None),
    "copilot's own status": (StatusError("413 413 Request Entity Too Large\n", status=413), None),
    "express": (
        {"message": "request entity too large", "limit": 102_400, "length": 205_000, "type": "entity.too.large"},
        102_400,
    ),
    "express, in words": ("PayloadTooLargeError: request entity too large", None),
    "kestrel": ("Request body too large. The max request body size is 30000000 bytes.", 30_000_000),
    "aiohttp": (
        {"error": {"message": AIOHTTP, "code": 413, "status": "Request Entity Too Large"}},
        1_048_576,
    ),
    "aiohttp, in words": (AIOHTTP, 1_048_576),
    "axum": ("OpenAI API error (413): 413 Failed to buffer the request body: length limit exceeded", None),
    "a proxy that unpacks": ("Decompressed request body exceeds 268435456 bytes", 268_435_456),
    "litellm's proxy": ("Request size is too large. Request size is 5.2 MB. Max size is 1 MB", 1_000_000),
    "google": (
        StatusError("400 INVALID_ARGUMENT. Request payload size exceeds the limit: 20971520 bytes.", code=400),
        20_971_520,
    ),
    "vertex, in binary units": ("the request body exceeds the limit of 30 MiB", 30 * 2**20),
    "boto3": (
        StatusError(
            "An error occurred (RequestEntityTooLargeException)",
            response={
                "Error": {"Code": "RequestEntityTooLargeException", "Message": ""},
                "ResponseMetadata": {"HTTPStatusCode": 413},
            },
        ),
        None,
    ),
    "our own": ("Request exceeds the maximum size: 40000000 bytes > 33554432 bytes", 33_554_432),
    "no body": (StatusError("413 status code (no body)", status_code=413), None),
    "no words": (StatusError("Error code: 413", status_code=413), None),
}
TOKENS = {
    "a 413 that counts tokens": StatusError("prompt is too long: 210000 tokens > 200000 maximum", status_code=413),
    "a 413 with a code of tokens": StatusError("too large", status_code=413, code="context_length_exceeded"),
    "copilot": "prompt token count of 70000 exceeds the limit of 64000",
    "bedrock": "Input is too long for requested model.",
}
OTHERS = {
    "a picture": "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6213456 bytes > 5242880 bytes",
    "tokens per minute, with 413": StatusError(
        "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7500", status_code=413
    ),
    "another status": StatusError("Error code: 400 - bad", status_code=400),
    "a number": "413 files were changed",
    "a disk": "the disk quota is exceeded",
}


def talk(steps: int = 40) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"step {n}: " + "some words " * 200} for n in range(steps)
    ]


@pytest.mark.parametrize("name", sorted(BYTES))
def test_a_byte_limit_is_no_window(name: str) -> None:
    error, limit = BYTES[name]
    assert trimtab.is_overflow(error)
    assert refusal(error).by_bytes
    assert refusal(error).limit_bytes == limit
    assert refusal(error).limit is None
    cm, messages = trimtab.Compactor("claude-sonnet-5-5"), talk()
    fitted = cm.overflow(error, messages)
    assert cm.window == 1_000_000
    assert "too many bytes" in fitted.reason


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_words_about_tokens_stand_above_the_status_413(name: str) -> None:
    assert trimtab.is_overflow(TOKENS[name])
    assert not refusal(TOKENS[name]).by_bytes


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_an_error_that_names_another_size_is_no_overflow(name: str) -> None:
    assert not trimtab.is_overflow(OTHERS[name])
