"""The host call with which a program publishes an event for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from runtime.core.cloud_event import MAX_EVENT_BYTES, is_type
from runtime.core.errors import PlaybookError
from runtime.core.json_text import write_json
from runtime.execution.frames.frame import Frame, shortened
from runtime.execution.frames.signatures import call
from runtime.tape.facts.session import EventPublished
from runtime.tape.journal import Journal, as_data
from runtime.tape.view import is_reserved

MAX_HOPS = 8
"""The longest chain of programs that begin one another by events."""

MAX_UNDELIVERED = 100
"""The events of one session on which programs may still have to begin; then it publishes none for now."""


class PublishCalls(Struct, frozen=True):
    """Of a type of events: why the program may not publish it, None where it may, and what begins on it."""

    journal: Journal
    refusal: Callable[[str], str | None]
    begun: Callable[[str], Sequence[str]]

    @call("Publish", example='await Publish("orders.taken", {"item": "tea", "pieces": 2})')
    def publish(self, frame: Frame, event: str, data: Any = None) -> str:
        """Publishes an event for other programs, once; returns the event's id.

        The settings name the types of events that a program may publish, and the programs that begin on them. The data
        are values by names, of at most 64 KiB as JSON.
        """
        refusal = self._refusal(event)
        if refusal is not None:
            raise PlaybookError(f"nothing was published: {refusal}")
        values = _values(data)
        hops = self._hops(event)
        return str(self.journal.note(EventPublished(frame.state.agent, event, values, hops)))

    def _refusal(self, type_: str) -> str | None:
        if not is_type(type_):
            return f"{type_[:80]!r} is no type of events, such as orders.taken: words of letters, digits, - and _"
        if is_reserved(type_):
            return f"only Parley itself has events of the type {type_}"
        return self.refusal(type_)

    def _hops(self, type_: str) -> int:
        """The length of the chain that the event continues. Raises PlaybookError where it would go on without end."""
        state = self.journal.state
        hops = 1 if state.order is None else state.order.hops + 1
        begun = self.begun(type_)
        if begun and hops > MAX_HOPS:
            raise PlaybookError(
                f"{type_} was not published, because {begun[0]} begins on it: {MAX_HOPS} events of programs have led "
                "here one after the other, so the programs seem to begin each other without end"
            )
        if len(state.published) >= MAX_UNDELIVERED:
            raise PlaybookError(f"{type_} was not published: {MAX_UNDELIVERED} events before it still wait")
        return hops


def _values(data: Any) -> dict[str, Any]:
    """The data of an event. Raises PlaybookError for anything but values by names, and for too much."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        given = shortened(repr(data))
        raise PlaybookError(f'nothing was published: the data are values by names, as {{"item": "tea"}}, not {given}')
    try:
        values: dict[str, Any] = as_data(data)
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"nothing was published: the data are no JSON: {error}") from error
    if len(write_json(values).encode(errors="replace")) > MAX_EVENT_BYTES:
        raise PlaybookError(f"nothing was published: an event has at most {MAX_EVENT_BYTES:,} bytes of data")
    return values
