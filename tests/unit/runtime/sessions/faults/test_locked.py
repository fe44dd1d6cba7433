"""The key of a session is missing: its people are told, nothing is lost or overwritten, and others go on."""

from collections.abc import AsyncIterator

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.sessions import Commit
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import UNREADABLE, Fact
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, answered, talking
from tests.unit.runtime.sessions.commands.test_undo import counter

LOCKED = (
    "This conversation is encrypted with a key that is missing now, so it cannot continue. Your message is kept, and "
    "my owner can replay it. /new starts another conversation."
)


class Locked(World):
    """Some sessions cannot be opened."""

    def __init__(self) -> None:
        super().__init__(())
        self.locked: frozenset[SessionId] = frozenset()
        self.written_while_locked: list[Commit] = []

    def lock_all(self) -> None:
        self.locked = frozenset(self._records)

    async def commit(self, commit: Commit, /) -> None:
        if commit.session in self.locked:
            self.written_while_locked.append(commit)
        await super().commit(commit)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        return None if session in self.locked else await super().snapshot(session, version)

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        async for fact in super().read_session(session, after=after, until=until):
            why = {"fields": {}, "locked": "The key 00000000 is missing."}
            yield Fact(fact.tape, fact.seq, UNREADABLE, fact.at, why) if session in self.locked else fact


async def counted() -> Locked:
    """A conversation that has counted to one, and rests."""
    world = Locked()
    await answered(counter(), Model(), "one", world=world, after="hi")
    return world


async def test_who_writes_is_told_and_heard_when_the_key_is_back() -> None:
    world = await counted()
    world.lock_all()
    async with talking(counter(), Model(), world=world) as talk:
        assert await talk.say("two") == [LOCKED]
        await talk.rested()
        assert await talk.say("three") == [LOCKED]
        await talk.rested()
    assert world.written_while_locked == []
    assert [entry.event.text for entry in world.discarded] == ["two", "three"]
    world.locked = frozenset()
    async with talking(counter(), Model(), world=world) as talk:
        assert await talk.say("four") == ["2: four"]


async def test_who_begins_anew_needs_no_key() -> None:
    world = await counted()
    world.lock_all()
    async with talking(counter(), Model(), world=world) as talk:
        assert await talk.say("two") == [LOCKED]
        await talk.say("", kind="new")
        assert await talk.say("three") == ["1: three"]
    assert world.written_while_locked == []


async def test_an_event_that_cannot_be_opened_is_put_aside_and_the_conversation_goes_on() -> None:
    world = Locked()
    async with talking(counter(), Model(), world=world, after=("hi", "one")) as talk:
        talk.post("The key 00000000 is missing.", kind="locked")
        await talk.until(lambda: talk.chat[-1:] == [LOCKED])
        assert await talk.say("two") == ["2: two"]
        assert [event.data["error"] for event in talk.named("content.locked")] == ["The key 00000000 is missing."]
    assert [entry.event.kind for entry in world.discarded] == ["locked"]


async def test_other_conversations_go_on() -> None:
    world, elsewhere = await counted(), Address("test", "2")
    world.lock_all()
    async with talking(counter(), Model(), world=world) as talk:
        assert await talk.say("two") == [LOCKED]
        await talk.say("hi", at=elsewhere)
        assert await talk.say("three", at=elsewhere) == ["1: three"]
