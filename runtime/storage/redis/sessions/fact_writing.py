"""Writing facts of a session that is not at work: an imported one, or one whose parent is removed."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence

from runtime.core.ids import SessionId, TapeId
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.sessions.fact_form import FactForms
from runtime.storage.redis.sessions.locations import SessionPlaces
from runtime.tape.tape import Fact, opened

_FACTS = load_script("sessions/facts")

_FACTS_AT_ONCE = 200


async def write_facts(
    places: SessionPlaces,
    facts: AsyncIterable[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
    only_with: str = "",
) -> set[TapeId] | None:
    """Write facts, each to the stream `key_of` its tape, unless it is there. The tapes; the session has them then.

    Raises ContentLocked for a fact that cannot be opened. None when the session's record has not, or no longer, the
    field `only_with`. Nothing more was written then.
    """
    written: set[TapeId] = set()
    page: list[Fact] = []
    async for fact in facts:
        page.append(fact)
        if len(page) == _FACTS_AT_ONCE:
            if not await _write(places, page, session, keys, key_of, only_with):
                return None
            written |= {fact.tape for fact in page}
            page.clear()
    if page and not await _write(places, page, session, keys, key_of, only_with):
        return None
    return written | {fact.tape for fact in page}


async def _write(
    places: SessionPlaces,
    facts: Sequence[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
    only_with: str,
) -> bool:
    tapes = sorted({fact.tape for fact in facts})
    forms = FactForms(keys, first=5, sealing=await places.sealing(keys, session))
    for fact in facts:
        forms.add(opened(fact), key_of(fact.tape))
    names = [keys.session(session), keys.tapes(session), keys.anchors(session), keys.values(session), *forms.keys]
    return bool(await places.connection.run(_FACTS, names, [only_with, len(tapes), *tapes, *forms.arguments()]))
