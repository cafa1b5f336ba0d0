"""Learn the weights of ``rust/core/src/offline/learned.rs`` from the texts in ``tools/worth/``; ``make worth``.

The model is a logistic regression over hashed words, pieces of words and marks; its README says what it is good for.
``--check`` learns, writes nothing, and fails if the committed weights are others. Numbers at random there are none.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from oracles.offline import worth
from oracles.offline.learned import MARK, SIZE, UNIT, WEIGHTS, pieces, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

TEXTS = Path(__file__).resolve().parent / "worth"

STEPS = 300
"""Steps of Adagrad: from 100 to 600 the area on left-out chats, which ``validation`` prints, moves by 0.003 at most."""
RATE = 0.3
"""Of a step: 0.1 and 1.0 change that area by 0.002 at most."""
L2 = 1e-5
"""Weight of the squares: 1e-4 loses 0.01 of that area in English and 0.03 elsewhere, 1e-6 gains 0.002 at most."""
BALANCE = 0.5
"""Share of the known sentences in the loss: they are 63 % of the lines and 15 % of the chats, as written."""
FIRST = 1e-8
"""What the squares of the gradients begin with: far below the first gradients, so that no step is cut short."""
FOLDS = 5
MAY_DIFFER = 0.005
"""Share of the weights that may differ by more than 1: another numpy adds in another order."""

KNOWN = ("rule", "decision", "reversal", "fact", "who", "state")
"""Labels of what has to be known later; marked stretches of a chat count as such."""
OTHER = ("talk", "idle", "ack", "log")
LEFT_OUT = "request"
"""A label that is not learned: whether a request has to be known depends on whether it was done."""
LEAST, SHARE = 4, 0.1
"""Characters, and share of a sentence, that have to be marked for it to count as marked: a comma is no stretch."""

LANGUAGES = {
    "en": "English",
    "formal": "English, formal",
    "plain": "plain words, several languages",
    "about": "of the user, several languages",
    "works": "stories, tasks and projects, several languages",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}
"""Names of the languages, by the letters that a file's name begins with; another name stands for itself."""

BIAS = place("d", "bias")
_END = re.compile(r"(?<=[.!?。！？…])\s*")  # noqa: RUF001 - ends of sentences in Chinese and Japanese
_MARK = re.compile(r"(\[\[|\]\]|\{\{|\}\})")
_PAIRS = {"[[": "]]", "{{": "}}"}


class Sentence(NamedTuple):
    """A sentence to learn from.

    Attributes:
        file: the file's folder and name.
        text: the sentence.
        label: that of the line; in a chat "known" or "other".
    """

    file: str
    text: str
    label: str

    @property
    def known(self) -> bool:
        """Whether it has to be known later."""
        return self.label == "known" or self.label in KNOWN

    @property
    def language(self) -> str:
        """The language by its name."""
        name = re.split("[^a-z]", self.file.partition("/")[2])[0]
        return LANGUAGES.get(name, name)


def read(folder: Path = TEXTS) -> list[Sentence]:
    """Return all sentences, in the order of the files' names: those of chats first."""
    found: list[Sentence] = []
    for path in sorted(folder.glob("chats/*.txt")):
        for chat in chats(path.read_text(encoding="utf-8")):
            said = (text for who, text in chat if who == "U")
            found += [
                Sentence(f"chats/{path.name}", text, "known" if known else "other")
                for marked in said
                for text, known in sentences(marked)
            ]
    for path in sorted(folder.glob("sentences/*.tsv")):
        rows = labelled(path.read_text(encoding="utf-8"))
        found += [Sentence(f"sentences/{path.name}", text, label) for label, text in rows]
    return found


