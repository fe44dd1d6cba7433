"""Tasks as `parley tasks` reads them, ends them and orders them again."""

import dataclasses
from collections.abc import AsyncIterator
from typing import cast

import pytest
from msgspec.structs import replace

from gateway.features.tasks.register import TaskRegister
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.errors import TaskRefused
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.catalog import KnownSession, SessionCatalog, SessionPage
from runtime.stores.inbox import TASK, KnownEvent
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.tape.tape import Fact, TapeReader
from tests.fakes.crashes.patient_world import FAR_S, patient_world
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

_LIMITS = TaskLimits(within_s=2 * FAR_S)

RUNNER = """
async def Fetch(what):
    return f"fetched {what}"

async def Idle():
    await Sleep(1_000_000)

async def Break():
    raise ValueError("it broke")
"""
HEARS = """
    while True:
        for message in await WaitForMessage("*"):
            if message["text"] == "end":
                await EndProgram()
            await Say("user", message["text"].partition(" (facts")[0])
"""


def running(code: str) -> Program:
    can = [python("Fetch", "what", public=True), python("Idle", public=True), python("Break", public=True)]
    main = agent("Main", MAIN, code=f"async def Main():{code}{HEARS}")
    return program(main, agent("Runner", *can, code=RUNNER))


class Store:
    """What a test world has, as the register asks for it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.add, self.read_session = world.add, world.read_session

    async def page(self, after: str, /, *, limit: int) -> SessionPage:
        assert not after
        current = self._world._current
        records = [dataclasses.replace(r, ended=r.address.key not in current) for r in self._world._records.values()][
            :limit
        ]
        return SessionPage(
            [KnownSession(r, False, frozenset(), r.started_at, 0, None) for r in records],
            "",
            [str(r.id) for r in records],
        )

    async def find(self, session: SessionId, /) -> KnownSession | None:
        page = await self.page("", limit=1000)
        return next((known for known in page.sessions if known.record.id == session), None)

    async def known(self, address: Address, event_id: str, /) -> KnownEvent | None:
        if (address.key, event_id) not in self._world._added:
            return None
        return KnownEvent("test", waits=any(entry.event.id == event_id for entry in self._world._inbox))

    async def follow(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        seen = after
        while True:
            async for fact in self._world.read_session(session, after=seen):
                seen = fact.seq
                yield fact
            await self._world.clock.sleep_until(self._world.clock.monotonic() + 1)


def register(talk: Talk) -> TaskRegister:
    store = Store(talk.world)
    catalog, tapes = cast("SessionCatalog", store), cast("TapeReader", store)
    return TaskRegister(catalog, tapes, store, talk.world.clock)  # type: ignore[arg-type]


async def test_a_task_that_is_over_is_ordered_again_for_who_ordered_it() -> None:
    code = '\n    await Spawn("Runner", "Fetch", ["bread"])'
    async with talking(running(code), Model(), world=patient_world(), tasks=_LIMITS) as talk:
        talk.post("hi")
        await talk.until(lambda: len(talk.chat) == 1)
        tasks = register(talk)
        ((first,), more) = await tasks.latest(10)
        assert (first.data()["does"], first.arguments, first.status, more) == (
            *("Runner.Fetch", {"what": "bread"}, "completed"),
            False,
        )
        page, next_ = await tasks.page("", 10)
        assert ([task.session.record.id for task in page], next_) == ([first.session.record.id], "")
        new, name = await tasks.order_again(first.session.record.id, 60)
        assert name == "task 2"
        await talk.until(lambda: len(talk.chat) == 2)
        again = await tasks.over(new, 60)
        assert again is not None
        assert (again.order.value, again.order.number) == ("fetched bread", 2)
    assert talk.chat[1] == "Task 2, Runner.Fetch, is completed. Its result: fetched bread"


async def test_a_task_whose_session_was_deleted_is_gone_and_not_one_that_has_not_begun() -> None:
    async with talking(running('\n    await Spawn("Runner", "Idle")'), Model(), tasks=_LIMITS) as talk:
        talk.post("hi")
        tasks = register(talk)
        await talk.until(lambda: len(talk.world._records) == 2)
        (known,) = (await tasks.latest(0))[0]
        del talk.world._records[known.session.record.id]
        for ask in (tasks.find, tasks.cancel):
            with pytest.raises(TaskRefused, match="is gone: its session was deleted"):
                await ask(str(known.session.record.id))


async def test_a_task_is_ended_once_and_what_cannot_be_is_refused_in_words() -> None:
    code = '\n    await Spawn("Runner", "Idle")\n    await Spawn("Runner", "Fetch", {"why": 1})'
    async with talking(running(code), Model(), world=patient_world(), tasks=_LIMITS) as talk:
        talk.post("hi")
        tasks = register(talk)
        await talk.until(lambda: len(talk.world._records) == 3)
        ids = {task.playbook: str(task.session.record.id) for task in (await tasks.latest(0))[0]}
        with pytest.raises(TaskRefused, match="is not over"):
            await tasks.order_again(ids["Idle"], 0)
        with pytest.raises(TaskRefused, match="never began, so the same order would end alike: Fetch "):
            await tasks.order_again(ids["Fetch"], 0)
        await tasks.cancel(ids["Idle"])
        ended = await tasks.over(ids["Idle"], 60)
        assert ended is not None
        assert ended.status == "canceled"
        with pytest.raises(TaskRefused, match="has ended already: canceled"):
            await tasks.cancel(ids["Idle"])
        with pytest.raises(TaskRefused, match="There is no task nonesuch"):
            await tasks.find("nonesuch")
        talk.post("end")
        await talk.until(lambda: ADDRESS.key not in talk.world._current)
        with pytest.raises(TaskRefused, match=r"The conversation that ordered the task [0-9a-f]+ has ended"):
            await tasks.order_again(ids["Idle"], 0)


async def test_a_limit_holds_for_what_is_ordered_again() -> None:
    code = '\n    await Spawn("Runner", "Break")\n    await Say("user", "later")\n    await Sleep(5)'
    code += '\n    await Spawn("Runner", "Idle")'
    async with talking(running(code), Model(), world=patient_world(), tasks=replace(_LIMITS, at_once=1)) as talk:
        talk.post("hi")
        await talk.until(lambda: len(talk.world._records) == 3)
        tasks = register(talk)
        broken = next(task for task in (await tasks.latest(0))[0] if task.playbook == "Break")
        with pytest.raises(TaskRefused, match="is not ordered again: 1 tasks are already running"):
            await tasks.order_again(broken.session.record.id, 60)


async def test_a_task_of_a_client_is_ordered_again_in_its_name() -> None:
    async with talking(running(""), Model(), world=patient_world(), tasks=_LIMITS) as talk:
        id_, place = SessionId("first"), address_data(Address(CLIENT, "ci"))
        due = talk.world.clock.now().timestamp() + 60
        order = TaskOrder(0, SessionId(""), "Runner", "Fetch", {"what": "milk"}, due, 1, home=place, place=place)
        talk.post(str(order), at=address_of(id_), kind=TASK, person_id="client:ci")
        tasks = register(talk)
        await talk.until(lambda: "order_over" in [fact.kind for fact in talk.world.facts])
        await talk.rested()
        new, name = await tasks.order_again(id_, 60)
        assert name is None
        await talk.rested()
        again = await tasks.over(new, 60)
        assert again is not None
        assert (again.status, again.order.value, again.order.home) == (
            "completed",
            "fetched milk",
            Address(CLIENT, "ci"),
        )
