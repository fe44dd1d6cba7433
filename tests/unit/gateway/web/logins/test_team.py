"""A team of the web chat: links, names, devices."""

from dataclasses import dataclass, field

import anyio
import pytest

from gateway.access.people import KnownPeople, Role
from gateway.web.identity import ReservedNames
from gateway.web.logins.team import (
    LOGIN_LASTS_S,
    MAX_DEVICE_LINKS,
    MAX_LINKS,
    MAX_LOGINS,
    MAX_NAMES,
    LoginTeam,
    NotAdmitted,
)
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

ATTEMPT = "an attempt of a browser"


class TornRecords(MemoryRecords):
    """Ends before what is put below one name, once: a kill."""

    torn: bool = False

    async def put(self, name: str, value: str, /) -> None:
        if self.torn:
            self.torn = False
            raise ConnectionAbortedError
        await super().put(name, value)


@dataclass
class Stand:
    """A team, and what it is made of."""

    records: MemoryRecords = field(default_factory=MemoryRecords)
    roles: TornRecords = field(default_factory=TornRecords)
    clock: FakeClock = field(default_factory=FakeClock)
    ended: list[str] = field(default_factory=list)

    @property
    def people(self) -> KnownPeople:
        return KnownPeople(self.roles, MemoryRecords(), MemoryRecords(), self.clock)

    @property
    def team(self) -> LoginTeam:
        async def hear(person: str) -> None:
            self.ended.append(person)

        return LoginTeam(self.records, self.people, self.clock, ReservedNames(["Guide"]), news=hear)

    async def link(self, role: Role = Role.MEMBER) -> str:
        return await self.team.invite(role, "Ada")


async def refusal(stand: Stand, link: str, name: str = "Eve", attempt: str = "another attempt") -> str:
    with pytest.raises(NotAdmitted) as refused:
        await stand.team.join(link, name, attempt)
    return str(refused.value)


async def test_who_follows_a_link_is_the_person_of_the_name_with_the_role_of_the_link() -> None:
    stand = Stand()
    link = await stand.link(Role.GUEST)
    offered = await stand.team.invitation(link)
    assert (offered.role, offered.invited_by, offered.person) == (Role.GUEST, "Ada", None)
    came = await stand.team.join(link, " Dan\u202e ", ATTEMPT)
    assert came.person.name == "Dan"
    assert await stand.team.find(came.secret) == came.person
    assert await stand.team.role(came.person.id) is Role.GUEST


async def test_a_link_lets_in_one_person_until_it_ends() -> None:
    stand = Stand()
    used, late = await stand.link(), await stand.link()
    await stand.team.join(used, "Dan", ATTEMPT)
    assert "used already" in await refusal(stand, used)
    await stand.clock.advance(4 * 86_400)
    assert "has ended" in await refusal(stand, late)
    assert "has ended" in await refusal(stand, used, attempt=ATTEMPT)
    assert "not known" in await refusal(stand, "guessed")


async def test_of_two_who_follow_one_link_at_the_same_moment_one_comes_in() -> None:
    stand = Stand()
    link, outcomes = await stand.link(), list[str]()

    async def follow(name: str) -> None:
        try:
            outcomes.append((await stand.team.join(link, name, f"attempt of {name}")).person.name)
        except NotAdmitted as error:
            outcomes.append(str(error))

    async with anyio.create_task_group() as tasks:
        for name in ("Dan", "Eve"):
            tasks.start_soon(follow, name)
    assert sorted(len(outcome) for outcome in outcomes)[0] == 3
    assert [outcome for outcome in outcomes if "used already" in outcome]
    assert len([name for name in stand.records.records if name.startswith("name:")]) == 1


