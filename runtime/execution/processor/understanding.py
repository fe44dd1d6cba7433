"""Understanding what comes while something is waited for: an answer, a trigger, or something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from runtime.core.message import Message, MessageType
from runtime.execution.processor.course import Going
from runtime.execution.processor.exchange import Exchange
from runtime.execution.processor.questioner import Awaited, Questioner, understanding
from runtime.execution.questions.question import Choice, Question, Understand, Understood, Value
from runtime.language.instructions.model import Ask, Prose
from runtime.language.value_types import coerced

_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_CODE = re.compile(r"(?=\S*\d)[\w#/.-]+")
_TOKEN = re.compile(r"\w{2,}|\d")
_NUMBER_WORD = re.compile(
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|million|dozen|couple|pair|both|half|once|twice|none|no|a|an|single)\b",
    re.IGNORECASE,
)


class Planned(Protocol):
    """A question with those that can be asked with it."""

    def __call__(
        self, first: Question, unknown: frozenset[str], going: Going | None = None, when: str = "", /
    ) -> Callable[[], list[Question]]: ...


class Understanding:
    """Finds out what people mean; a model is asked only where that is not plain."""

    def __init__(self, exchange: Exchange, questioner: Questioner, planned: Planned, patterns: Collection[str]) -> None:
        """`patterns` are the outcomes that a playbook of the program deals with."""
        self._patterns = patterns
        self._exchange = exchange
        self._work = exchange.work
        self._questioner = questioner
        self._planned = planned

    async def of(self, line: str, part: Ask, awaited: Awaited, heard: Sequence[Message], aside_task: str) -> Understood:
        """What the messages mean. `aside_task` is how one deals with what is something else."""
        plain = None if awaited.until or awaited.triggers else self._plain(part, awaited, heard)
        if plain is not None:
            return plain
        if self._exchange.machine.alone:
            return await self._step_by_step(line, part, awaited)
        question = understanding(line, awaited)

        def plan() -> list[Question]:
            when = self._worded(part, question.outcomes)
            asides = [self._questioner.reply(line, f"aside{awaited.attempt}", aside_task, when)] if when else []
            following = self._planned(question, frozenset(awaited.types), None, "[1] is an answer")()
            return [question, *asides, *following[1:]]

        found: Understood = await self._exchange.answer(
            plan, load=lambda data: Understood(data["does"], data["values"]), store=lambda answer: answer.to_data()
        )
        return found

    def _worded(self, part: Ask, outcomes: Collection[str]) -> str:
        """Under which answers to the first question the model words what is said next."""
        names = ("other", "cancel", "human", *(() if part.wants else ("skip",)))
        listed = [name for name in names if name in outcomes and name not in self._patterns]
        return f"[1] is `instead:` {' or '.join(listed)}" if listed else ""

    @staticmethod
    def _plain(part: Ask, awaited: Awaited, heard: Sequence[Message]) -> Understood | None:
        """An answer that needs no understanding: nothing is wanted of it, or it is a number or a code alone."""
        if not part.wants:
            return Understood("answer", {})
        if len(part.wants) > 1 or len(heard) != 1 or heard[0].type not in (MessageType.DIRECT, MessageType.CHOICE):
            return None
        [(name, kind)] = awaited.types.items()
        text = heard[0].content.strip()
        shape = {"int": _NUMBER, "float": _NUMBER, "": _CODE, "str": _CODE}.get(kind)
        if shape is None or not shape.fullmatch(text):
            return None
        try:
            return Understood("answer", {name: coerced(text.replace(",", "."), kind)})
        except ValueError:
            return None

    # -- for small models: one small question after the other

    async def _step_by_step(self, line: str, part: Ask, awaited: Awaited) -> Understood:
        if awaited.types:
            given = await self._ask(self._questioner.given(line, awaited))
            there = {name: value if was_said(value, awaited.heard) else None for name, value in given.items()}
            if any(value is not None for value in there.values()):
                return Understood("answer", there)
        if isinstance(part.until, Prose):
            done = self._questioner.holds((line, f"done{awaited.attempt}"), part.until.text, self._work.names())
            if await self._ask(done) == "yes":
                return Understood("answer", {})
            if not awaited.triggers:
                return Understood("other", {})
        question = understanding(line, awaited)
        if awaited.triggers:
            starts = await self._triggered(line, awaited)
            if starts is not None:
                return Understood(starts, await self._values(line, starts, question, awaited))
        options = {name: meaning for name, meaning in question.outcomes.items() if name not in awaited.triggers}
        if awaited.types:
            del options["answer"]
        choice = Choice(
            (line, f"does{awaited.attempt}"), f"They wrote: {awaited.quoted} What do they do by this?", options
        )
        does = await self._ask(choice)
        return Understood(str(does), await self._values(line, str(does), question, awaited))

    async def _triggered(self, line: str, awaited: Awaited) -> str | None:
        """The playbook whose trigger fits what somebody wrote; None for none."""
        options = {name: text for name, (text, _) in awaited.triggers.items()}
        task = f"They wrote: {awaited.quoted} Does one of these fit?"
        found = await self._ask(Choice((line, f"trigger{awaited.attempt}"), task, {**options, "none": "none of them"}))
        return None if found == "none" else str(found)

    async def _values(self, line: str, does: str, question: Understand, awaited: Awaited) -> Mapping[str, Any]:
        wanted = question.correctable if does == "correct" else question.arguments.get(does, {})
        if not wanted:
            return {}
        task = f"They wrote: {awaited.quoted} From this give {' and '.join(wanted)}."
        given = await self._ask(Value((line, f"values{awaited.attempt}"), task, wanted, optional=True))
        return {name: value for name, value in given.items() if was_said(value, awaited.heard)}

    async def _ask(self, question: Question) -> Any:
        return await self._exchange.answer(lambda: [question])


def was_said(value: Any, heard: str) -> bool:
    """Whether a value can come from what was heard: a text shares a word with it, a number needs one there."""
    if value is None:
        return False
    if isinstance(value, str):
        said = heard.casefold()
        return any(token in said for token in _TOKEN.findall(value.casefold())) or value.casefold() in said
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _NUMBER_WORD.search(heard) is not None
    return True
