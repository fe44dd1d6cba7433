"""How long a command takes to answer: `python -m benchmarks.start`."""

from __future__ import annotations

import compileall
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.table import Row, show

ROOT = Path(__file__).parents[1]
ROUNDS = 7


def answer_s(*arguments: str) -> float:
    """The best time of a Python process, from its start to its end, bytecode written before."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - begun)
    return best


def run() -> list[Row]:
    """All figures."""
    compileall.compile_dir(str(ROOT / "gateway"), quiet=1)
    help_s, settings_s = answer_s("-m", "gateway", "--help"), answer_s("-c", "import gateway.settings")
    floor_s = answer_s("-c", "pass")
    return [
        Row("parley --help", help_s, "s", floor_s, "python -c pass", "< 0.5 s"),
        Row("import of the settings", settings_s, "s", floor_s, "python -c pass"),
    ]


if __name__ == "__main__":
    print(show(run()))
