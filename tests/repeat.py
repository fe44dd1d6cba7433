"""Repeat alone what failed beside others, as `python -m test --rerun` does for Python's own tests.

On a machine with few cores everything may stand still for seconds while three runs share it, and tests that start whole
processes notice. One that passes alone does not fail the run, but is printed with what to do: it is a defect, of the
test or of what it tests. Many failures, or one in a test that starts no process, are final.

    python -m tests.repeat FOLDER

FOLDER has a folder for each part of the run, with pytest's exit code in `status` once it has ended, and its cache in
`cache`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST = 5
WHOLE_PROCESSES = ("tests/e2e/", "tests/chaos/", "tests/contract/")
_PASSED, _FAILED, _LOST = 0, 1, -1


@dataclass(frozen=True, slots=True)
class Part:
    """How a part of the run ended: pytest's exit code, and the tests that failed."""

    status: int
    failed: tuple[str, ...] = ()


def parts_of(folder: Path) -> list[Part]:
    """What is told of each part in its folder."""
    return [_part(each) for each in sorted(folder.iterdir()) if each.is_dir()]


def _part(folder: Path) -> Part:
    status, kept = folder / "status", folder / "cache" / "v" / "cache" / "lastfailed"
    if not status.exists():
        return Part(_LOST)
    return Part(int(status.read_text()), tuple(json.loads(kept.read_text()) if kept.exists() else ()))


def final(parts: Sequence[Part]) -> str:
    """Why nothing is repeated; "" where it may be."""
    failed = [name for part in parts for name in part.failed]
    if not parts or any(
        part.status not in (_PASSED, _FAILED) or bool(part.status) != bool(part.failed) for part in parts
    ):
        return "A part of the run broke off."
    if alone := [name for name in failed if not name.startswith(WHOLE_PROCESSES)]:
        return f"These start no process that a busy machine could hold up: {', '.join(alone)}"
    return f"{len(failed)} tests failed, more than {MOST}." if len(failed) > MOST else ""


def judged(parts: Sequence[Part], repeat: Callable[[Sequence[str]], int], tell: Callable[[str], object]) -> int:
    """The exit code of the whole run, once what failed was repeated, if it may be."""
    failed = [name for part in parts for name in part.failed]
    reason = final(parts)
    if reason:
        tell(f"FAILED. {reason}\n")
        return _FAILED
    if not failed:
        return _PASSED
    tell(f"\n{'=' * 30} REPEATED ALONE {'=' * 30}\n")
    if repeat(failed) != _PASSED:
        tell("FAILED, repeated alone as well.\n")
        return _FAILED
    names = "".join(f"  {name}\n" for name in failed)
    tell(f"\nFAILED BESIDE OTHERS, passed alone; each is a defect to be found (its first traceback is above):\n{names}")
    return _PASSED


def _repeat(names: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *names], check=False).returncode


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(judged(parts_of(Path(sys.argv[1])), _repeat, _tell))
