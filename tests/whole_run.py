"""All tests at once, by a few more processes than there are cores; then alone what failed beside others.

On a machine with few cores everything may stand still for seconds while several processes share it, and tests that
start whole processes notice. One that passes alone does not fail the run, but is printed with what to do: it is a
defect, of the test or of what it tests. Many failures, or one in a test that starts no process, are final.

    python -m tests.whole_run
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from tests.spread import WHOLE_PROCESSES

MOST = 5
WAITING = 5
"""How many more processes than cores: tests of whole processes mostly wait."""

_PASSED, _FAILED = 0, 1
_TESTS = [sys.executable, "-m", "pytest"]


class Ended(Struct, frozen=True):
    """How a run ended: pytest's exit code, and the tests that failed."""

    status: int
    failed: tuple[str, ...] = ()


def ended_as(status: int, cache: Path) -> Ended:
    """The exit code with what pytest's cache tells of failures."""
    kept = cache / "v" / "cache" / "lastfailed"
    return Ended(status, tuple(json.loads(kept.read_text()) if kept.exists() else ()))


def final(run: Ended) -> str:
    """Why nothing is repeated; "" where it may be."""
    if run.status not in (_PASSED, _FAILED) or bool(run.status) != bool(run.failed):
        return "The run broke off."
    if alone := [name for name in run.failed if not name.startswith(WHOLE_PROCESSES)]:
        return f"These start no process that a busy machine could hold up: {', '.join(alone)}"
    return f"{len(run.failed)} tests failed, more than {MOST}." if len(run.failed) > MOST else ""


def judged(run: Ended, repeat: Callable[[Sequence[str]], int], tell: Callable[[str], object]) -> int:
    """The exit code of the whole, once what failed was repeated, if it may be."""
    reason = final(run)
    if reason:
        tell(f"FAILED. {reason}\n")
        return _FAILED
    if not run.failed:
        return _PASSED
    tell(f"\n{'=' * 30} REPEATED ALONE {'=' * 30}\n")
    if repeat(run.failed) != _PASSED:
        tell("FAILED, repeated alone as well.\n")
        return _FAILED
    names = "".join(f"  {name}\n" for name in run.failed)
    tell(f"\nFAILED BESIDE OTHERS, passed alone; each is a defect to be found (its first traceback is above):\n{names}")
    return _PASSED


def _run(*options: str) -> int:
    """The exit code of pytest. Where this process is asked to end, all that pytest has begun are asked too."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen([*_TESTS, *options], env=environment, start_new_session=True) as running:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os.killpg(running.pid, signal.SIGINT))
        return running.wait()


def _all_at_once(cache: Path) -> Ended:
    processes = (os.cpu_count() or 1) + WAITING
    spread = ("-p", "tests.copies", f"--copies={processes}")
    return ended_as(_run(*spread, "-o", f"cache_dir={cache}", "--durations=40"), cache)


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(judged(_all_at_once(Path(folder)), lambda names: _run(*names), _tell))
