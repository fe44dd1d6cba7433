"""What a run of tests leaves out, which it says at its end, and in which order several processes take the rest.

Tests with a Cluster or Sentinels are left out of a run of all tests where neither the last commits nor open changes
touched what keeps data there. A run of some tests, and `make test ALL=1`, leave none out.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.sampling import sample
from tests.spread import file_of, record, recorded, spread

COMMITS = 20

KEEPING = (
    "runtime/storage/redis",
    "runtime/storage/encoding",
    "runtime/stores",
    "gateway/cluster",
    "requirements.txt",
    "tests/contract/redis",
    "tests/contract/stores",
    "tests/contract/setups.py",
    "tests/e2e/nodes",
    "tests/fakes/servers",
)
"""What keeps data in Redis, what shares it among nodes, and their tests."""

_ROOT = Path(__file__).parents[1]
_SERVERS = "several_servers"


class Selection:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self._left_out = 0
        self._seconds: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out, and put in order."""
        if not config.getoption("copies", 0):
            return
        kept = [item for item in items if not item.get_closest_marker(_SERVERS)]
        if len(kept) < len(items) and not sample().is_whole and are_untouched(_ROOT):
            self._left_out = len(items) - len(kept)
            items[:] = kept
        files = spread(dict.fromkeys(file_of(item.nodeid) for item in items), recorded())
        places = {file: place for place, file in enumerate(files)}
        items.sort(key=lambda item: places[file_of(item.nodeid)])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up how long files take."""
        self._seconds[file_of(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what this run left out."""
        if told := sample().told():
            terminalreporter.write_line(told)
        if self._left_out:
            terminalreporter.write_line(
                f"Left out: {self._left_out} tests with a Cluster or Sentinels, because the last {COMMITS} commits and "
                f"open changes touch nothing of {', '.join(KEEPING)}. make test ALL=1 runs them too."
            )
        if os.environ.get("TESTS_RECORD"):
            record(self._seconds)


def are_untouched(checkout: Path) -> bool:
    """Whether nothing of `KEEPING` is changed; not where that cannot be known."""
    asked = (
        ("git", "-C", str(checkout), "diff", "--name-only", f"HEAD~{COMMITS}", "--", *KEEPING),
        ("git", "-C", str(checkout), "ls-files", "--others", "--exclude-standard", "--", *KEEPING),
    )
    try:
        return not any(subprocess.check_output(each, stderr=subprocess.DEVNULL) for each in asked)
    except (OSError, subprocess.CalledProcessError):
        return False
