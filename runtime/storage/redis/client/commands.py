"""Commands to one server: those that callers make in the same turn of the loop are one write and one wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from runtime.storage.redis.client.location import packed

COMMAND_LIMIT_S = 5.0

_REPLICA_LIMIT_MS = 2000
_MAX_TOGETHER = 200
"""Commands in one write. Chosen: none waits long for those before it."""


class NotReplicated(exceptions.ConnectionError):
    """A write is on the primary alone, though a replica follows it."""


class _Asked:
    """The command of one caller."""

    __slots__ = ("answer", "packed", "replicated")

    def __init__(self, parts: tuple[str | int, ...], replicated: bool) -> None:
        self.packed = packed(*parts)
        self.replicated = replicated
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Commands:
    """Each caller has the answer, or the error, of its own command; a connection that fails fails all on it.

    The first caller of a turn sends for all of them. A caller is not to be cancelled.
    """

    def __init__(
        self, client: Redis, followed: Callable[[bool], Awaitable[bool]], confirmed: Callable[[], None]
    ) -> None:
        """`followed` says whether a replica follows, where asked for not from memory; `confirmed` hears that one has
        what was written."""
        self._pool = client.connection_pool
        self._followed = followed
        self._confirmed = confirmed
        self._asked: list[_Asked] = []

    async def make(self, parts: tuple[str | int, ...], *, replicated: bool) -> Any:
        """The answer to one command. `replicated`: where a replica follows, when one has what was written before.

        Raises what the server answers, and NotReplicated, ConnectionError and TimeoutError.
        """
        asked = _Asked(parts, replicated)
        self._asked.append(asked)
        if len(self._asked) == 1:
            await self._send()
        return await asked.answer

    async def _send(self) -> None:
        """Send what is asked for by the end of this turn."""
        asked: Sequence[_Asked] = self._asked
        try:
            await asyncio.sleep(0)
            asked, self._asked = self._asked, []
            waits = any(one.replicated for one in asked) and await self._followed(False)
            for first in range(0, len(asked), _MAX_TOGETHER):
                await self._exchange(asked[first : first + _MAX_TOGETHER], waits)
        except (exceptions.RedisError, TimeoutError, OSError) as error:
            _fail(asked, error)
        finally:
            if asked is self._asked:
                self._asked = []
            _fail(asked)

    async def _exchange(self, asked: Sequence[_Asked], waits: bool) -> None:
        """Make these commands; `waits`: with what was written by them at a replica."""
        connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        answers, wanted = list[Any](), len(asked) + waits
        try:
            async with asyncio.timeout(COMMAND_LIMIT_S):
                pieces = [piece for one in asked for piece in one.packed]
                if waits:
                    pieces += packed("WAIT", 1, _REPLICA_LIMIT_MS)
                await connection.send_packed_command(pieces)
                while len(answers) < wanted:
                    answers.append(await _answer(connection))
        finally:
            if len(answers) < wanted:
                await connection.disconnect(nowait=True)
            await self._pool.release(connection)
        lacking = await self._lacking(answers.pop()) if waits else None
        for one, answer in zip(asked, answers, strict=True):
            found = lacking if lacking and one.replicated and not isinstance(answer, Exception) else answer
            if isinstance(found, Exception):
                one.answer.set_exception(found)
            else:
                one.answer.set_result(found)

    async def _lacking(self, replicas: Any) -> Exception | None:
        """The error when too few replicas have what was written."""
        if isinstance(replicas, Exception):
            return replicas
        if replicas:
            self._confirmed()
        elif await self._followed(True):
            return NotReplicated(f"No replica has confirmed a write within {_REPLICA_LIMIT_MS} ms.")
        return None


async def _answer(connection: AbstractConnection) -> Any:
    """One answer, or the server's refusal."""
    try:
        return await connection.read_response(timeout=float("inf"))
    except exceptions.ResponseError as error:
        return error


def _fail(asked: Sequence[_Asked], error: Exception | None = None) -> None:
    for one in asked:
        if not one.answer.done():
            one.answer.set_exception(error or exceptions.ConnectionError("the call was broken off"))
