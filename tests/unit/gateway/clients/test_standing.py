"""Orders that waited begin only while their client may still give them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.clients.scopes import Scopes, refusals_of, scopes_from
from runtime.core.address import address_of
from runtime.core.ids import SessionId
from runtime.stores.inbox import TASK, InboxEvent
from runtime.stores.orders import Order
from tests.contract.storage_samples import T0

HOME: list[str | None] = ["client", "ci", None]
LETTER = Order(0, SessionId(""), "Desk", "Fetch", {}, 60.0, 1, HOME, HOME)
ORDER = InboxEvent("t", address_of(SessionId("t")), "client:ci", "ci", str(LETTER), T0, kind=TASK, program="desk")
ON_EVENT = replace(ORDER, text=str(replace(LETTER, event="shop.stock")))

DESK = "ci has no scope any more to begin desk"
CASES = {
    "it may order": (ORDER, ["tasks:write:d*"], ""),
    "it may only look": (ORDER, ["tasks:read:desk", "triggers:desk"], DESK),
    "it may order another program": (ORDER, ["tasks:write:shop"], DESK),
    "its events may begin it": (ON_EVENT, ["triggers:desk"], ""),
    "its events may begin nothing": (ON_EVENT, ["tasks:write:desk"], DESK),
    "it is a person": (replace(ORDER, person_id="telegram:1"), [], ""),
    "an agent ordered it": (replace(ORDER, person_id=""), [], ""),
    "it is words to a task": (replace(ORDER, kind="message"), [], ""),
}


@pytest.mark.parametrize("case", CASES)
def test_an_order_begins_only_within_the_scopes_of_now(case: str) -> None:
    event, scopes, why = CASES[case]
    assert refusals_of({"ci": scopes_from(scopes)}.get, console=False)(event) == why


def test_the_order_of_a_client_that_is_gone_does_not_begin() -> None:
    assert refusals_of(dict[str, Scopes]().get, console=True)(ORDER) == "ci is no client any more"


@pytest.mark.parametrize("console", [True, False])
def test_what_was_ordered_at_the_console_begins_while_there_is_one(console: bool) -> None:
    why = refusals_of(dict[str, Scopes]().get, console=console)(replace(ORDER, person_id="client:console.owner"))
    assert (why == "") == console
