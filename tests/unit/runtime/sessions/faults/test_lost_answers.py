"""A commit that was applied, and whose answer was lost for good, has taken its events: nobody takes them again."""

import pytest

from runtime.core.errors import StorageUnavailable
from runtime.stores.sessions import Commit
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.commands.test_undo import counter, undone


class Losing(World):
    """Loses the answer to the commit that takes a certain event; `applied` says whether it takes effect."""

    def __init__(self, entry: str, *, applied: bool = True) -> None:
        super().__init__(())
        self._entry: str | None = entry
        self._applied = applied

    async def commit(self, commit: Commit, /) -> None:
        lost = self._entry in commit.consume
        if lost:
            self._entry = None
        if not lost or self._applied:
            await super().commit(commit)
        if lost:
            raise StorageUnavailable("the store did not answer in time")


@pytest.mark.parametrize("applied", [True, False])
async def test_a_message_is_taken_once(applied: bool) -> None:
    async with talking(counter(), Model(), world=Losing("2", applied=applied), after="hi") as talk:
        assert await talk.say("one") == ["1: one"]
        assert await talk.say("two") == ["2: two"]
        assert len(talk.facts("heard")) == 3
        assert talk.world.discarded == []


@pytest.mark.parametrize("applied", [True, False])
async def test_the_message_that_begins_a_session_begins_one(applied: bool) -> None:
    async with talking(counter(), Model(), world=Losing("1", applied=applied), after="hi") as talk:
        assert await talk.say("one") == ["1: one"]
        assert len(talk.world._records) == 1
        assert len(talk.facts("begin")) == 1


@pytest.mark.parametrize("applied", [True, False])
async def test_an_exchange_is_undone_once(applied: bool) -> None:
    async with talking(counter(), Model(), world=Losing("4", applied=applied), after=("hi", "one", "two")) as talk:
        assert await talk.say("", kind="undo") == [undone("two")]
        assert await talk.say("2") == ["2: 2"]


@pytest.mark.parametrize("applied", [True, False])
async def test_a_new_session_is_begun_once(applied: bool) -> None:
    async with talking(counter(), Model(), world=Losing("3", applied=applied), after=("hi", "one")) as talk:
        await talk.say("", kind="new")
        assert await talk.say("x") == ["1: x"]
        assert len(talk.world._records) == 2
