"""Every figure in one table: `python -m benchmarks [--full | NAME…]` says beforehand how long each part takes."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.table import Row, show

MOST_S = 600
"""What is measured without `--full` takes no longer together, on two quiet cores."""


class Part(Struct, frozen=True):
    """A module below this folder with a `run`: how long it takes on two quiet cores, and whether only `--full` has it.

    The times are measured, rounded up.
    """

    seconds: int
    full: bool = False


PARTS: Mapping[str, Part] = {
    "bus": Part(10),
    "cluster": Part(120, full=True),
    "console": Part(20),
    "durable_messages": Part(10),
    "execution": Part(10),
    "fallbacks": Part(10),
    "frames": Part(40),
    "freshness": Part(30),
    "inbound": Part(15),
    "language": Part(10),
    "meetings": Part(45),
    "memories": Part(5),
    "model_chats": Part(30),
    "model_stream": Part(40),
    "notebooks": Part(20),
    "observing": Part(5),
    "pages": Part(40),
    "photos": Part(5),
    "routing": Part(5),
    "scale": Part(600, full=True),
    "start": Part(30),
    "storage": Part(30),
    "tapes": Part(15),
    "talks": Part(10),
    "tasks": Part(15),
}


def wanted(asked: Sequence[str]) -> list[str]:
    """The parts that are asked for by name; without names the short ones, or all with `--full`."""
    names = [name for name in asked if name != "--full"]
    if unknown := set(names) - PARTS.keys():
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    return names or [name for name, part in PARTS.items() if "--full" in asked or not part.full]


def modules() -> dict[str, str]:
    """The full name of each module in the folders beside this one, by its own name."""
    here = [str(Path(__file__).parent)]
    found = [entry.name for entry in pkgutil.walk_packages(here, "benchmarks.") if not entry.ispkg]
    return {name.rpartition(".")[2]: name for name in found}


def runnable() -> set[str]:
    """The modules below this folder that measure: each has a `run` that returns rows."""
    loaded = {name: importlib.import_module(path) for name, path in modules().items() if not name.startswith("__")}
    runs = {name: vars(module).get("run") for name, module in loaded.items()}
    return {name for name, run in runs.items() if run and run.__module__ == loaded[name].__name__}


def plan(names: Sequence[str]) -> str:
    """What will be measured, and how long that takes."""
    lines = [f"  {name:14}{PARTS[name].seconds:5} s" for name in names]
    total_s = sum(PARTS[name].seconds for name in names)
    long = [name for name, part in PARTS.items() if part.full and name not in names]
    more = [f"Left out: {', '.join(long)}. `make bench FULL=1` has everything."] if long else []
    head = f"{len(names)} parts, about {max(1, round(total_s / 60))} minutes on two quiet cores:"
    return "\n".join([head, *lines, *more])


def main() -> None:
    """Say what comes, measure one part after the other, then print the table."""
    names = wanted(sys.argv[1:])
    print(plan(names), file=sys.stderr, flush=True)
    rows: list[Row] = []
    paths = modules()
    for name in names:
        print(f"{name}: about {PARTS[name].seconds} s …", file=sys.stderr, end=" ", flush=True)
        begun = time.monotonic()
        rows += importlib.import_module(paths[name]).run()
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print(show(rows))


if __name__ == "__main__":
    main()
