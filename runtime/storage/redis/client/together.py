"""Scripts that several callers want at the same moment, in one call of their server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from redis.asyncio import Redis

from runtime.core.errors import StorageError
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.script import Script


@dataclass(eq=False, slots=True)
class _Asked:
    """The request of one caller, and its result."""

    keys: Sequence[str]
    arguments: Sequence[str | int]
    over: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None
    answered: bool = False
    error: StorageError | None = None


class Together:
    """One script, run for all callers of the same turn of the loop. Its writes do not wait for a replica.

    In a Cluster each call is separate: one whose server is away delays no other.
    """

    def __init__(self, connection: RedisConnection, script: Script) -> None:
        self._connection = connection
        self._script = script
        self._asked: list[_Asked] = []

    async def run(self, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """The script's answer. Raises StorageError.

        The script may run twice: where the caller that makes the call is cancelled, the others ask again."""
        if await self._connection.kind() == "cluster":
            return await self._alone(keys, arguments)
        while True:
            asked = _Asked(keys, arguments)
            self._asked.append(asked)
            if len(self._asked) == 1:
                await self._send()
            else:
                await asked.over.wait()
            if asked.error is not None:
                raise asked.error
            if asked.answered:
                return asked.answer

    async def _send(self) -> None:
        asked: Sequence[_Asked] = ()
        try:
            await checkpoint()  # others may ask in this turn
            asked, self._asked = self._asked, []
            await self._answer(asked)
        except StorageError as error:
            for one in asked:
                one.error = None if one.answered else error
        finally:
            if not asked:
                asked, self._asked = self._asked, []
            for one in asked:
                one.over.set()

    async def _answer(self, asked: Sequence[_Asked]) -> None:
        async def call(client: Redis) -> list[Any]:
            async with client.pipeline(transaction=False) as batch:
                for one in asked:
                    batch.evalsha(self._script.digest, len(one.keys), *one.keys, *map(str, one.arguments))
                return list(await batch.execute(raise_on_error=False))

        answers = await self._connection.retrying(call, asked[0].keys[0])
        for one, answer in zip(asked, answers, strict=True):
            refused = isinstance(answer, Exception)  # by a server that does not know the script, or is a replica by now
            one.answer = await self._alone(one.keys, one.arguments) if refused else answer
            one.answered = True

    async def _alone(self, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        return await self._connection.run(self._script, keys, arguments, replicated=False)
