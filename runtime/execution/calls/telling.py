"""The host call with which an agent speaks to a task of its own, and a task to who has ordered it."""

from __future__ import annotations

from typing import Any

from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import ORDERER, is_orderer
from runtime.core.json_text import write_json
from runtime.execution.calls.tasks import TaskCalls
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call
from runtime.tape.facts.calls import CallReturned
from runtime.tape.facts.tasks import WordToOrderer, WordToTask
from runtime.tape.journal import Journal, as_data

MAX_WORD_CHARS = 20_000
"""The length of one word to a task or its orderer."""

MAX_WORDS = 100
"""Words to one task, or to the orderer, that wait there, or on the way."""

MAX_HOPS = 40
"""The longest chain of words to and fro that no person and no pause interrupts: twenty questions and their answers."""


class TellCalls:
    """`Tell`, for one session. It names tasks of this session and its orderer, and nobody else: no address."""

    def __init__(self, journal: Journal, tasks: TaskCalls, *, is_task: bool) -> None:
        """`is_task`: somebody has ordered what this session does, and not what one does from which it was copied."""
        self._journal = journal
        self._tasks = tasks
        self._is_task = is_task

    @call("Tell", example='await Tell("task 1", "the deadline moved")')
    def tell(self, frame: Frame, call: FrameCall, task: Any, message: Any) -> None:
        """Says something to a running task that was ordered here, by its name, or in a task with "orderer" to who has
        ordered it.

        The other side hears it where it waits for "orderer", or for the task by its name; an agent that does not wait
        sees it when a model is asked next. "Researcher.Study" means the latest task of the calling agent that runs this
        playbook.
        """
        text = _text(message)
        agent = frame.state.agent
        if is_orderer(str(task)):
            self._check_orderer()
            hops = self._hops(0, ORDERER, "who has ordered this")
            self._journal.note(WordToOrderer(agent, text, hops))
        else:
            number = self._open(frame, task)
            hops = self._hops(number, name := f"task {number}", name)
            self._journal.note(WordToTask(agent, number, text, hops))
        self._journal.note(CallReturned(*site(frame, call)))
        self._journal.hurry()

    def _check_orderer(self) -> None:
        """Raises UnknownTarget where nobody has ordered this, PlaybookError where it is over."""
        order = self._journal.state.order
        if order is None or not self._is_task:
            raise UnknownTarget("nobody has ordered this: only a task has an orderer")
        if order.over:
            raise PlaybookError("this task has ended; its orderer gets the result, and hears no more")

    def _open(self, frame: Frame, named: object) -> int:
        """The number of a task that is at work. Raises UnknownTarget and PlaybookError."""
        found = self._tasks.find(self._tasks.meant(frame, named))
        if found.over:
            raise PlaybookError(f"{found.name} ({found.klass}.{found.playbook}) has ended, and hears no more")
        return found.number

    def _hops(self, number: int, name: str, whom: str) -> int:
        """How many words lead to this one, itself included. Raises PlaybookError where too much waits already, or the
        two answer each other without end."""
        hops = self._journal.state.hops.get(name, 0) + 1
        if sum(word.number == number for word in self._journal.state.words) >= MAX_WORDS:
            raise PlaybookError(f"{whom} was told nothing: {MAX_WORDS} words before this one wait to be heard")
        if hops > MAX_HOPS:
            raise PlaybookError(
                f"{whom} was told nothing: {MAX_HOPS} words have led here one after the other, without a person or a "
                "pause between them, so the two seem to answer each other without end"
            )
        return hops


def _text(message: Any) -> str:
    """What is told. Raises PlaybookError for nothing, for too much, and for what is no data."""
    try:
        text = message if isinstance(message, str) else write_json(as_data(message))
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"Tell takes a text, or data: {error}") from error
    if not text.strip():
        raise PlaybookError("Tell needs something to say")
    if len(text) > MAX_WORD_CHARS:
        raise PlaybookError(f"what is told has at most {MAX_WORD_CHARS:,} characters, this has {len(text):,}")
    return text
