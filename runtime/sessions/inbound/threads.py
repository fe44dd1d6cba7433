"""Threads below questions: where they are, and which places are such threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runtime.core.address import Address, thread_name
from runtime.stores.meeting_places import PlaceStore


def threads_below(conversation: Address, messages: Sequence[str]) -> list[Address]:
    """The threads that people may begin below messages; a thread has none below its own."""
    if conversation.thread is not None:
        return []
    return [replace(conversation, thread=name) for name in dict.fromkeys(map(thread_name, messages))]


async def is_below_question(place: Address, store: PlaceStore) -> bool:
    """Whether a place is a thread below a question, open or closed."""
    held = await store.get(place)
    return held is not None and held.meeting is None
