"""Who may talk."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from gateway.access.admission import (
    ADVISED_FOR_S,
    ATTEMPT_WINDOW_S,
    MAX_ATTEMPTS,
    MAX_TOLD,
    POLITE_EVERY_S,
    TOLD_WINDOW_S,
    AccessVerdict,
    PlatformAccess,
)
from gateway.access.people import Role
from tests.fakes.clock import FakeClock
from tests.unit.gateway.inbound.arrivals import event, opened, people

WRONG = "WRNGCQDE"


async def verdict(access: PlatformAccess, what: Inbound) -> AccessVerdict:
    return (await access.judge(what)).verdict


async def verdicts(access: PlatformAccess, *what: Inbound) -> Sequence[AccessVerdict]:
    return [await verdict(access, each) for each in what]


async def test_the_start_up_code_makes_its_finder_the_owner_and_works_once() -> None:
    store = people()
    access = await opened(store=store)
    assert access.code is not None
    code = access.code
    assert await verdict(access, event(f" {code.lower()} ")) is AccessVerdict.PAIRED
    assert [(person.id, person.role, person.name) for person in await store.all()] == [("test:42", Role.OWNER, "Ada")]
    assert (await access.judge(event("hello"))).role is Role.OWNER
    assert await verdict(access, event(code, person="43")) is AccessVerdict.REQUESTED


async def test_an_owner_is_known_after_a_restart_and_no_new_code_is_made() -> None:
    access = await opened(store=people(_42=Role.OWNER))
    assert access.code is None
    assert (await access.judge(event())).role is Role.OWNER


async def test_members_alone_leave_the_start_up_code_to_be_found() -> None:
    assert (await opened(store=people(_42=Role.MEMBER))).code is not None


async def test_the_start_up_code_is_void_once_another_process_has_made_an_owner() -> None:
    store = people()
    access = await opened(store=store)
    await store.set("test:7", Role.OWNER)
    assert await verdict(access, event(access.code or "")) is AccessVerdict.REQUESTED


async def test_a_stranger_may_guess_only_so_often_in_an_hour() -> None:
    clock = FakeClock()
    access = await opened(clock=clock)
    code = access.code
    assert code is not None
    for _ in range(MAX_ATTEMPTS):
        assert await verdict(access, event(WRONG)) is not AccessVerdict.PAIRED
    assert await verdict(access, event(code)) is not AccessVerdict.PAIRED
    await clock.advance(ATTEMPT_WINDOW_S)
    assert await verdict(access, event(code)) is AccessVerdict.PAIRED


async def test_small_talk_is_no_guess_and_one_strangers_guesses_are_not_anothers() -> None:
    access = await opened()
    assert access.code is not None
    for number in range(MAX_ATTEMPTS + 1):
        await access.judge(event(f"hello? {number}"))
        await access.judge(event(WRONG, person="43"))
    assert await verdict(access, event(access.code)) is AccessVerdict.PAIRED


async def test_a_stranger_is_told_one_code_until_it_is_void() -> None:
    clock = FakeClock()
    store = people(clock, _1=Role.OWNER)
    access = await opened(store=store, clock=clock, pairing_minutes=30)
    first = await access.judge(event())
    assert first.verdict is AccessVerdict.REQUESTED
    assert first.minutes == 30
    assert first.request is not None
    assert await verdicts(access, event("please"), event("?")) == [AccessVerdict.IGNORE] * 2
    assert await verdict(await opened(store=store, clock=clock), event("after a restart")) is AccessVerdict.IGNORE
    await clock.advance(30 * 60)
    second = await access.judge(event())
    assert second.request is not None
    assert second.request.code != first.request.code


async def test_many_strangers_do_not_keep_another_from_asking_and_the_oldest_codes_end() -> None:
    store, clock = people(), FakeClock()
    access = await opened(store=store, clock=clock, open_requests=2)
    for person in ("1", "2", "3", "3"):
        await access.judge(event(person=person))
        await clock.advance(1)
    assert [request.person_id for request in await store.requests()] == ["test:2", "test:3"]
    assert await verdict(access, event(person="1")) is AccessVerdict.REQUESTED


async def test_strangers_of_one_space_take_no_room_from_those_of_another() -> None:
    store, clock = people(), FakeClock()
    access = await opened(store=store, clock=clock, open_requests=1)
    for person, space in (("1", "T1"), ("2", "T2"), ("3", "T2")):
        await access.judge(event(person=person, space=space))
        await clock.advance(1)
    assert [request.person_id for request in await store.requests()] == ["test:1", "test:3"]


async def test_where_no_request_may_be_open_strangers_are_only_told_that_the_bot_is_private() -> None:
    access = await opened(open_requests=0)
    assert await verdicts(access, event(), event()) == [AccessVerdict.REFUSE, AccessVerdict.IGNORE]


async def test_an_approval_by_another_process_holds_for_the_next_message() -> None:
    store = people()
    access = await opened(store=store)
    request = (await access.judge(event())).request
    assert request is not None
    await store.approve(request.code.lower())
    assert (await access.judge(event("now?"))).role is Role.MEMBER
    await store.forget("test:42")
    assert await verdict(access, event("and now?")) is AccessVerdict.REQUESTED


async def test_a_stranger_hears_one_polite_sentence_an_hour_where_nobody_pairs() -> None:
    clock = FakeClock()
    access = await opened("allowlist", clock=clock)
    assert await verdicts(access, *[event()] * 3) == [AccessVerdict.REFUSE, AccessVerdict.IGNORE, AccessVerdict.IGNORE]
    await clock.advance(POLITE_EVERY_S)
    assert await verdict(access, event()) is AccessVerdict.REFUSE


@pytest.mark.parametrize(
    ("mode", "private", "told"),
    [
        ("pairing", True, AccessVerdict.REQUESTED),
        ("pairing", False, AccessVerdict.STRANGER),
        ("allowlist", True, AccessVerdict.REFUSE),
        ("allowlist", False, AccessVerdict.STRANGER),
    ],
)
async def test_of_a_crowd_of_strangers_some_are_told_at_once_and_the_others_when_they_write_again(
    mode: str, private: bool, told: AccessVerdict
) -> None:
    clock = FakeClock()
    access = await opened(mode, people=frozenset({"42"}), clock=clock)
    crowd = [event("let me in", private=private, person=str(1000 + number)) for number in range(MAX_TOLD + 5)]
    assert await verdicts(access, *crowd) == [told] * MAX_TOLD + [AccessVerdict.IGNORE] * 5
    assert await verdict(access, event("hello", person="42")) is AccessVerdict.ADMIT
    await clock.advance(TOLD_WINDOW_S)
    assert await verdicts(access, *crowd[-6:]) == [AccessVerdict.IGNORE, *[told] * 5]


async def test_no_code_works_where_others_read_it() -> None:
    access = await opened()
    assert access.code is not None
    assert await verdicts(access, event(private=False), event(access.code, private=False)) == [
        AccessVerdict.STRANGER,
        AccessVerdict.IGNORE,
    ]


async def test_what_people_say_among_themselves_is_ignored_even_from_friends() -> None:
    access = await opened("open")
    assert await verdict(access, event(private=False, addressed=False)) is AccessVerdict.IGNORE
    assert await verdict(access, event(private=False)) is AccessVerdict.ADMIT


@pytest.mark.parametrize("act", ["edit", "deletion", "reaction", "choice"])
async def test_what_strangers_change_take_back_mark_or_press_is_ignored(act: str) -> None:
    access = await opened()
    assert access.code is not None
    assert await verdict(access, event(access.code, act=act)) is AccessVerdict.IGNORE
    assert await verdict(await opened(store=people(_42=Role.BLOCKED)), event(act=act)) is AccessVerdict.IGNORE
    assert await verdict(await opened("open"), event(act=act)) is AccessVerdict.ADMIT


@pytest.mark.parametrize(
    ("rules", "what", "role"),
    [
        ({"owners": {"42"}}, {}, Role.OWNER),
        ({"people": {"42"}}, {}, Role.MEMBER),
        ({"friends": {"test:42"}}, {}, Role.MEMBER),
        ({"friends": {"other:42"}}, {}, None),
        ({"chats": {"7"}}, {"chat": "7", "private": False}, Role.GUEST),
        ({"chats": {"7"}}, {"chat": "7", "thread": "3", "private": False}, Role.GUEST),
        ({"chats": {"7"}}, {"chat": "8"}, None),
        ({"spaces": {"T1"}}, {"space": "T1", "private": False}, Role.GUEST),
        ({"spaces": {"T1"}}, {"space": "T2"}, None),
        ({"spaces": {"T1"}, "visitors": Role.MEMBER}, {"space": "T1"}, Role.MEMBER),
    ],
)
async def test_allow_lists_name_people_groups_chats_and_spaces(
    rules: dict[str, Any], what: dict[str, Any], role: Role | None
) -> None:
    access = await opened("allowlist", **rules)
    judged = await access.judge(event(**what))
    assert (judged.role if judged.verdict is AccessVerdict.ADMIT else None) is role


async def test_a_guest_by_name_may_talk_only_where_it_is_open() -> None:
    access = await opened("pairing", people(_42=Role.GUEST), chats=frozenset({"7"}), people=frozenset({"42"}))
    assert (await access.judge(event(chat="7"))).role is Role.GUEST
    assert await verdict(access, event(chat="8")) is not AccessVerdict.ADMIT


async def test_who_is_blocked_hears_it_once_an_hour_and_is_let_in_by_no_list() -> None:
    clock = FakeClock()
    access = await opened("open", people(clock, _42=Role.BLOCKED), clock, people={"42"}, chats={"1"})
    assert await verdicts(access, event(), event("why?")) == [AccessVerdict.BLOCKED, AccessVerdict.IGNORE]
    assert await verdict(access, event("hello", person="43")) is AccessVerdict.ADMIT
    await clock.advance(POLITE_EVERY_S)
    assert await verdict(access, event()) is AccessVerdict.BLOCKED


async def test_who_may_is_asked_for_every_message_and_not_once_a_conversation() -> None:
    """Somebody else in a conversation that an owner began is still a stranger."""
    access = await opened("allowlist", people(_1=Role.OWNER))
    assert await verdict(access, event(person="1", chat="9", private=False)) is AccessVerdict.ADMIT
    assert await verdict(access, event(person="2", chat="9", private=False)) is AccessVerdict.STRANGER


async def test_a_space_lets_in_its_own_people_only_and_a_chat_everybody_in_it() -> None:
    guest = event(private=False, chat="1", space="T1")
    outsider = replace(guest, outsider=True)
    by_space = await opened("allowlist", spaces=frozenset({"T1"}))
    assert (await by_space.role(guest), await by_space.role(outsider)) == (Role.GUEST, None)
    by_chat = await opened("allowlist", chats=frozenset({"1"}))
    assert await by_chat.role(outsider) is Role.GUEST


# Platforms that ask for a password themselves.


async def test_the_code_makes_an_owner_of_a_member_where_a_password_let_them_in() -> None:
    store = people()
    access = await opened("open", store, enclosed=True)
    code = access.code or ""
    assert (await access.judge(event("hello", private=False))).role is Role.MEMBER
    assert await verdict(access, event(WRONG, private=False)) is AccessVerdict.ADMIT
    assert await verdict(access, event(code, private=False, act="edit")) is AccessVerdict.ADMIT
    assert await verdict(access, event(code, private=False)) is AccessVerdict.PAIRED
    assert (await access.judge(event("hello", private=False))).role is Role.OWNER
    assert await verdict(access, event(code, person="43", private=False)) is AccessVerdict.ADMIT
    assert (await opened("open", store, enclosed=True)).code is None


@pytest.mark.parametrize(
    ("mode", "rules"), [("open", {}), ("open", {"enclosed": True, "owners": frozenset({"42"})}), ("allowlist", {})]
)
async def test_there_is_no_code_where_it_could_not_be_used_or_owners_are_set(mode: str, rules: dict[str, Any]) -> None:
    assert (await opened(mode, **rules)).code is None


async def test_a_code_is_guessed_only_so_often_by_a_member_too() -> None:
    access = await opened("open", enclosed=True)
    for _ in range(MAX_ATTEMPTS):
        assert await verdict(access, event(WRONG)) is AccessVerdict.ADMIT
    assert await verdict(access, event(access.code or "")) is AccessVerdict.ADMIT


async def test_a_stranger_among_others_is_told_once_and_only_when_the_bot_is_spoken_to() -> None:
    access = await opened()
    mentioned = event("hello bot", private=False)
    assert await verdicts(access, replace(mentioned, addressed=False), mentioned, mentioned) == [
        AccessVerdict.IGNORE,
        AccessVerdict.STRANGER,
        AccessVerdict.IGNORE,
    ]
    assert await verdict(access, event("hello", private=False, person="7")) is AccessVerdict.STRANGER


async def test_a_restart_tells_nobody_again() -> None:
    clock = FakeClock()
    store = people(clock, _8=Role.BLOCKED)
    mentioned, refused, blocked = event("hi", private=False), event("hi", person="7"), event("hi", person="8")
    for expected in ([AccessVerdict.STRANGER, AccessVerdict.REFUSE, AccessVerdict.BLOCKED], [AccessVerdict.IGNORE] * 3):
        access = await opened("allowlist", store, clock)
        assert await verdicts(access, mentioned, refused, blocked) == expected
    await clock.advance(POLITE_EVERY_S)
    assert await verdicts(access, mentioned, refused, blocked) == [
        AccessVerdict.IGNORE,
        AccessVerdict.REFUSE,
        AccessVerdict.BLOCKED,
    ]
    await clock.advance(ADVISED_FOR_S)
    assert await verdict(access, mentioned) is AccessVerdict.STRANGER


async def test_who_was_told_among_others_is_told_when_alone_as_well() -> None:
    access = await opened("allowlist")
    assert await verdicts(access, event(private=False), event()) == [AccessVerdict.STRANGER, AccessVerdict.REFUSE]
