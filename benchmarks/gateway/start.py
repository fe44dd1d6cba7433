"""The time until a command answers, and its processor time: `python -m benchmarks.gateway.start`."""

from __future__ import annotations

import compileall
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.table import Row, show

ROOT = Path(__file__).parents[2]
ROUNDS = 7


def answer_s(*arguments: str) -> float:
    """The best time of a Python process, from its start to its end, bytecode written before."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - begun)
    return best


def processor_s(*arguments: str) -> float:
    """The least that a Python process takes of the processor, from its start to its end."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def run() -> list[Row]:
    """All figures."""
    compileall.compile_dir(str(ROOT / "gateway"), quiet=1)
    help_s, settings_s = answer_s("-m", "gateway", "--help"), answer_s("-c", "import gateway.settings.tree")
    floor_s, floor_cpu_s = answer_s("-c", "pass"), processor_s("-c", "pass")
    check = ("-m", "gateway", "check", str(ROOT / "examples" / "order_helper.pb"))
    return [
        Row("parley --help", help_s, "s", floor_s, "python -c pass", "< 0.5 s"),
        Row(
            "the same, of the processor",
            processor_s("-m", "gateway", "--help"),
            "s",
            floor_cpu_s,
            "the same",
            "< 0.2 s",
        ),
        Row("parley check FILE, of the processor", processor_s(*check), "s", floor_cpu_s, "the same"),
        Row("import of the settings", settings_s, "s", floor_s, "python -c pass"),
    ]


if __name__ == "__main__":
    print(show(run()))
