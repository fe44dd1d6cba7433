"""What a program is told of what was said before: bounded, and only by those who may be heard."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Adapter, Inbound
from gateway.access.admission import PlatformAccess
from gateway.access.people import Role
from gateway.inbound.earlier import EarlierMessages
from gateway.settings.operation import ContextSettings
from runtime.core.address import Address
from runtime.core.errors import NotDelivered
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.sessions.inbound.arrivals import EarlierWords
from runtime.stores.inbox import InboxEvent
from tests.fakes.clock import FakeClock
from tests.fakes.memory.kept_words import MemoryKeptWords
from tests.unit.gateway.inbound.arrivals import NOW, event, opened, people

HERE = Address("test", "-5", "t1")
ASKED = InboxEvent("e1", HERE, "test:42", "Ada", "sum this up", NOW, message_id="m9", private=False)


class History:
    """A platform that tells this of its past."""

    def __init__(self, said: Sequence[Inbound] | Exception) -> None:
        self._said = said
        self.asked: list[tuple[Address, str, int]] = []

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        self.asked.append((to, before, at_most))
        if isinstance(self._said, Exception):
            raise self._said
        return self._said


@dataclass(frozen=True)
class Place:
    adapter: Adapter
    access: PlatformAccess


def said(text: str, person: str = "42", **more: Any) -> Inbound:
    one = event(text, person=person, chat="-5", thread="t1", private=False, addressed=False, **more)
    return replace(one, person_id=one.person_id if person else "", person_name="Ada" if person else "Grafana")


def reading(limits: ContextSettings, clock: FakeClock | None = None, **platforms: Place) -> EarlierMessages:
    clock = clock or FakeClock()
    return EarlierMessages(platforms, limits, MemoryKeptWords(clock), clock)


async def told(
    history: History, limits: ContextSettings | None = None, access: PlatformAccess | None = None
) -> EarlierWords:
    place = Place(cast("Adapter", history), access or await opened("open"))
    return await reading(limits or ContextSettings(), test=place).before(ASKED)


async def test_it_is_told_with_names_times_bots_cards_and_files() -> None:
    file = Attachment("a.png", "image/png", "test:1")
    card = Quote("", "", "CPU", "card")
    history = History([said("one", attachments=(file,)), said("", person="", around=(card,))])
    words = await told(history)
    assert words.said == (
        Quote("m1", "Ada", "one", "said", ("a.png",), (), NOW, "test:42"),
        Quote("m1", "Grafana", "", "bot", (), (card,), NOW),
    )
    assert words.files == (file,)
    assert history.asked == [(HERE, "m9", 100)]


async def test_who_may_not_be_heard_is_not_in_the_past_of_others() -> None:
    access = await opened(store=people(_42=Role.MEMBER, _43=Role.BLOCKED, _44=Role.GUEST))
    history = History(
        [said("mine"), said("blocked", "43"), said("guest", "44"), said("stranger", "45"), said("bot", "")]
    )
    assert [one.text for one in (await told(history, access=access)).said] == ["mine", "bot"]
    answers = [
        said("so?", quote=Quote("m0", "Eve", "unheard", person=f"test:{person}")) for person in ("42", "43", "44", "45")
    ]
    inside = [[quote.text for quote in one.inside] for one in (await told(History(answers), access=access)).said]
    assert inside == [["unheard"], [], [], []]


async def test_people_who_may_not_be_heard_take_nobodys_place_and_the_beginning_of_a_thread_keeps_its_own() -> None:
    access = await opened(store=people(_42=Role.MEMBER, _44=Role.GUEST))
    some = [said(str(number), "44" if number % 2 else "42") for number in range(100)]
    words = (await told(History(some), ContextSettings(messages=20), access)).said
    assert [one.text for one in words] == ["0", *(str(number) for number in range(62, 100, 2))]
    guests = [said("start", "44"), *some]
    words = (await told(History(guests), ContextSettings(messages=20), access)).said
    assert [one.text for one in words] == [str(number) for number in range(60, 100, 2)]


async def test_the_latest_are_kept_within_the_limits() -> None:
    old = replace(said("old"), sent_at=NOW - timedelta(hours=3))
    voice = Attachment("v.ogg", "audio/ogg", "test:v")
    files = tuple(Attachment(f"{n}.png", "image/png", f"test:{n}") for n in range(3))
    history = History([old, said("x" * 90), said("one"), said("two", attachments=(*files, voice))])
    words = await told(history, ContextSettings(messages=9, chars=50, hours=2, files=2))
    assert [one.text for one in words.said] == ["one", "two"]
    assert [file.name for file in words.files] == ["1.png", "2.png"]


@pytest.mark.parametrize("trouble", [NotDelivered("no"), KeyError("x"), TimeoutError()])
async def test_a_platform_that_does_not_tell_stops_nothing(trouble: Exception) -> None:
    assert await told(History(trouble)) == EarlierWords()


async def test_nobody_is_asked_where_it_is_switched_off_or_the_platform_tells_nothing() -> None:
    history = History([said("one")])
    assert await told(history, ContextSettings(messages=0)) == EarlierWords()
    assert history.asked == []
    silent = Place(cast("Adapter", object()), await opened("open"))
    assert await reading(ContextSettings(), test=silent).before(ASKED) == EarlierWords()
    assert await reading(ContextSettings()).before(ASKED) == EarlierWords()
    await anyio.lowlevel.checkpoint()


KEEPS = ContextSettings(messages=5, keep_hours=2)


async def mute(mode: Any = "open", **roles: Role) -> Place:
    """A platform that cannot be asked for its past."""
    return Place(cast("Adapter", object()), await opened(mode, store=people(None, **roles)))


async def test_what_a_silent_platform_brought_is_kept_as_it_is_now_and_told_from_before_the_mention() -> None:
    clock, place = FakeClock(), await mute()
    past = reading(KEEPS, clock, test=place)
    card = Quote("", "Grafana", "CPU", "card")
    for number, text in enumerate(["zero", "one", "two", "three"]):
        await past.keep(said(text, message_id=f"m{number}", around=(card,)))
    await past.keep(replace(said("won", message_id="m1"), act="edit", sent_at=NOW + timedelta(hours=1)))
    await past.keep(said("", person="", message_id="m4", around=(card,)))
    await past.keep(said("sum this up", message_id="m9"))
    await past.keep(said("later", message_id="m10"))
    words = await past.before(ASKED)
    assert [(one.text, one.kind) for one in words.said] == [
        ("won", "said"),
        ("two", "said"),
        ("three", "said"),
        ("", "bot"),
    ]
    assert {(one.said_at, one.inside) for one in words.said[1:]} == {(NOW, (card,))}
    assert words.said[0].said_at == NOW
    await clock.advance(2 * 3_600)
    assert await past.before(ASKED) == EarlierWords()


@pytest.mark.parametrize(
    "heard",
    [
        replace(said("private"), private=True),
        said("", command="help"),
        said(" "),
        said("a mark", act="reaction"),
        said("old", id="x"),
        said("a stranger", "45"),
        said("blocked", "43"),
        said("a guest", "44"),
    ],
    ids=lambda one: one.text or str(one.command),
)
async def test_what_is_private_a_command_old_or_of_people_without_access_is_not_kept(heard: Inbound) -> None:
    place = await mute("pairing", _42=Role.MEMBER, _43=Role.BLOCKED, _44=Role.GUEST)
    past = reading(KEEPS, test=place)
    await past.keep(replace(heard, sent_at=NOW - timedelta(hours=3)) if heard.text == "old" else heard)
    assert await past.before(ASKED) == EarlierWords()
    await past.keep(said("mine"))
    assert len((await past.before(ASKED)).said) == 1


@pytest.mark.parametrize(("author", "told"), [("43", ()), ("44", ("what they wrote",)), ("", ("what they wrote",))])
async def test_of_what_is_answered_nothing_of_people_without_access_is_kept(author: str, told: tuple[str]) -> None:
    past = reading(KEEPS, test=await mute("pairing", _42=Role.MEMBER, _43=Role.BLOCKED, _44=Role.MEMBER))
    answered = Quote("m0", "Eve", "what they wrote", files=("theirs.png",), person=author and f"test:{author}")
    own, theirs = Attachment("own.png", "image/png", "test:1"), Attachment("theirs.png", "image/png", "test:2")
    await past.keep(replace(said("so?", attachments=(own, replace(theirs, quoted=True))), quote=answered))
    words = await past.before(ASKED)
    assert tuple(quote.text for quote in words.said[0].inside) == told
    assert words.files == (own,)


async def test_what_is_taken_back_is_told_to_nobody_whoever_took_it_back() -> None:
    clock, kept = FakeClock(), MemoryKeptWords(FakeClock())
    before = EarlierMessages({"test": await mute()}, KEEPS, kept, clock)
    for number in (1, 2, 3):
        await before.keep(said(str(number), "43", message_id=f"m{number}"))
    await before.keep(said("", "43", message_id="m2", act="deletion"))
    since = EarlierMessages({"test": await mute(_43=Role.BLOCKED)}, ContextSettings(), kept, clock)
    await since.keep(said("", "43", message_id="m3", act="deletion"))
    assert [one.text for one in (await before.before(ASKED)).said] == ["1"]


async def test_what_has_no_id_is_not_kept_since_it_could_not_be_told_apart() -> None:
    past = reading(KEEPS, test=await mute())
    await past.keep(replace(said("without"), message_id=None))
    await past.keep(said("with"))
    assert [one.text for one in (await past.before(replace(ASKED, message_id=None))).said] == ["with"]


async def test_who_lost_access_since_is_not_told_and_without_the_setting_nothing_is_kept() -> None:
    clock, kept = FakeClock(), MemoryKeptWords(FakeClock())
    before = EarlierMessages({"test": await mute()}, KEEPS, kept, clock)
    await before.keep(said("mine"))
    await before.keep(said("theirs", "43", message_id="m2"))
    since = EarlierMessages({"test": await mute(_43=Role.BLOCKED)}, KEEPS, kept, clock)
    assert [one.text for one in (await since.before(ASKED)).said] == ["mine"]
    off = EarlierMessages({"test": await mute()}, ContextSettings(), kept, clock)
    await off.keep(said("more", message_id="m3"))
    assert await off.before(ASKED) == EarlierWords()
    assert len((await before.before(ASKED)).said) == 2


async def test_of_a_platform_that_tells_its_past_nothing_is_kept() -> None:
    kept, clock = MemoryKeptWords(FakeClock()), FakeClock()
    place = Place(cast("Adapter", History([])), await opened("open"))
    await EarlierMessages({"test": place}, KEEPS, kept, clock).keep(said("one"))
    assert list(await kept.before(HERE, "")) == []
