"""Settings of all tests: the shared folder, seeded examples, and tiktoken without a network."""

import base64
import hashlib
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from support.ctok import load_ctok

SHARED = Path(__file__).parents[2] / "shared"
MOST_SKIPPED = 1 / 5

settings.register_profile("trimtab", derandomize=True, deadline=None, database=None, print_blob=False)
settings.load_profile("trimtab")

# A shell that starts us in the background has interrupts ignored, and the programs under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test reads or writes what the user of this machine has archived: a test that names no folder gets a new one.
_HOME = tempfile.TemporaryDirectory(prefix="trimtab-tests-")
os.environ["TRIMTAB_HOME"] = _HOME.name

# Commands under test print for a pipe, which has no width: runners of tests set one for their own lines.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def shared():
    """The folder of sessions and conformance cases beside the project; tests that use it are marked ``shared``."""
    return SHARED


def pytest_collection_modifyitems(items):
    if not SHARED.exists():
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(pytest.mark.skip(reason="needs ../shared, which is not part of the project"))


def _skipped(stats):
    """How many of the tests marked shared were skipped, and how many there are."""
    kinds = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
    found = {kind: {r.nodeid for r in stats.get(kind, ()) if "shared" in getattr(r, "keywords", ())} for kind in kinds}
    return len(found["skipped"]), len(set().union(*found.values()))


def pytest_terminal_summary(terminalreporter):
    skipped, of = _skipped(terminalreporter.stats)
    if of:
        terminalreporter.write_line(f"skipped for want of ../shared: {skipped} of {of} shared tests")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    """A run whose cases are there but are not looked at is a failure, not a success."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped, of = _skipped(reporter.stats) if reporter else (0, 0)
    if SHARED.exists() and skipped > of * MOST_SKIPPED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def ctok():
    """The package whose counts ours must equal."""
    return load_ctok() or pytest.skip("needs the wheel of ctok, which make .venv/dev fetches")


@pytest.fixture(scope="session")
def tiktoken_encoding(tmp_path_factory):
    """tiktoken's encoding of a name, read from our own vocabulary; that it is the published one is asserted here."""
    import tiktoken
    import tiktoken_ext.openai_public

    from trimtab._core import Counter

    folder = tmp_path_factory.mktemp("tiktoken")

    def published(name):
        """Address and digest of the published file, as tiktoken asks for it; nothing is fetched."""
        asked = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                tiktoken_ext.openai_public,
                "load_tiktoken_bpe",
                lambda address, expected_hash: asked.update(address=address, digest=expected_hash) or {},
            )
            getattr(tiktoken_ext.openai_public, name)()
        return asked["address"], asked["digest"]

    def encoding(name):
        address, digest = published(name)
        tokens = Counter(name).vocabulary(name)
        data = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
        assert hashlib.sha256(data).hexdigest() == digest
        (folder / hashlib.sha1(address.encode()).hexdigest()).write_bytes(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
            return tiktoken.get_encoding(name)

    return encoding


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server; there is one on every machine that has the dev packages."""
    from support.postgres import Server, binaries

    server = Server(binaries())
    yield server
    server.stop()