@pytest.mark.parametrize(
    "imitation",
    [
        *("Ada", "ADA", "ada ", "A d a", "Ada.", "A\u200bda", "Ada\N{CROWN}"),
        "\N{CYRILLIC CAPITAL LETTER A}d\N{CYRILLIC SMALL LETTER A}",
        "\N{GREEK CAPITAL LETTER ALPHA}da",
        "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}da",
        "\N{MATHEMATICAL BOLD CAPITAL A}\N{MATHEMATICAL BOLD SMALL D}\N{MATHEMATICAL BOLD SMALL A}",
        "\N{FULLWIDTH LATIN CAPITAL LETTER A}da",
        "\N{MODIFIER LETTER SMALL A}da",
    ],
)
async def test_nobody_takes_or_imitates_a_name(imitation: str) -> None:
    stand = Stand()
    await stand.team.join(await stand.link(), "Ada", ATTEMPT)
    link = await stand.link()
    assert "somebody's name" in await refusal(stand, link, imitation)
    assert (await stand.team.join(link, "Dan", "third")).person.name == "Dan"


async def test_of_two_who_take_one_name_at_the_same_moment_one_has_it_and_the_other_link_stays_good() -> None:
    stand = Stand()
    links = [await stand.link(), await stand.link()]
    came, refused = list[str](), list[str]()

    async def follow(link: str) -> None:
        try:
            came.append((await stand.team.join(link, "Ada", f"attempt {link}")).secret)
        except NotAdmitted:
            refused.append(link)

    async with anyio.create_task_group() as tasks:
        for link in links:
            tasks.start_soon(follow, link)
    assert (len(came), len(refused)) == (1, 1)
    assert (await stand.team.join(refused[0], "Grace", "again and again")).person.name == "Grace"


async def test_an_agents_name_and_an_invisible_one_are_refused() -> None:
    stand = Stand()
    link = await stand.link()
    assert "name of an agent" in await refusal(stand, link, "Gu1de")
    assert "visible" in await refusal(stand, link, "\u200b \u202e")


async def test_who_did_not_get_the_answer_asks_again_and_nobody_else_can() -> None:
    stand = Stand()
    link = await stand.link()
    first = await stand.team.join(link, "Dan", ATTEMPT)
    again = await stand.team.join(link, "Dan", ATTEMPT)
    assert again.person == first.person
    assert again.secret != first.secret
    assert await stand.team.find(first.secret) is None
    assert await stand.team.find((await stand.team.join(link, "Dan", ATTEMPT)).secret) == first.person
    assert "used already" in await refusal(stand, link, "Dan", "the attempt of a thief")


async def test_who_is_logged_out_everywhere_does_not_come_back_by_asking_again() -> None:
    stand = Stand()
    link = await stand.link()
    came = await stand.team.join(link, "Dan", ATTEMPT)
    await stand.team.log_out_everywhere(came.person.id)
    assert "used already" in await refusal(stand, link, "Dan", ATTEMPT)


async def test_logging_out_everywhere_ends_links_for_devices_too() -> None:
    stand = Stand()
    dan = (await stand.team.join(await stand.link(), "Dan", ATTEMPT)).person
    ada = (await stand.team.join(await stand.link(), "Ada", ATTEMPT)).person
    ended, other = await stand.team.invite_device(dan, "Dan"), await stand.team.invite_device(ada, "Ada")
    await stand.team.log_out_everywhere(dan.id)
    assert "not known" in await refusal(stand, ended)
    assert (await stand.team.join(other, "", ATTEMPT)).person == ada


async def test_one_person_has_a_few_links_for_devices_and_leaves_the_others_theirs() -> None:
    stand = Stand()
    dan = (await stand.team.join(await stand.link(), "Dan", ATTEMPT)).person
    waits = await stand.link()
    links = []
    for _ in range(MAX_LINKS + 1):
        links.append(await stand.team.invite_device(dan, "Dan"))
        await stand.clock.advance(1)
    assert "not known" in await refusal(stand, links[-MAX_DEVICE_LINKS - 1])
    assert (await stand.team.join(links[-MAX_DEVICE_LINKS], "", "first")).person == dan
    assert (await stand.team.join(waits, "Ada", "second")).person.name == "Ada"


