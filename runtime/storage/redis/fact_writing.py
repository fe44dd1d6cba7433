"""Writing facts of a session that is not at work: one that is taken in, or whose parent goes."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

from runtime.core.ids import TapeId
from runtime.storage.codec import fact_fields
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.script import load_script
from runtime.tape.tape import Fact

_FACTS = load_script("session_facts")

_FACTS_AT_ONCE = 200


async def write_facts(
    connection: RedisConnection, facts: AsyncIterable[Fact], tapes_key: str, key_of: Callable[[TapeId], str]
) -> set[TapeId]:
    """Write facts, each to the stream `key_of` its tape, unless it is there; the tapes, which `tapes_key` names then.

    All keys have to be of one shard.
    """
    written: set[TapeId] = set()
    page: list[Fact] = []
    async for fact in facts:
        page.append(fact)
        if len(page) == _FACTS_AT_ONCE:
            written |= await _write(connection, page, tapes_key, key_of)
            page.clear()
    return written | await _write(connection, page, tapes_key, key_of)


async def _write(
    connection: RedisConnection, facts: list[Fact], tapes_key: str, key_of: Callable[[TapeId], str]
) -> set[TapeId]:
    tapes = list(dict.fromkeys(fact.tape for fact in facts))
    if not tapes:
        return set()
    await connection.write("SADD", tapes_key, *tapes)
    numbers = {tape: number for number, tape in enumerate(tapes, start=1)}
    arguments: list[str | int] = []
    for fact in facts:
        arguments += [numbers[fact.tape], fact.seq, *fact_fields(fact)]
    await connection.run(_FACTS, [key_of(tape) for tape in tapes], arguments)
    return set(tapes)