def labelled(file: str) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line.

    Raises:
        ValueError: a line has no known label, or no text.
    """
    for number, line in enumerate(file.splitlines(), 1):
        label, _, text = line.partition("\t")
        if label not in {*KNOWN, *OTHER, LEFT_OUT} or not text.strip() or "\t" in text:
            raise ValueError(f"line {number}: want a known label, a tab and a text, got {line!r}")
        yield label, text


def chats(file: str) -> list[list[tuple[str, str]]]:
    """Return who speaks, U or A, and the text of each line, chat by chat.

    Raises:
        ValueError: a line is neither ``#`` nor a speaker's, or a chat does not alternate from U to U.
    """
    found: list[list[tuple[str, str]]] = []
    for number, line in enumerate(file.splitlines(), 1):
        if line == "#":
            found.append([])
        elif line[:3] in {"U: ", "A: "} and found:
            found[-1].append((line[0], line[3:].strip()))
        else:
            raise ValueError(f"line {number}: want '#', 'U: text' or 'A: text', got {line!r}")
    for number, chat in enumerate(found, 1):
        speakers = "".join(who for who, _ in chat)
        if not re.fullmatch("U(AU)*", speakers):
            raise ValueError(f"chat {number}: want U and A in turn, from U to U, got {speakers!r}")
    return found


def sentences(marked: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence of a message, and whether enough of it is marked."""
    text, inside = unmarked(marked)
    start = 0
    for end in [*_END.finditer(text), None]:
        stop = end.start() if end else len(text)
        if text[start:stop].strip():
            yield text[start:stop].strip(), sum(inside[start:stop]) >= max(LEAST, SHARE * (stop - start))
        start = end.end() if end else stop


def unmarked(marked: str) -> tuple[str, list[bool]]:
    """Return a text without its marks, and whether each character stands inside of some.

    Raises:
        ValueError: a mark is not closed, or not open.
    """
    text, inside, closing = "", list[bool](), ""
    for part in _MARK.split(marked):
        if not _MARK.fullmatch(part):
            text += part
            inside += [bool(closing)] * len(part)
        elif closing != (part if part in _PAIRS.values() else ""):
            raise ValueError(f"want marks in pairs, got {part!r} in {marked!r}")
        else:
            closing = _PAIRS.get(part, "")
    if closing:
        raise ValueError(f"want {closing!r} before the end of {marked!r}")
    return text, inside


class Matrix(NamedTuple):
    """Features of sentences, row after row.

    Attributes:
        places: the place of each feature.
        values: what it counts.
        starts: where each row begins, and the end.
    """

    places: Ints
    values: Floats
    starts: Ints

    def rows(self, at: Ints) -> Matrix:
        """Return some of the rows."""
        sizes = np.diff(self.starts)[at]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.repeat(self.starts[at] - starts[:-1], sizes) + np.arange(starts[-1])
        return Matrix(self.places[cells], self.values[cells], starts)

    def scores(self, weights: Floats, bias: float) -> Floats:
        """Return the score of each row, above 0 if it rather has to be known."""
        number = len(self.starts) - 1
        row = np.repeat(np.arange(number), np.diff(self.starts))
        sums = np.bincount(row, weights=self.values * weights[self.places], minlength=number)
        return sums.astype(np.float64) + bias


def features(texts: Sequence[str]) -> Matrix:
    """Return the features of texts; the bias is learned apart from them."""
    places: list[int] = []
    values: list[float] = []
    starts = [0]
    for text in texts:
        words, rest = pieces(text), [at for at in worth.marked(text) if at != BIAS]
        places += words + rest
        values += [max(len(words), 1) ** -0.5] * len(words) + [MARK] * len(rest)
        starts.append(len(places))
    return Matrix(np.array(places), np.array(values), np.array(starts))


def fit(matrix: Matrix, known: Bools) -> tuple[Floats, float]:
    """Return the weights and the bias that tell the known rows from the others."""
    share = np.where(known, BALANCE / known.sum(), (1 - BALANCE) / (~known).sum())
    row = np.repeat(np.arange(len(known)), np.diff(matrix.starts))
    weights, bias = np.zeros(SIZE), 0.0
    squares, bias_squares = np.full(SIZE, FIRST), FIRST
    for _ in range(STEPS):
        error = (1 / (1 + np.exp(-matrix.scores(weights, bias))) - known) * share
        slope = np.bincount(matrix.places, weights=matrix.values * error[row], minlength=SIZE) + L2 * weights
        squares += slope**2
        weights -= RATE * slope / np.sqrt(squares)
        bias_squares += error.sum() ** 2
        bias -= RATE * error.sum() / bias_squares**0.5
    return weights, float(bias)


