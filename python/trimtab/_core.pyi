# The compiled core; private, reached through `trimtab`. All arrays are C-contiguous and of one fixed dtype.
from collections.abc import Iterable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

__all__ = [
    "CLOSE",
    "ENVELOPE",
    "PRUNED",
    "Counter",
    "Ledger",
    "Tally",
    "Truncation",
    "__version__",
    "detect",
    "digest",
    "partition",
    "snap",
    "split",
    "truncate",
    "validate",
]

__version__: str
CLOSE: str
ENVELOPE: str
PRUNED: str

@disjoint_base
class Counter:
    def __new__(
        cls,
        encoding: str,
        *,
        given: int = 1000,
        written: int = 1000,
        call: int = 0,
        message: int = 0,
        result: int = 0,
        image: int | None = None,
        low: int | None = None,
        least: int = 0,
        joined: bool = False,
        data: bytes | None = None,
        pattern: str | None = None,
    ) -> Self: ...
    @property
    def engine(self) -> str: ...
    def count(self, text: str | bytes) -> int: ...
    def tally(self) -> Tally: ...
    def truncate_tokens(self, text: str | bytes, head: int, tail: int) -> tuple[str, str]: ...
    def count_many(self, texts: Iterable[str | bytes]) -> NDArray[np.uint32]: ...
    def exceeds(self, text: str | bytes, n: int) -> bool: ...
    def per_message(self, messages: Sequence[Any], *, provider: str | None = None) -> NDArray[np.uint32]: ...
    @staticmethod
    def vocabulary(encoding: str) -> list[bytes]: ...

@final
class Ledger:
    @staticmethod
    def of(messages: Sequence[Any], *, counter: Counter, provider: str | None = None) -> Ledger: ...
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
    def per_message(self) -> NDArray[np.uint32]: ...
    @property
    def total(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def digest_of(self, index: int) -> str: ...
    def find(self, digests: Iterable[str]) -> list[int]: ...
    def named(self, names: Iterable[str]) -> NDArray[np.bool_]: ...
    def id_of(self, row: int) -> str: ...
    def name_of(self, row: int) -> str: ...

@final
class Truncation:
    def __new__(
        cls,
        *,
        counter: Counter,
        category: str,
        tokens: int | None = None,
        lines: int | None = None,
        chars: int | None = None,
    ) -> Self: ...
    def push(self, chunk: bytes) -> None: ...
    def finish(self) -> bytes: ...

@final
class Tally:
    def append(self, text: str | bytes) -> None: ...
    @property
    def tokens(self) -> int: ...

def digest(text: str | bytes) -> str: ...
def detect(messages: Sequence[Any]) -> str | None: ...
def split(tokens: NDArray[np.uint32], safe: NDArray[np.bool_], *, keep: int) -> int | None: ...
def snap(cuts: NDArray[np.bool_], raw: int, *, back: bool = True) -> int: ...
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
    ledger: Ledger, *, original: Ledger | None = None, **rules: bool | int | None
) -> list[tuple[int, int | None, str, str, str]]: ...
def truncate(
    text: str | bytes,
    *,
    counter: Counter,
    category: str,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
) -> str | None: ...
