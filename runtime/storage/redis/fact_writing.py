"""Writing facts of a session that is not at work: one that is taken in, or whose parent goes."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence

from runtime.core.ids import SessionId, TapeId
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.fact_form import FactForms
from runtime.storage.redis.keys import ShardKeys
from runtime.storage.redis.script import load_script
from runtime.tape.tape import Fact

_FACTS = load_script("session_facts")

_FACTS_AT_ONCE = 200


async def write_facts(
    connection: RedisConnection,
    facts: AsyncIterable[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
) -> set[TapeId]:
    """Write facts, each to the stream `key_of` its tape, unless it is there. The tapes; the session has them then."""
    written: set[TapeId] = set()
    page: list[Fact] = []

    async def write() -> None:
        written.update(await _write(connection, page, session, keys, key_of))
        page.clear()

    async for fact in facts:
        page.append(fact)
        if len(page) == _FACTS_AT_ONCE:
            await write()
    await write()
    return written


async def _write(
    connection: RedisConnection,
    facts: Sequence[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
) -> set[TapeId]:
    tapes = {fact.tape for fact in facts}
    if not tapes:
        return tapes
    await connection.write("SADD", keys.tapes(session), *sorted(tapes))
    forms = FactForms(keys, first=3)
    for fact in facts:
        forms.add(fact, key_of(fact.tape))
    await connection.run(_FACTS, [keys.anchors(session), keys.values(session), *forms.keys], forms.arguments())
    return tapes
