"""On every platform a conversation of several people is a channel of all who take part in it."""

from __future__ import annotations

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.presenter import PagePresenter
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.page import PageRecord, PageSpec
from runtime.execution.frames.loop import FrameLoop
from runtime.language.program import AgentKind, AgentSpec
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import InboxEntry
from runtime.stores.sessions import Lease
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from tests.contract.stands.stand import Stand
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.gateway.inbound.arrivals import Door, opened
from tests.unit.runtime.sessions.meetings.test_meeting_life import still
from tests.unit.runtime.sessions.programs import SPAN, agent, program, python

pytestmark = pytest.mark.anyio

CODE = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", f"{message['name']} is {message['sender']}: {message['text']}")
"""
NEWS = """
async def Main():
    await WaitForMessage("user")
    await Say("Bob", "the first half")
    await Say("Bob", "the second half")
    await WaitForMessage("user")
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
            apply_fact(state, fact)
    assert {id_: person.name for id_, person in state.people.items()} == {
        ada.person_id: ada.person_name,
        bob.person_id: bob.person_name,
    }
    assert ada.person_id != bob.person_id


async def test_what_is_held_back_for_somebody_is_one_message_that_mentions_them(stand: Stand) -> None:
    """What people want, as the program says, in the platform's own terms."""
    items = await heard_from_both(stand)
    here, bob = items[0].address, items[1]
    wants = {"person": bob.person_id, "delivery_channel": "buffered", "buffer_timeout": 60}
    teller = agent("Teller", python("Main", trigger="BGN When program starts"), code=NEWS)
    tells = replace(program(teller, AgentSpec("Bob", AgentKind.HUMAN, SPAN, metadata=wants)), name=LISTENER.name)
    before = len(await stand.seen(here))
    async with (
        MontySandbox(max_workers=1) as sandbox,
        talking(tells, Model(), sandbox, world=still()[0]) as talk,
        anyio.create_task_group() as tasks,
    ):
        clock = SystemClock()
        scheduler = EditScheduler(stand.adapter.capabilities.total_budget, clock, tasks)
        presenter = PagePresenter(stand.adapter, scheduler, clock, tasks=tasks)

        def page(spec: PageSpec, record: PageRecord, /) -> Page:
            return presenter.page(replace(spec, choices=(), file=None), record)

        talk.world.page = page  # type: ignore[assignment, method-assign]
        for item in items[:2]:
            await bring(talk, item)
        with anyio.fail_after(60):
            await talk.until(lambda: bool(talk.facts("shown")))
        tasks.cancel_scope.cancel()
    [said] = [seen for seen in (await stand.seen(here))[before:] if "half" in seen.text]
    assert said.pings
    assert said.text.index("the first half") < said.text.index("the second half")
