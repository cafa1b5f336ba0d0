"""The data that the tables are made from is what its publishers say."""

import gzip
import hashlib
import importlib.util
from pathlib import Path

DATA = Path(__file__).parents[2] / "rust" / "tokens" / "data"
SPEC = importlib.util.spec_from_file_location("rebuild", DATA / "rebuild.py")
rebuild = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rebuild)


def test_the_rank_files_are_the_published_ones():
    found = {file.name: gzip.decompress(file.read_bytes()) for file in DATA.glob("*.tiktoken.gz")}
    digests = {name.removesuffix(".tiktoken.gz"): hashlib.sha256(data).hexdigest() for name, data in found.items()}
    assert digests == rebuild.PUBLISHED


def test_each_code_point_has_the_class_that_the_installed_tiktoken_sees():
    assert rebuild.classes() == (DATA / "classes.txt").read_text()
