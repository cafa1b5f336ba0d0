# The compiled core; private, reached through `trimtab`. All arrays are C-contiguous and of one fixed dtype.
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .models.prompts import Prompt
from .models.provider import Provider

__all__ = [
    "CLOSE",
    "ENVELOPE",
    "PRUNED",
    "SIMD",
    "Counter",
    "IncrementalCounter",
    "Ledger",
    "Reader",
    "Truncation",
    "__version__",
    "detect",
    "digest",
    "dumps",
    "entries",
    "offline",
    "partition",
    "recover",
    "split",
    "split_tail",
    "truncate",
    "validate",
]

__version__: str
CLOSE: str
ENVELOPE: str
PRUNED: str
SIMD: str

@disjoint_base
class Counter:
    def __new__(
        cls,
        encoding: str,
        *,
        prompt: Prompt | None = None,
        data: bytes | None = None,
        pattern: str | None = None,
        **flat: bool | int | None,
    ) -> Self: ...
    @property
    def engine(self) -> str: ...
    def count(self, text: str | bytes) -> int: ...
    def incremental(self) -> IncrementalCounter: ...
    def truncate_tokens(self, text: str | bytes, head: int, tail: int) -> tuple[str, str]: ...
    def count_many(self, texts: Iterable[str | bytes]) -> NDArray[np.uint32]: ...
    def exceeds(self, text: str | bytes, n: int) -> bool: ...
    @staticmethod
    def vocabulary(encoding: str) -> list[bytes]: ...

@final
class Ledger:
    @staticmethod
    def of(
        messages: Sequence[Any], *, counter: Counter, provider: str | None = None, fallback: str = "openai_chat"
    ) -> Ledger: ...
    def extend(self, messages: Sequence[Any]) -> Ledger: ...
    def __len__(self) -> int: ...
    @property
    def provider(self) -> str: ...
    @property
    def owner(self) -> NDArray[np.uint32]: ...
    @property
    def kind(self) -> NDArray[np.uint8]: ...
    @property
    def tokens(self) -> NDArray[np.uint32]: ...
    @property
    def pair(self) -> NDArray[np.int32]: ...
    @property
    def bytes(self) -> NDArray[np.uint32]: ...
    @property
    def chars(self) -> NDArray[np.uint32]: ...
    @property
    def utf16(self) -> NDArray[np.uint32]: ...
    @property
    def flags(self) -> NDArray[np.uint16]: ...
    @property
    def role(self) -> NDArray[np.uint8]: ...
    @property
    def marks(self) -> NDArray[np.uint16]: ...
    @property
    def first(self) -> NDArray[np.uint32]: ...
    @property
    def safe(self) -> NDArray[np.bool_]: ...
    @property
    def superseded(self) -> NDArray[np.uint32]: ...
    @property
    def pictured(self) -> NDArray[np.uint32]: ...
    @property
    def per_message(self) -> NDArray[np.uint32]: ...
    @property
    def total(self) -> int: ...
    def sums(self) -> tuple[int, int, list[list[int]]]: ...
    @property
    def digest(self) -> str: ...
    @property
    def digests(self) -> builtins.bytes: ...
    def unlike(self, digests: builtins.bytes) -> list[int]: ...
    def digest_until(self, messages: int) -> str: ...
    def digest_of(self, index: int) -> str: ...
    def find(self, digests: set[str]) -> list[int]: ...
    def named(self, names: Sequence[str]) -> NDArray[np.bool_]: ...
    def id_of(self, row: int) -> str: ...
    def name_of(self, row: int) -> str: ...

@final
class Reader:
    def __new__(cls, *, counter: Counter, provider: str | None = None, want: str = "ledger") -> Self: ...
    def push(self, chunk: bytes) -> None: ...
    def finish(self) -> tuple[Provider, Any, list[tuple[int, int, str]], int]: ...

@final
class Truncation:
    def __new__(
        cls,
        *,
        counter: Counter,
        category: str,
        limits: Sequence[int | None],
        more: str = ...,
    ) -> Self: ...
    def push(self, chunk: bytes) -> None: ...
    def finish(self) -> bytes: ...

@final
class IncrementalCounter:
    def append(self, text: str | bytes) -> None: ...
    @property
    def tokens(self) -> int: ...

def recover(
    text: bytes, *, is_end: bool, is_unclosed: bool
) -> tuple[bytes, int, list[tuple[int, str]], bool] | None: ...
def digest(text: str | bytes) -> str: ...
def dumps(values: list[Any]) -> tuple[list[str], list[str]]: ...
def detect(messages: Sequence[Any]) -> Provider | None: ...
def entries(messages: Sequence[Any]) -> list[tuple[int, str, str, str]]: ...
def split(tokens: NDArray[np.uint32], safe: NDArray[np.bool_], *, keep: int) -> int | None: ...
def split_tail(
    tail: Sequence[Any],
    *,
    whole: bool,
    keep: int | None = None,
    keep_last: int = 0,
    counter: Counter | None = None,
    provider: str | None = None,
) -> tuple[int | None, bool, int]: ...
def offline(
    messages: tuple[Sequence[Any], Sequence[Any]],
    texts: tuple[str, str],
    limit: int,
    count: Counter | Callable[[str], int],
) -> str: ...

@final
class Seen:
    def __new__(cls) -> Seen: ...
    def places(self, values: Sequence[Any]) -> tuple[int, list[int | None]]: ...

def partition(
    tokens: NDArray[np.uint32],
    safe: NDArray[np.bool_],
    cuts: NDArray[np.bool_],
    summary: NDArray[np.bool_],
    pinned: NDArray[np.bool_],
    *,
    keepers: Sequence[tuple[str, int]],
    snap: str = "own",
    head: int = 0,
    least: int = 0,
) -> NDArray[np.uint8]: ...
def validate(
    subject: Ledger | Sequence[Any],
    *,
    provider: str | None = None,
    original: Ledger | None = None,
    **rules: bool | int | None,
) -> list[tuple[int, int | None, str, str, str]]: ...
def truncate(
    text: str | bytes,
    *,
    counter: Counter,
    category: str,
    limits: Sequence[int | None],
    more: str = "",
) -> str | None: ...
