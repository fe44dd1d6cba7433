"""Orders of clients that waited: one whose scope was withdrawn meanwhile, or whose client is gone, does not begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.clients.scopes import CONSOLE, Scopes
from runtime.core.address import CLIENT
from runtime.sessions.tasks.letters import Order
from runtime.stores.inbox import TASK, InboxEvent


def refusals_of(scopes: Mapping[str, Scopes], *, console: bool) -> Callable[[InboxEvent], str]:
    """A function that says why the order of an event does not begin, "" where it may. `console`: there is one."""

    def why(event: InboxEvent) -> str:
        platform, _, name = event.person_id.partition(":")
        if event.kind != TASK or platform != CLIENT:
            return ""
        if name.startswith(CONSOLE):
            return "" if console else "nobody orders at the console any more"
        own = scopes.get(name)
        if own is None:
            return f"{name} is no client any more"
        may = own.may_trigger if _on_an_event(event) else lambda program: own.may_use("write", program)
        return "" if may(event.program) else f"{name} has no scope any more to begin {event.program}"

    return why


def _on_an_event(event: InboxEvent) -> bool:
    """Whether a task begins on an event of the client, and not because it ordered it."""
    try:
        return bool(Order.read(event.text).event)
    except (ValueError, TypeError):
        return False