async def test_a_kill_between_the_name_and_the_role_loses_neither() -> None:
    stand = Stand()
    link = await stand.link(Role.OWNER)
    stand.roles.torn = True
    with pytest.raises(ConnectionAbortedError):
        await stand.team.join(link, "Dan", ATTEMPT)
    came = await stand.team.join(link, "Dan", ATTEMPT)
    assert await stand.team.role(came.person.id) is Role.OWNER


async def test_who_was_blocked_or_removed_is_out_and_does_not_come_back_by_the_old_link() -> None:
    stand = Stand()
    link = await stand.link()
    came = await stand.team.join(link, "Dan", ATTEMPT)
    await stand.people.set(came.person.id, Role.BLOCKED)
    assert await stand.team.find(came.secret) is None
    await stand.people.forget(came.person.id)
    assert await stand.team.find(came.secret) is None
    assert "not in this team" in await refusal(stand, link, "Dan", ATTEMPT)
    assert "somebody's name" in await refusal(stand, await stand.link(), "Dan")
    await stand.people.set(came.person.id, Role.MEMBER)
    assert await stand.team.find(came.secret) == came.person


async def test_a_second_device_is_the_same_person_and_the_oldest_of_too_many_is_logged_out() -> None:
    stand = Stand()
    first = await stand.team.join(await stand.link(), "Dan", ATTEMPT)
    logins = [first.secret]
    for number in range(MAX_LOGINS):
        link = await stand.team.invite_device(first.person, "Dan")
        assert (await stand.team.invitation(link)).person == first.person
        logins.append((await stand.team.join(link, "Mallory", f"device {number}")).secret)
    found = [await stand.team.find(login) for login in logins]
    assert found == [None, *[first.person] * MAX_LOGINS]


async def test_logging_out_ends_one_device_or_all_and_time_ends_each() -> None:
    stand = Stand()
    first = await stand.team.join(await stand.link(), "Dan", ATTEMPT)
    second = await stand.team.join(await stand.team.invite_device(first.person, "Dan"), "", "second")
    await stand.team.log_out(first.secret)
    assert [await stand.team.find(first.secret), await stand.team.find(second.secret)] == [None, first.person]
    await stand.team.log_out_everywhere(first.person.id)
    assert await stand.team.find(second.secret) is None
    assert stand.ended == [first.person.id] * 2
    third = await stand.team.join(await stand.team.invite_device(first.person, "Dan"), "", "third")
    await stand.clock.advance(LOGIN_LASTS_S)
    assert await stand.team.find(third.secret) is None


async def test_a_person_keeps_the_names_of_earlier() -> None:
    stand = Stand()
    dan = (await stand.team.join(await stand.link(), "Dan", ATTEMPT)).person
    assert (await stand.team.rename(dan, "Daniel")).name == "Daniel"
    assert "somebody's name" in await refusal(stand, await stand.link(), "dan")
    assert (await stand.team.rename(dan, "DAN")).name == "DAN"
    known = await stand.people.find(dan.id)
    assert known is not None
    assert known.name == "DAN"
    for number in range(MAX_NAMES - 2):
        await stand.team.rename(dan, f"{'X' * (number + 1)}")
    with pytest.raises(NotAdmitted, match="5 names already"):
        await stand.team.rename(dan, "Another")


async def test_secrets_are_nowhere_in_what_is_stored() -> None:
    stand = Stand()
    link = await stand.link()
    came = await stand.team.join(link, "Dan", ATTEMPT)
    stored = str(stand.records.records)
    assert [secret for secret in (link, came.secret, ATTEMPT) if secret in stored] == []


async def test_links_that_wait_are_bounded_and_ended_ones_are_forgotten() -> None:
    stand = Stand()
    for _ in range(MAX_LINKS):
        await stand.link()
    with pytest.raises(NotAdmitted, match="links wait"):
        await stand.link()
    await stand.clock.advance(4 * 86_400)
    await stand.link()
    assert len(stand.records.records) == 1
