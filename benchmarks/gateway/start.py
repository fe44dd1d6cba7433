"""The time until a command answers, its processor time, and a gateway that is ready: `python -m
benchmarks.gateway.start`."""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, show

ROOT = Path(__file__).parents[2]
ROUNDS = 7
STARTS = 3
PROGRAM = ROOT / "examples" / "order_helper.pb"
_SETTINGS = {"PARLEY_PROGRAMS__SECOND_READER": "false", "PARLEY_LOGS__LEVEL": "warning"}


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


def gateway_at_rest() -> tuple[float, float]:
    """What a gateway took of the processor until it said that it runs (s), and its memory then (MB): the least of
    several starts."""
    found = [_one_start() for _ in range(STARTS)]
    return min(cpu_s for cpu_s, _ in found), min(memory for _, memory in found)


def _one_start() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gateway", "run", "--port", "0", "--data-dir", folder, str(PROGRAM)]
        environment, silent = {**os.environ, **_SETTINGS}, subprocess.DEVNULL
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=silent
        ) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if "is running" in line)
            own = Path(f"/proc/{process.pid}")
            ticks = sum(map(int, (own / "stat").read_text().rpartition(")")[2].split()[11:13]))
            pages = int((own / "statm").read_text().split()[1])
            process.terminate()
            process.communicate()
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run() -> list[Row]:
    """All figures."""
    for package in ("gateway", "adapters", "runtime"):
        compileall.compile_dir(str(ROOT / package), quiet=1)
    help_s, settings_s = answer_s("-m", "gateway", "--help"), answer_s("-c", "import gateway.settings.tree")
    floor_s, floor_cpu_s = answer_s("-c", "pass"), processor_s("-c", "pass")
    check = ("-m", "gateway", "check", str(PROGRAM))
    ready_s, memory_mb = gateway_at_rest()
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
        Row("gateway to ready, of the processor", ready_s, "s", floor_cpu_s, "the same", "< 1.5 s"),
        Row("its memory then", memory_mb, "MB", target="< 105 MB"),
    ]


if __name__ == "__main__":
    print(show(run()))
