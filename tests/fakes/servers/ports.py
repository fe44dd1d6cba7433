"""Ports of the loopback for servers that must find their own again after a kill."""

import itertools
import random
import socket
from collections.abc import Iterator
from contextlib import suppress

_FIRST, _END = 20_000, 32_000
"""Below those that Linux gives to connections (ip_local_port_range in ip(7)), so that nobody takes one meanwhile."""

_BLOCK = 500


class _Block:
    """Ports that no other process of tests hands out, as long as this one lives.

    Who holds a block has bound a name in the abstract namespace of Unix sockets (unix(7)), which ends with the process.
    """

    def __init__(self) -> None:
        firsts = list(range(_FIRST, _END, _BLOCK))
        random.SystemRandom().shuffle(firsts)
        for first in firsts:
            self._held = socket.socket(socket.AF_UNIX)
            with suppress(OSError):
                self._held.bind(f"\0parley-tests-ports-{first}")
                break
            self._held.close()
        else:
            raise AssertionError("all ports for tests are held by other test runs; end some of them")
        self._ports: Iterator[int] = itertools.cycle(range(first, first + _BLOCK))

    def next_free(self) -> int:
        for port in itertools.islice(self._ports, _BLOCK):
            with socket.socket() as probe, suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
        raise AssertionError("no port is free")


_blocks: list[_Block] = []


def free_port() -> int:
    """A port that nobody listens at, and that is given to nobody else until hundreds of others were."""
    if not _blocks:
        _blocks.append(_Block())
    return _blocks[0].next_free()
