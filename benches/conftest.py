"""Options and output of the benches that pytest-benchmark runs: ``make bench-NAME``, for ``test_NAME.py``.

Times are CPU time of the process, so that other work on the machine does not count. Each table is one comparison; the
number in brackets is the ratio to the fastest row.
"""

from __future__ import annotations

import os

import _rivals
import pytest

os.environ["TRIMTAB_THREADS"] = "1"  # before trimtab is imported, which reads it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--small", action="store_true", help="small inputs, to try the benches")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set what every table shows."""
    config.option.benchmark_timer = "time.process_time"
    config.option.benchmark_columns = ["median", "iqr", "min", "rounds"]
    config.option.benchmark_sort = "median"
    config.option.benchmark_warmup = True


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print machine and versions above the tables."""
    installed = ", ".join(f"{name} {version}" for name, version in _rivals.versions().items())
    terminalreporter.write_line(f"\n{_rivals.machine()}\n{installed}")


@pytest.fixture(scope="session")
def small(request: pytest.FixtureRequest) -> bool:
    """Whether the bench is only to be tried."""
    return bool(request.config.getoption("--small"))
