"""What an agent says comes in pieces to who follows its task, and is put together as the protocol says."""

from __future__ import annotations

from a2a.types import TaskArtifactUpdateEvent
from google.protobuf.json_format import MessageToDict

from gateway.clients.tasks.service import ClientTask
from gateway.clients.tasks.view import TaskView
from gateway.features.a2a.messages import GrowingTexts, Named, task_of
from runtime.core.ids import SessionId
from runtime.tape.facts.content import Content
from runtime.tape.facts.people import PageBegun, PageClosed, PageFinished, PageGrew
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.tape import Fact, session_tape
from tests.contract.storage_samples import T0
from tests.fakes.protocols.a2a_schema import validate

TASK = SessionId("t")


class Followed:
    """A task, fact by fact, and its follower from some fact on."""

    def __init__(self, *before: Content) -> None:
        self.task = ClientTask(TASK, "desk", TaskView())
        self.note(*before)
        self._growing = GrowingTexts(self.task)

    def note(self, *contents: Content) -> None:
        for one in contents:
            seq = self.task.view.seq + 1
            self.task.view.note(Fact(session_tape(TASK), seq, one.kind, T0, one.data()))

    def after(self, *contents: Content) -> list[tuple[str, bool, bool]]:
        """The pieces that come of these facts: text, whether it is appended, whether it is the last."""
        self.note(*contents)
        return [self._piece(update) for update in self._growing.updates(self.task, "c")]

    def _piece(self, update: TaskArtifactUpdateEvent) -> tuple[str, bool, bool]:
        validate("TaskArtifactUpdateEvent", MessageToDict(update))
        assert update.artifact.artifact_id == "t.1"
        return update.artifact.parts[0].text, update.append, update.last_chunk


BEGUN = PageBegun("1000.0", "1000", "user")


def test_pieces_are_appended_and_the_message_of_the_same_id_has_them_all() -> None:
    followed = Followed(BEGUN)
    assert followed.after(PageGrew("1", 0, "Once ")) == [("Once ", False, False)]
    assert followed.after(PageGrew("1", 5, "there ")) == [("there ", True, False)]
    assert followed.after(PageFinished("1", "Once there was.")) == [("was.", True, True)]
    assert followed.after() == []
    task = task_of(followed.task, Named("t", "c"))
    assert [(one.message_id, one.parts[0].text) for one in task.history] == [("t.1", "Once there was.")]
    assert not task.artifacts


def test_who_follows_later_goes_on_from_what_the_task_has() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once "))
    artifacts = task_of(followed.task, Named("t", "c")).artifacts
    assert [(one.artifact_id, one.parts[0].text) for one in artifacts] == [("t.1", "Once ")]
    assert followed.after(PageGrew("1", 5, "there ")) == [("there ", True, False)]


def test_a_text_that_became_another_one_takes_the_place_of_what_was_told() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once there "))
    assert followed.after(PageGrew("1", 0, "Long ago")) == [("Long ago", False, False)]
    assert followed.after(PageFinished("1", "Now")) == [("Now", False, True)]


def test_what_is_broken_off_ends_as_it_was_to_be_read_and_what_nobody_read_is_not_said() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once "))
    assert followed.after(PageClosed("1", "Once \N{BLACK SQUARE FOR STOP}")) == [
        ("\N{BLACK SQUARE FOR STOP}", True, True)
    ]
    unread = Followed(BEGUN)
    assert unread.after(PageClosed("1", "")) == []
    assert not unread.task.view.said


def test_what_is_finished_at_once_comes_in_no_pieces_and_a_task_that_is_over_grows_no_more() -> None:
    followed = Followed(BEGUN)
    assert followed.after(PageFinished("1", "hello")) == []
    cut = Followed(BEGUN, PageGrew("1", 0, "Once "))
    assert cut.after(OrderOver("failed", error="it ran out of time")) == []
    assert not task_of(cut.task, Named("t", "c")).artifacts
