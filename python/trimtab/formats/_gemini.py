"""Contents as Gemini's SDK writes them: parts of text, files, calls and results."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from ._builder import Builder
from ._parts import Content, base64_part, content_of, dict_of, list_of, text_of, text_part


class GeminiBuilder(Builder):
    """A transcript of contents in Gemini's shape."""

    __slots__ = ()

    def parts(self, content: Any, kind: object) -> list[dict[str, Any]]:
        """Return the parts of a content: a text, a part, or a list of both."""
        entries = content if isinstance(content, list) else [content]
        parts = [text_part(e) if isinstance(e, str) else e for e in entries if isinstance(e, (str, dict))]
        self.leave(kind, "no part", count=len(entries) - len(parts) - (content is None))
        return parts

    def content(self, parts: list[dict[str, Any]], kind: object) -> Content:
        """Return parts in Chat's shape: texts, images and results; another file becomes text with its URI."""
        converted = []
        for part in chain.from_iterable(map(_spread, parts)):
            blob, file = dict_of(part.get("inlineData")), dict_of(part.get("fileData"))
            if isinstance(part.get("text"), str) and not part.get("thought"):
                converted.append(text_part(part["text"]))
            elif text_of(blob.get("mimeType")).startswith("image/"):
                converted.append(base64_part(blob["mimeType"], blob.get("data")))
            elif blob or file:
                converted.append(
                    text_part(f"[{text_of((blob or file).get('mimeType'))}: {text_of(file.get('fileUri'))}]")
                )
            elif "functionResponse" in part:
                converted.append(text_part(_output(dict_of(part["functionResponse"]))))
            else:
                self.leave(kind, "thought" if part.get("thought") else next(iter(part), "an empty part"))
        return content_of(converted)


def _spread(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a part, and behind a response the files beside it."""
    response = dict_of(part.get("functionResponse"))
    return [part, *(each for each in list_of(response.get("parts")) if isinstance(each, dict))]


def _output(response: dict[str, Any]) -> str:
    """Return a function's output as text."""
    given = response.get("response")
    if isinstance(given, dict) and len(given) == 1 and isinstance(text := next(iter(given.values())), str):
        return text
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