def quantized(weights: Floats, bias: float) -> NDArray[np.int8]:
    """Return the weights as the core reads them: signed bytes, the bias as that of a mark."""
    whole = weights.copy()
    whole[BIAS] += bias / MARK
    return np.clip(np.round(whole * UNIT), -127, 127).astype(np.int8)


def left_out(matrix: Matrix, found: Sequence[Sentence]) -> Floats:
    """Return the score of each sentence by the weights that are learned without its file and a fifth of the others."""
    files = sorted({one.file for one in found})
    fold = np.array([files.index(one.file) % FOLDS for one in found])
    known = np.array([one.known for one in found])
    scores = np.zeros(len(found))
    for number in range(FOLDS):
        rest, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        scores[out] = matrix.rows(out).scores(*fit(matrix.rows(rest), known[rest]))
    return scores


def area(scores: Floats, known: Bools) -> float:
    """Return the area under the ROC curve: how often a known one is above another one; a tie is half of it."""
    others = np.sort(scores[~known])
    below = np.searchsorted(others, scores[known], "left") + np.searchsorted(others, scores[known], "right")
    return float(below.mean() / 2 / len(others))


def precision(scores: Floats, known: Bools) -> float:
    """Return the average precision: the share of known ones among all from each known one's score up."""
    ours, every = np.sort(scores[known]), np.sort(scores)
    return float(np.mean((len(ours) - np.searchsorted(ours, ours)) / (len(every) - np.searchsorted(every, ours))))


def counts(found: Sequence[Sentence]) -> str:
    """Return the tables of how many sentences there are, by folder, language and label."""
    tables = []
    languages = dict.fromkeys([*LANGUAGES.values(), *(one.language for one in found)])
    for folder, labels in (("sentences", (*KNOWN, *OTHER, LEFT_OUT)), ("chats", ("known", "other"))):
        rows = Counter((one.language, one.label) for one in found if one.file.startswith(folder))
        lines = [f"| {folder} | {' | '.join(labels)} |", "|---|" + "--:|" * len(labels)]
        for language in languages:
            cells = [rows[language, label] for label in labels]
            lines += [f"| {language} | {' | '.join(f'{cell:,}' for cell in cells)} |"] * any(cells)
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def validation(matrix: Matrix, found: Sequence[Sentence]) -> str:
    """Return the table of the cross validation, on chats alone."""
    scores = left_out(matrix, found)
    lines = ["| left-out chats | sentences | known | ROC AUC | average precision |", "|---|--:|--:|--:|--:|"]
    for name, english in (("English", True), ("other languages", False)):
        here = [one.file.startswith("chats") and (one.language == "English") == english for one in found]
        known = np.array([one.known for one in found])[here]
        values = f"{area(scores[here], known):.3f} | {precision(scores[here], known):.3f}"
        lines.append(f"| {name} | {len(known):,} | {known.mean():.1%} | {values} |")
    return "\n".join(lines)


def check(learned: NDArray[np.int8]) -> int:
    """Print how many of the committed weights are others; return 1 if too many are."""
    committed = np.fromfile(WEIGHTS, dtype=np.int8)
    if len(committed) != SIZE:
        print(f"{WEIGHTS.name}: want {SIZE:,} weights, got {len(committed):,}")
        return 1
    share = float(np.mean(np.abs(learned.astype(int) - committed) > 1))
    print(f"{share:.2%} of the committed weights differ by more than 1; {MAY_DIFFER:.1%} may")
    return int(share > MAY_DIFFER)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed weights, and write nothing")
    options = parser.parse_args()
    found = read()
    used = [one for one in found if one.label != LEFT_OUT]
    matrix = features([one.text for one in used])
    learned = quantized(*fit(matrix, np.array([one.known for one in used])))
    if options.check:
        return check(learned)
    print(counts(found))
    print(f"\n{np.count_nonzero(learned):,} of {SIZE:,} weights are not zero\n")
    print(validation(matrix, used))
    learned.tofile(WEIGHTS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
