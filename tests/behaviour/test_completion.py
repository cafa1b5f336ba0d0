"""The scripts of ``trimtab completion``, in the shells that the machine has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.command import run

BASH = """source ./script
COMP_WORDS=({words} '{now}'); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _trimtab; printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ZSH = """compdef() {{ }}
compadd() {{ shift; printf '%s\\n' $@; }}
_describe() {{ printf '%s\\n' ${{told%%:*}}; }}
_files() {{ print -l *; }}
source ./script
words=({words} '{now}'); CURRENT=$#words; _trimtab
"""

FISH = "source ./script; complete -C '{words} {now}' | string split -f1 \\t"

SHELLS = {"bash": ["bash", "-c", BASH], "zsh": ["zsh", "-f", "-c", ZSH], "fish": ["fish", "--no-config", "-c", FISH]}

CASES = {
    ("trimtab", "co"): {"count", "compact", "completion"},
    ("trimtab archive", "s"): {"show", "search"},
    ("trimtab archive list", "--"): {"--archive", "--help", "--json"},
    ("trimtab count --format", "co"): {"codex", "copilot_cli"},
    ("trimtab compact s.json -o", "scr"): {"script"},
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_verbs_actions_options_values_and_files(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    monkeypatch.chdir(tmp_path)
    Path("script").write_text(run("completion", shell).stdout)
    for (words, now), wanted in CASES.items():
        *command, code = SHELLS[shell]
        done = subprocess.run(
            [*command, code.format(words=words, now=now)], capture_output=True, text=True, check=False
        )
        found = {line.strip() for line in done.stdout.splitlines()}
        if shell == "zsh":  # it filters by the word itself
            found = {line for line in found if line.startswith(now)}
        assert wanted <= found, (words, now, done.stdout, done.stderr)
        assert all(line.startswith(now) for line in found if line), (words, now)
