"""Approvals that people gave a task: read from its tape, each by a word that is checked.

A task's process writes its own tape. So a question is shown as it is there or not at all, and an answer is written
there only if it came in an event. After a restart the tape can be believed, since all that was checked before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.core.errors import TaskRefused
from runtime.core.message import Choice
from runtime.core.plain_text import whole_number
from runtime.core.texts import Texts
from runtime.execution.calls.ask import option_of
from runtime.execution.prompt.situation import shown_value
from runtime.playbooks.remote import ARGUMENT_CHARS, QUESTION, allows
from runtime.stores.inbox import InboxEntry
from runtime.tape.facts.agents import MessageQueued
from runtime.tape.facts.calls import EffectIntended, QuestionAsked, QuestionAskedAgain
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.pages import PartSent
from runtime.tape.facts.registry import read_as
from runtime.tape.tape import Fact

_ASKS_CHARS = 200
"""What may stand before a question: which task asks."""


@dataclass(slots=True)
class _Question:
    """A question of a frame, the platform's ids of what people see of it, and the answer."""

    frame: str
    pos: str
    text: str
    options: Sequence[str]
    messages: set[str] = field(default_factory=set)
    answer: str = ""


class Approvals:
    """The calls of tools that one task makes, and what people have said of them."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._keys: dict[str, str] = {}
        self._questions: dict[str, _Question] = {}
        self._sent: set[tuple[str, str]] = set()

    def sent(self, page: str, message: str) -> None:
        """A part of a page has become this message of a platform."""
        self._sent.add((page, message))

    def check_shown(self, page: str, text: str, choices: Sequence[Choice]) -> None:
        """Raise TaskRefused for a question with options that is not on the tape as people are to see it."""
        labels = [choice.label for choice in choices if not choice.free]
        question = self._questions.get(page)
        if not labels:
            return
        numbered = all(choice.id.endswith(f".{page}.{number}") for number, choice in enumerate(choices))
        if question is None or not numbered or (question.text, list(question.options)) != (text, labels):
            raise TaskRefused("People are shown a question as it is on the tape of its task.")

    def read(self, fact: Fact, given: Collection[InboxEntry] | None = None) -> None:
        """Learn from a fact of the task's tape. `given` are the events that its process was given, if the fact is to be
        written now. Raises TaskRefused for an answer that nobody has given."""
        if (started := read_as(fact, FrameStarted)) is not None:
            self._calls.setdefault(started.frame, (started.playbook, dict(started.kwargs)))
        elif (intended := read_as(fact, EffectIntended)) is not None:
            self._keys.setdefault(intended.frame, intended.effect)
        elif (asked := read_as(fact, QuestionAsked)) is not None:
            self._asks(asked.page, _Question(asked.frame, asked.pos, asked.text, list(asked.options)))
        elif (again := read_as(fact, QuestionAskedAgain)) is not None:
            place = (again.frame, again.pos)
            first = next((one for one in self._questions.values() if (one.frame, one.pos) == place), None)
            if first is not None:
                self._asks(again.page, _Question(*place, first.text, first.options))
        elif (part := read_as(fact, PartSent)) is not None and part.page in self._questions:
            if given is not None and (part.page, part.platform_id) not in self._sent:
                raise TaskRefused("No such message was sent.")
            self._questions[part.page].messages.add(part.platform_id)
        elif (queued := read_as(fact, MessageQueued)) is not None:
            self._answers(queued, given)

    def _asks(self, page: str, question: _Question) -> None:
        if page in self._questions:
            raise TaskRefused("A page asks one question.")
        self._questions[page] = question

    def _answers(self, queued: MessageQueued, given: Collection[InboxEntry] | None) -> None:
        message = queued.message
        question = self._questions.get(message.answers or "")
        if question is None or question.pos != QUESTION:
            return
        if given is not None:
            said = [
                _said(entry, str(message.answers), question) for entry in given if f"in.{entry.event.id}" == message.id
            ]
            if message.content not in said:
                raise TaskRefused("Nobody has given this answer.")
        question.answer = question.answer or message.content

    def allowed(self, name: str, arguments: Mapping[str, Any], key: str, texts: Texts) -> bool:
        """Whether people have allowed this one call of a tool, which has this key."""
        shown = ", ".join(f"{param}={shown_value(value, ARGUMENT_CHARS)}" for param, value in arguments.items())
        wanted, options = texts("tools.may", tool=name, arguments=shown), [texts("tools.yes"), texts("tools.no")]
        return any(
            self._calls.get(question.frame) == (name, arguments)
            and self._keys.get(question.frame) == key
            and question.pos == QUESTION
            and question.text.endswith(wanted)
            and len(question.text) <= len(wanted) + _ASKS_CHARS
            and list(question.options) == options
            and allows(question.answer, texts)
            for question in self._questions.values()
        )


def _said(entry: InboxEntry, page: str, question: _Question) -> str | None:
    """The answer to a question in an event: an option that was pressed, or words that reply to the question."""
    event = entry.event
    _, asked, index = [*(event.choice or "").split("."), "", ""][:3]
    if asked != page:
        return None
    if event.kind == "choice":
        number = whole_number(index, len(question.options) - 1)
        return None if number is None else question.options[number]
    replies = event.quote is not None and event.quote.message_id in question.messages
    return option_of(event.text, question.options) if replies else None
