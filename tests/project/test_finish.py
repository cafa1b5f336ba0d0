"""A finished wheel has nothing of the machine that built it."""

import base64
import hashlib
import json
import zipfile
from pathlib import Path

import pytest

import finish

NAMES = ("trimtab/__init__.py", "trimtab-1.dist-info/sboms/trimtab.cyclonedx.json", "trimtab-1.dist-info/RECORD")
EPOCH = 1_700_000_000


def listed(folder: str, *, number: str, time: str) -> bytes:
    ours = {"bom-ref": f"path+file://{folder}/rust/core#trimtab-core@0.1.0", "purl": "pkg:cargo/trimtab-core@0.1.0"}
    theirs = {"bom-ref": "registry+https://example.org/index#memchr@2.7.6"}
    body = {"serialNumber": f"urn:uuid:{number}", "metadata": {"timestamp": time}, "components": [ours, theirs]}
    return json.dumps(body).encode()


def wheel(path: Path, contents: bytes, time: tuple[int, ...]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in zip(NAMES, (b"text", contents, b"old"), strict=True):
            entry = zipfile.ZipInfo(name, time)  # type: ignore[arg-type]
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, data)
    return path


def test_two_builds_of_two_folders_are_one_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(EPOCH))
    one = wheel(tmp_path / "a.whl", listed("/a", number="1", time="2026-01-01T00:00:00.1Z"), (2026, 1, 1, 0, 0, 0))
    two = wheel(tmp_path / "b.whl", listed("/D:/b/c", number="2", time="2026-02-02T00:00:00Z"), (2026, 2, 2, 0, 0, 0))
    finish.finish(one)
    finish.finish(two)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as file:
        assert tuple(file.namelist()) == NAMES
        made, table = json.loads(file.read(NAMES[1])), file.read(NAMES[2]).decode().splitlines()
        assert {entry.external_attr >> 16 for entry in file.infolist()} == {0o100644}
        assert {entry.date_time for entry in file.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        for line in table[:-1]:
            name, digest, size = line.split(",")
            data = file.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={found}", str(len(data)))
        assert table[-1] == f"{NAMES[2]},,"
    assert made["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert [each["bom-ref"] for each in made["components"]] == [
        "path+file:///trimtab/rust/core#trimtab-core@0.1.0",
        "registry+https://example.org/index#memchr@2.7.6",
    ]


def test_a_path_that_is_not_ours_is_refused() -> None:
    with pytest.raises(SystemExit, match="a path of this machine is in the list of contents: path"):
        finish.contents(b'{"metadata": {}, "components": [{"bom-ref": "path+file:///home/me/other#x@1"}]}', EPOCH)
