"""The order in which the processes of a whole run take the files of tests.

Each process takes the next file when it is done with one. The long ones come first, so that all processes end at about
the same time. Those whose tests mostly wait for whole processes come between those that compute, in proportion to what
is left of both, so that neither all wait nor all compute.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path

WHOLE_PROCESSES = ("tests/e2e/", "tests/chaos/", "tests/contract/")

LONG_S = 5.0
"""Only files that take so long are recorded: the order of the others matters little."""

_RECORD = Path(__file__).with_name("durations.json")


def file_of(test: str) -> str:
    """The file in whose name a test's begins."""
    return test.partition("::")[0]


def spread(files: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """The files in their order; those without a duration take a second."""
    known = {file: seconds.get(file, 1.0) for file in files}
    places: dict[str, float] = {}
    for waits in (True, False):
        kind = [file for file in known if file.startswith(WHOLE_PROCESSES) is waits]
        kind.sort(key=lambda file: -known[file])
        ends = [*accumulate(known[file] for file in kind)]
        places |= {file: (end - known[file]) / ends[-1] for file, end in zip(kind, ends, strict=True)}
    return sorted(places, key=lambda file: places[file])


def recorded() -> dict[str, float]:
    """How many seconds files took when somebody recorded it last, for those that are long."""
    return {str(file): float(seconds) for file, seconds in json.loads(_RECORD.read_text()).items()}


def record(seconds: Mapping[str, float]) -> None:
    """Keep them for later runs."""
    kept = {file: round(took) for file, took in sorted(seconds.items()) if took >= LONG_S}
    _RECORD.write_text(json.dumps(kept, indent=1) + "\n")
