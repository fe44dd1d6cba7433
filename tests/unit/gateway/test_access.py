"""Who may talk, and what becomes of what people do."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import pytest

from adapters.adapter import Adapter, Inbound
from gateway.access import ATTEMPT_WINDOW_S, MAX_ATTEMPTS, POLITE_EVERY_S, Access, AccessRules, Verdict
from gateway.commands import help_text
from gateway.inbound import Entrance, InboundRouter
from gateway.roles import Role
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import InboxFull, StorageUnavailable
from runtime.core.message import Attachment
from runtime.core.texts import english
from runtime.sessions.inbox import InboxEvent
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


class People:
    """Durable memory of who was paired."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)

    async def people(self, _platform: str, /) -> Collection[str]:
        return self.known

    async def add(self, _platform: str, person: str, /) -> None:
        self.known.add(person)


def event(text: str = "hi", *, person: str = "42", chat: str = "1", command: str | None = None, **more: Any) -> Inbound:
    fields = {"private": True, "addressed": True, **more}
    return Inbound(
        Address("test", chat), f"e{text}", f"test:{person}", "Ada", text, FakeClock().now(), **fields, command=command
    )


async def opened(
    mode: Any = "pairing", store: People | None = None, clock: FakeClock | None = None, **rules: Any
) -> Access:
    access = Access("test", AccessRules(mode, **rules), store or People(), clock or FakeClock())
    await access.open()
    return access


async def test_the_pairing_code_admits_its_finder_and_works_once() -> None:
    store = People()
    access = await opened(store=store)
    assert access.code is not None
    code = access.code
    assert await access.judge(event(f" {code.lower()} ")) is Verdict.PAIRED
    assert store.known == {"test:42"}
    assert await access.judge(event("hello")) is Verdict.ADMIT
    assert await access.judge(event(code, person="43")) is Verdict.REFUSE


async def test_who_was_paired_is_known_after_a_restart_and_no_new_code_is_made() -> None:
    access = await opened(store=People("test:42"))
    assert access.code is None
    assert await access.judge(event()) is Verdict.ADMIT
    assert await access.judge(event(person="43")) is Verdict.REFUSE


async def test_a_stranger_may_guess_only_so_often_in_an_hour() -> None:
    clock = FakeClock()
    access = await opened(clock=clock)
    code = access.code
    assert code is not None
    for _ in range(MAX_ATTEMPTS):
        assert await access.judge(event("WRONG")) is not Verdict.PAIRED
    assert await access.judge(event(code)) is not Verdict.PAIRED
    await clock.advance(ATTEMPT_WINDOW_S)
    assert await access.judge(event(code)) is Verdict.PAIRED


async def test_the_guesses_of_one_stranger_do_not_use_up_those_of_another() -> None:
    access = await opened()
    for _ in range(MAX_ATTEMPTS):
        await access.judge(event("WRONG", person="43"))
    assert access.code is not None
    assert await access.judge(event(access.code)) is Verdict.PAIRED


async def test_a_stranger_hears_one_polite_sentence_an_hour() -> None:
    clock = FakeClock()
    access = await opened("allowlist", clock=clock)
    assert [await access.judge(event()) for _ in range(3)] == [Verdict.REFUSE, Verdict.IGNORE, Verdict.IGNORE]
    await clock.advance(POLITE_EVERY_S)
    assert await access.judge(event()) is Verdict.REFUSE


async def test_groups_of_strangers_hear_nothing_and_no_code_works_there() -> None:
    access = await opened()
    assert access.code is not None
    assert await access.judge(event(private=False)) is Verdict.IGNORE
    assert await access.judge(event(access.code, private=False)) is Verdict.IGNORE


async def test_what_people_say_among_themselves_is_ignored_even_from_friends() -> None:
    access = await opened("open")
    assert await access.judge(event(private=False, addressed=False)) is Verdict.IGNORE
    assert await access.judge(event(private=False)) is Verdict.ADMIT


async def test_allow_lists_name_people_and_chats() -> None:
    access = await opened("allowlist", people=frozenset({"42"}), chats=frozenset({"7"}))
    assert await access.judge(event()) is Verdict.ADMIT
    assert await access.judge(event(person="43", chat="7", private=False)) is Verdict.ADMIT
    assert await access.judge(event(person="43")) is Verdict.REFUSE
    assert access.code is None


# -- inbound


class Kept:
    """An inbox. `fault` is raised instead of keeping."""

    def __init__(self) -> None:
        self.events: list[InboxEvent] = []
        self.fault: Exception | None = None

    async def add(self, kept: InboxEvent, /) -> bool:
        if self.fault is not None:
            raise self.fault
        self.events.append(kept)
        return True


class Door:
    """A router with what it keeps and what it says."""

    def __init__(self, access: Access) -> None:
        self.inbox = Kept()
        self.said: list[str] = []
        entrance = Entrance(cast("Any", self.inbox), self._say, Bus(FakeClock()), english(), message_chars=20)
        adapter = cast("Adapter", type("Named", (), {"name": "test"})())
        self.router = InboundRouter(adapter, access, entrance)

    async def _say(self, _to: Address, text: str) -> None:
        self.said.append(text)


async def test_messages_and_commands_are_kept_as_they_came() -> None:
    door = Door(await opened("open"))
    photo = Attachment("a.png", "image/png", "file:1", 5)
    await door.router.take(event("hello"))
    await door.router.take(event("", command="new"))
    await door.router.take(event("", attachments=(photo,)))
    await door.router.take(event("  "))
    assert [(e.kind, e.text) for e in door.inbox.events] == [("message", "hello"), ("new", ""), ("message", "")]
    assert door.inbox.events[2].attachments[0]["name"] == "a.png"
    assert door.said == []


async def test_help_and_unknown_commands_are_answered_and_reach_no_session() -> None:
    door = Door(await opened("open"))
    await door.router.take(event("", command="help"))
    await door.router.take(event("", command="frobnicate"))
    assert door.said[0] == help_text(english(), Role.MEMBER)
    assert "/new" in door.said[0]
    assert door.said[1] == "I do not know /frobnicate. /help says what can be done here."
    assert door.inbox.events == []


async def test_a_message_that_is_too_long_is_refused_with_both_lengths() -> None:
    door = Door(await opened("open"))
    await door.router.take(event("x" * 21))
    await door.router.take(event("x" * 20))
    assert "21 characters, at most 20" in door.said[0]
    assert len(door.inbox.events) == 1


async def test_when_the_inbox_is_full_the_person_is_told() -> None:
    door = Door(await opened("open"))
    door.inbox.fault = InboxFull("full")
    await door.router.take(event())
    assert door.said == [english()("inbound.full")]


async def test_an_event_that_cannot_be_kept_now_is_not_acknowledged() -> None:
    door = Door(await opened("open"))
    door.inbox.fault = StorageUnavailable("down")
    with pytest.raises(StorageUnavailable):
        await door.router.take(event())


async def test_strangers_are_refused_or_welcomed_and_nothing_of_theirs_is_kept() -> None:
    access = await opened()
    door = Door(access)
    await door.router.take(event("hello"))
    await door.router.take(event("hello again"))
    await door.router.take(event(access.code or ""))
    await door.router.take(event("now?"))
    assert door.said == [english()("access.refused"), english()("access.paired")]
    assert [kept.text for kept in door.inbox.events] == ["now?"]
