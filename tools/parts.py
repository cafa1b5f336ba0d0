"""Run targets of the Makefile one after another, and print a line with seconds for each: ``make test``, ``.ci/run``.

It stops at the first part that fails and prints its last 40 lines. ``fuzz-short+adapters-few`` runs two side by side.
On a terminal the output of a part is shown as it comes; otherwise its last line alone. It is kept in ``target/parts/``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "target" / "parts"
LAST_LINES = 40

OTHERS = {"ARGS", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"}
"""Variables of the make that started this program: a part with its ``ARGS`` would run something else, or nothing."""


class Part:
    """A running target, whose output goes to a file."""

    def __init__(self, target: str) -> None:
        self.target, self.began = target, time.monotonic()
        self.log = KEPT / f"{target.strip('./').replace('/', '-')}.log"
        with self.log.open("wb") as log:
            command = ["make", "--no-print-directory", target]
            env = {name: value for name, value in os.environ.items() if name not in OTHERS}
            self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)

    def lines(self) -> list[str]:
        """Return the lines of the output that are not blank."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]

    def tell(self) -> bool:
        """Print how the part ended; return whether it passed."""
        lines, seconds = self.lines(), time.monotonic() - self.began
        if self.process.returncode:
            print("\n".join(lines[-LAST_LINES:]))
        elif lines:
            print(lines[-1])
        print(f"{self.target}: {'FAILED' if self.process.returncode else 'passed'} in {seconds:.0f} s", flush=True)
        return not self.process.returncode

    def stop(self) -> None:
        """End the part and what it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


def together(targets: list[str]) -> bool:
    """Run targets side by side until all have passed or one has failed; return whether all passed."""
    running, shown = [Part(target) for target in targets], 0
    try:
        passed = True
        while running and passed:
            time.sleep(0.2)
            if sys.stdout.isatty() and len(targets) == 1:
                text = running[0].log.read_text(errors="replace")
                print(text[shown:], end="", flush=True)
                shown = len(text)
            for part in [part for part in running if part.process.poll() is not None]:
                running.remove(part)
                passed &= part.tell()
        return passed
    finally:
        for part in running:
            part.stop()


def main() -> int:
    KEPT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for step in sys.argv[1:]:
        if not together(step.split("+")):
            return 1
    print(f"all of {', '.join(sys.argv[1:])}: {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
