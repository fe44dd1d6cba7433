"""The fold's rules about memories. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.memories import MemoryGone, MemoryKept, MemoryMade, MemoryWithdrawn
from runtime.tape.rules.registry import rule
from runtime.tape.state.memory import MAX_MADE, MadeMemory
from runtime.tape.state.session import SessionState


@rule(MemoryMade)
def _made(state: SessionState, seq: int, fact: MemoryMade) -> None:
    state.memories[fact.id] = MadeMemory(
        fact.id,
        seq,
        fact.scope,
        fact.whose,
        fact.owner,
        fact.about,
        fact.text,
        fact.made,
        fact.message,
        [*fact.replaces],
    )
    kept = [made.id for made in state.memories.values() if not made.owed]
    for id_ in kept[: max(0, len(state.memories) - MAX_MADE)]:
        del state.memories[id_]


@rule(MemoryKept)
def _kept(state: SessionState, _: int, fact: MemoryKept) -> None:
    made = state.memories.get(fact.id)
    if made is not None and made.status == "new":
        made.status, made.text = "kept", ""


@rule(MemoryWithdrawn)
def _withdrawn(state: SessionState, _: int, fact: MemoryWithdrawn) -> None:
    made = state.memories.get(fact.id)
    if made is not None:
        made.status, made.text = "withdrawn", ""


@rule(MemoryGone)
def _gone(state: SessionState, _: int, fact: MemoryGone) -> None:
    state.memories.pop(fact.id, None)
