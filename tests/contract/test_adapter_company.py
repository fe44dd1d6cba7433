"""On every platform a conversation of several people is a channel of all who take part in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.adapter import Inbound
from runtime.core.address import Address, Speaker
from runtime.execution.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.inbox import InboxEntry
from runtime.sessions.store import Lease
from runtime.tape.fold import apply
from runtime.tape.state import SessionState
from tests.contract.stands.stand import Stand
from tests.fakes.talk import Model, Talk, talking
from tests.unit.gateway.arrivals import Door, opened
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

CODE = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", f"{message['name']} is {message['sender']}: {message['text']}")
"""
LISTENER = program(agent("Listener", python("Main", trigger="BGN When program starts"), code=CODE))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Python playbooks need the loop that knows when they are quiet."""
    return "asyncio", {"loop_factory": FrameLoop}


async def company(stand: Stand) -> Address:
    """A conversation in which several people talk with us without naming us each time, where there is one."""
    topic = await stand.topic()
    if topic is None:
        return stand.group
    await stand.adapter.send(topic, "here we are", speaker=Speaker("1000", "Listener"), nonce="t.0", final=True)
    return topic


async def heard_from_both(stand: Stand) -> list[Inbound]:
    """Ada, who begins, then Bob, then Ada again say something in one conversation."""
    here = await company(stand)
    found: list[Inbound] = []
    async with stand.listening() as inbound:
        for text, who in (("one", "ada"), ("two", "bob"), ("three", "ada")):
            await stand.say(text, here, by=who)  # type: ignore[arg-type]
            item = await anext(inbound)
            while item.text != text:
                item = await anext(inbound)
            found.append(item)
    return found


async def bring(talk: Talk, item: Inbound) -> None:
    """Let a session take what an adapter has heard, as the gateway brings it."""
    door = Door(await opened("open"))
    await door.take(item)
    [kept] = door.inbox.events
    entry = InboxEntry(0, str(talk.world.taken_in + 1), replace(kept, program=LISTENER.name))
    talk.world.take_in(entry)
    talk.registry.dispatch(entry, Lease(0, 1))
    await talk.world.idle.wait()


async def test_everybody_who_takes_part_is_known_by_name_and_id_and_told_apart(stand: Stand) -> None:
    items = await heard_from_both(stand)
    ada, bob = items[0], items[1]
    async with MontySandbox(max_workers=1) as sandbox, talking(LISTENER, Model(), sandbox) as talk:
        for item in items:
            await bring(talk, item)
        assert talk.chat == [f"{item.person_name} is {item.person_id}: {item.text}" for item in items[1:]]
        state = SessionState()
        for fact in talk.world.facts:
            apply(state, fact.seq, fact.kind, fact.data)
    assert {id_: person.name for id_, person in state.people.items()} == {
        ada.person_id: ada.person_name,
        bob.person_id: bob.person_name,
    }
    assert ada.person_id != bob.person_id
