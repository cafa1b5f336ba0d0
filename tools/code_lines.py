"""Print the lines of Python code of each package, without blank lines, comments and docstrings."""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    """Return the number of lines with at least one token of code."""
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(path.read_bytes())):
        # A string that stands alone documents the definition around it or the constant above it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def main(root: Path) -> None:
    """Print a row for each package and the total."""
    counts = Counter[str]()
    for path in root.rglob("*.py"):
        package = path.relative_to(root).parts[0]
        counts[package if not package.endswith(".py") else "(root)"] += code_lines(path)
    for package, count in sorted(counts.items()):
        print(f"{package:12} {count:6,}")
    print(f"{'total':12} {counts.total():6,}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "python/trimtab"))
