"""Print how large and how deep the house is: lines, files, classes, and what a call of each kind enters.

Calls are those of Python functions of the package, told by the profiler. Run it in the project's folder, with the
package installed: ``python tools/house.py``.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trimtab
from code_lines import code_lines
from trimtab.cli import main as command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python" / "trimtab"
PACKAGE = Path(trimtab.__file__).parent
BELOW = re.compile(r"from trimtab\.(?!adapters\.)\w+\.\w+|from trimtab import _|_core")
"""An import from below the door: of a module inside a package, or of what is private."""
SMALL_FILE = 25
"""Lines of code up to which a file is small."""
LONG = 40
"""Lines of code above which a function is long."""


@dataclass(slots=True)
class Walk:
    """What a call enters: functions, files, the deepest place, changes from one file to another."""

    calls: int = 0
    files: set[str] = field(default_factory=set)
    depth: int = 0
    changes: int = 0
    core: Counter[str] = field(default_factory=Counter)
    _last: str = ""
    _deep: int = 0

    def __call__(self, frame: FrameType, event: str, what: Any) -> None:
        """Note an event of the profiler."""
        name = frame.f_code.co_filename
        if event == "c_call" and (getattr(what, "__module__", "") or "").startswith("trimtab"):
            self.core[what.__name__] += 1
        if not name.startswith(str(PACKAGE)):
            return
        if event == "call":
            self._deep += 1
            self.calls += 1
            self.depth = max(self.depth, self._deep)
            self.files.add(name)
            self.changes += name != self._last
            self._last = name
        elif event == "return":
            self._deep -= 1


def walked(call: Callable[[], object]) -> Walk:
    """Return what a call enters."""
    walk = Walk()
    sys.setprofile(walk)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walk


def messages(count: int) -> list[dict[str, Any]]:
    """Return a list of calls and their results, in Anthropic's shape."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Mend the parser, and run its tests."}]
    for n in range(count // 2):
        use = {"type": "tool_use", "id": f"toolu_{n:05}", "name": "Bash", "input": {"command": f"make test_{n}"}}
        said = {"type": "text", "text": f"Step {n}: the parser reads file_{n}.py, and I look at what it says."}
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": f"file_{n}.py: line {n} is read. " * 40}
        found += [{"role": "assistant", "content": [said, use]}, {"role": "user", "content": [result]}]
    return found


def walks() -> Iterator[tuple[str, Walk]]:
    """Yield what the calls of a session, and a command, enter; each was made once before."""
    for _ in range(2):  # what the first call imports is no part of it
        rows = dict(_walks())
    yield from rows.items()


def _walks() -> Iterator[tuple[str, Walk]]:
    given = messages(60)
    session = trimtab.Compactor("claude-sonnet-4-5").session("a")
    yield "fit, first", walked(lambda: session.fit(given))
    yield "fit, same list", walked(lambda: session.fit(given))
    more = [*given, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    yield "fit, one turn more", walked(lambda: session.fit(more))
    yield "record", walked(lambda: session.record({"input_tokens": 15_000, "output_tokens": 40}))
    small = trimtab.Compactor("claude-sonnet-4-5", window=20_000, max_output=2_000).session("b")
    yield "fit that compacts 61 messages", walked(lambda: small.fit(given))
    cm = trimtab.Compactor("claude-sonnet-4-5")
    yield "compact(target_share=0.4)", walked(lambda: cm.session("c").compact(given, target_share=0.4))
    yield "plan", walked(lambda: cm.session("d").plan(given, target_share=0.4))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "example.jsonl"
        file.write_bytes((PACKAGE / "formats" / "example.jsonl").read_bytes())
        for verb in ("count", "plan"):
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                yield f"trimtab {verb} of the example", walked(partial(command, [verb, str(file)]))


def code() -> Iterator[tuple[str, object]]:
    """Yield the figures of the source."""
    files = {path: code_lines(path) for path in sorted(PYTHON.rglob("*.py"))}
    trees = {path: ast.parse(path.read_bytes()) for path in files}
    texts = {path: path.read_text() for path in files}
    yield "Python: lines of code", sum(files.values())
    yield "Python: files", len(files)
    yield f"Python: files of {SMALL_FILE} lines or less", sum(lines <= SMALL_FILE for lines in files.values())
    classes = Counter[str]()
    fields: list[tuple[int, str]] = []
    parameters: list[tuple[int, str]] = []
    lengths: list[tuple[int, str]] = []
    for path, tree in trees.items():
        source = texts[path].splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
                fields.append((sum(isinstance(each, ast.AnnAssign) for each in node.body), node.name))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(each.arg not in {"self", "cls"} for each in given)
                parameters.append((count, f"{path.stem}.{node.name}"))
                lengths.append((body_lines(node, source), f"{path.stem}.{node.name}"))
    yield "most fields of a class", max(fields)
    yield "most parameters of a function", sorted(parameters)[-3:]
    yield "most lines of a function", max(lengths)
    yield f"functions of more than {LONG} lines", sum(length > LONG for length, _ in lengths)
    yield "class names used twice", sorted(name for name, times in classes.items() if times > 1 and name[0] != "_")
    yield "public names", len(trimtab.__all__)
    yield "late imports", sum(text.count("PLC0415") for text in texts.values())
    yield "hasattr", {str(p.relative_to(PYTHON)): n for p, text in texts.items() if (n := text.count("hasattr("))}
    yield "late or loose: getattr", sum(text.count("getattr(") for text in texts.values())
    yield "Rust: lines without tests and comments", sum(map(rust_lines, (ROOT / "rust").rglob("*.rs")))
    yield "Rust: lines of the border", sum(map(rust_lines, (ROOT / "rust/python/src").rglob("*.rs")))
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if "trimtab" in path.read_text()]
    deep = [
        path for path in tests if re.search(r"from trimtab\.\w+\.\w+|from trimtab\.? ?import _|_core", path.read_text())
    ]
    yield "test files that reach below the door", f"{len(deep)} of {len(tests)}"
    yield (
        "files and folders in the root",
        len([each for each in ROOT.iterdir() if each.name[0] != "." and each.is_file()]),
    )


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> int:
    """Return the lines of a function's body without its docstring, blank lines and comments."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if not body:
        return 0
    lines = source[body[0].lineno - 1 : node.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def rust_lines(path: Path) -> int:
    """Return the lines of a Rust file without blank lines, comments, and its tests behind the rest."""
    if path.name == "tests.rs" or "tests" in path.parts:
        return 0
    text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


def main() -> None:
    """Print both tables."""
    print(f"{'':34}{'calls':>8}{'files':>7}{'depth':>7}{'changes':>9}{'core':>6}")
    for name, walk in walks():
        size = f"{walk.calls:8,}{len(walk.files):7}{walk.depth:7}{walk.changes:9,}{walk.core.total():6,}"
        print(f"{name:34}{size}  {', '.join(f'{n} {what}' for what, n in walk.core.most_common(3))}")
    print()
    for name, value in code():
        print(f"{name:44} {value:,}" if isinstance(value, int) else f"{name:44} {value}")


if __name__ == "__main__":
    main()
