"""The last known state of each shard, so that a server which has lost data is noticed.

A primary answers before its replicas and its disk have what it answered. When one of those goes on in its place, the
shard is as it was a moment before: commits are missing, and what they took out of the inbox is there again. Whoever
knows more than the server must give up the lease and begin with what there is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class _Seen:
    token: int
    commits: int = 0
    entry: tuple[int, int] = (0, 0)


class Histories:
    """For each shard, under the latest lease: the number of its last commit, and the last entry of its inbox."""

    def __init__(self) -> None:
        self._shards: dict[int, _Seen] = {}

    def begin(self, shard: int, token: int) -> None:
        """A lease was acquired: from here on the server's word counts."""
        self._shards[shard] = _Seen(token)

    def committed(self, shard: int, token: int, number: int) -> None:
        """The server has made the shard's commit of this number true."""
        seen = self._shards.get(shard)
        if seen is not None and seen.token == token:
            seen.commits = max(seen.commits, number)

    def read(self, shard: int, entry_id: str) -> None:
        """An entry of the shard's inbox was read."""
        seen = self._shards.get(shard)
        if seen is not None:
            milliseconds, _, number = entry_id.partition("-")
            seen.entry = max(seen.entry, (int(milliseconds), int(number or 0)))

    def commits(self, shard: int, token: int) -> int:
        """The number of the last commit; 0 when there was none under this lease."""
        seen = self._shards.get(shard)
        return seen.commits if seen is not None and seen.token == token else 0

    def entry(self, shard: int, token: int) -> tuple[int, int]:
        """The id of the last entry; (0, 0) when none was read under this lease."""
        seen = self._shards.get(shard)
        return seen.entry if seen is not None and seen.token == token else (0, 0)
