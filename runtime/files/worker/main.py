"""The worker: reads one file from its input, writes what it is to its output, and ends.

    input    a head in JSON on one line {type, limits, jail}, then the file to the end
    output   a head in JSON on one line {type, parts: [[kind, page, bytes]], remarks: [[key, values]], seconds, jailed},
             then the parts' data one after the other

Before the file is looked at, the process gives up all files but its own code, the network, other processes, and all
memory and time beyond its limits. What it dies of is no harm to anybody.
"""

from __future__ import annotations

import json
import resource
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runtime.files.reading import UNKNOWN_TYPE, ReadLimits
from runtime.files.worker.heif import is_heif, learn_heif
from runtime.files.worker.kinds import read_file
from runtime.files.worker.limits import Found, NotRead
from runtime.sandbox.landlock import LIBRARIES, enclose


def main() -> None:
    """Read, give up rights, decode, write."""
    head = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    limits = ReadLimits(**head["limits"])
    if is_heif(data):
        learn_heif()
    jailed = _bounded(limits)
    found = Found(limits)
    told, kind = None, UNKNOWN_TYPE
    try:
        kind = read_file(data, str(head["type"]), found)
    except NotRead as error:
        told = (error.key, error.values)
    except MemoryError:
        told = ("too_much_memory", {})
    except RecursionError:
        told = ("broken_document", {})
    if told is not None:
        found.parts.clear()
        found.remarks.append(told)
    _write(kind, found, jailed=jailed)


def _bounded(limits: ReadLimits) -> bool:
    """Give up what is not needed; whether there is a jail around the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    try:
        enclose([*LIBRARIES, *_code()])
    except (OSError, AttributeError):  # another system, or an old one
        return False
    return True


def _code() -> Iterator[str]:
    """The folders of what may still be imported."""
    yield sysconfig.get_path("stdlib")
    yield sysconfig.get_path("platstdlib")
    yield str(Path(__file__).parent)
    for name in ("PIL", "pypdfium2", "pypdfium2_raw"):
        found = find_spec(name)
        yield from (found.submodule_search_locations or ()) if found is not None else ()


def _write(kind: str, found: Found, *, jailed: bool) -> None:
    head: dict[str, Any] = {
        "type": kind,
        "parts": [[part, page, len(data)] for part, data, page in found.parts],
        "remarks": found.remarks,
        "seconds": found.seconds,
        "jailed": jailed,
    }
    out = sys.stdout.buffer
    out.write(json.dumps(head).encode() + b"\n")
    for _, data, _ in found.parts:
        out.write(data)
    out.flush()
