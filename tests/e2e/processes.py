"""The processes of this machine, as /proc shows them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Seen(Struct, frozen=True):
    """A process at the moment of looking."""

    id: int
    parent: int
    command: str


def processes() -> list[Seen]:
    """All that can be seen and are no zombies."""
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [seen for seen in map(_read, entries) if seen is not None]


def _read(entry: Path) -> Seen | None:
    try:
        status = (entry / "stat").read_text()
        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None
    state, parent = status.rpartition(")")[2].split()[:2]
    return None if state == "Z" else Seen(int(entry.name), int(parent), command)


def family(ancestor: int) -> list[Seen]:
    """The process and everything that it and its children started."""
    everybody = processes()
    ids = {ancestor}
    while more := {seen.id for seen in everybody if seen.parent in ids} - ids:
        ids |= more
    return [seen for seen in everybody if seen.id in ids]


def valkey_of(ancestor: int) -> int:
    """The process id of the server that a gateway has started."""
    (server,) = [
        seen.id for seen in family(ancestor) if seen.command.split()[0].endswith(("valkey-server", "redis-server"))
    ]
    return server
