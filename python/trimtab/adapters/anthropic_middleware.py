"""A middleware of Anthropic's SDK, and the decision of its tool runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic import Middleware

from ..messages.usage import Usage

if TYPE_CHECKING:
    from .clients import Guard
    from .sessions import Sessions


class RefusedError(Exception):
    """An answer with an error's status, which the SDK raises behind the middleware.

    Attributes:
        response: the answer.
        status_code: its status.
    """

    def __init__(self, response: Any, text: str) -> None:
        """Take the answer and its text."""
        super().__init__(text)
        self.response = response
        self.status_code = response.status_code


class FittingMiddleware(Middleware):
    """Makes the messages of each model call fit; ``anthropic.middleware`` describes it."""

    def __init__(self, guard: Guard) -> None:
        """Take what makes calls fit."""
        self._guard = guard

    def handle(self, request: Any, call_next: Any) -> Any:
        """Send a request, smaller where it has to be."""
        call = self._guard.call(request.url, _arguments(request))

        def post(path: str, **given: Any) -> Any:
            response = call_next(_changed(request, path, given))
            if response.status_code >= 400:
                raise RefusedError(response, response.http_response.read().decode(errors="replace"))
            return response

        try:
            return call_next(request) if call is None else call.send(post)
        except RefusedError as error:
            return error.response

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        """Send a request like ``handle``."""
        call = self._guard.call(request.url, _arguments(request))

        async def post(path: str, **given: Any) -> Any:
            response = await call_next(_changed(request, path, given))
            if response.status_code >= 400:
                text = await response.http_response.aread()
                raise RefusedError(response, text.decode(errors="replace"))
            return response

        try:
            return await (call_next(request) if call is None else call.asend(post))
        except RefusedError as error:
            return error.response


def _arguments(request: Any) -> dict[str, Any]:
    """Return a request as the arguments of the client's ``post``."""
    return {"body": request.json, "options": {"headers": dict(request.headers)}, "stream": request.stream}


def _changed(request: Any, path: str, given: dict[str, Any]) -> Any:
    """Return the request with other arguments."""
    made = request.copy(url=path, body=given["body"], headers=given["options"]["headers"])
    made.stream = request.stream and "cast_to" not in given  # a compaction alone is no stream
    return made


class Due:
    """Whether a tool runner's conversation is due for a compaction, by the billed tokens of its newest answer."""

    def __init__(self, sessions: Sessions) -> None:
        """Take the settings."""
        cm = sessions.compactor
        self.trigger = cm.budget().trigger

    def __call__(self, message: Any) -> bool:
        """Return whether the next prompt is past the policy's trigger: this one, and its answer."""
        if getattr(message, "stop_reason", None) == "compaction":
            return False
        try:
            charged = Usage.of(message.usage)
        except ValueError:  # a stub without prompt tokens
            return False
        return charged.prompt + charged.output > self.trigger
