"""Talking with people and agents: what is said, what is waited for, and what people say instead of an answer.

The patterns of what people say instead (correction, cancellation, digression, skipping, repeating, clarification,
hand-over to a person) follow Rasa's CALM, where flows are executed and a model only understands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import PlaybookError
from runtime.core.message import Message
from runtime.core.prompt_forms import LineForm
from runtime.events.frames import HumanRequested
from runtime.execution.processor.ahead import Ahead
from runtime.execution.processor.calls import StepCalls
from runtime.execution.processor.course import Course
from runtime.execution.processor.exchange import Exchange
from runtime.execution.processor.questioner import Awaited, Questioner, expression_text, quoted
from runtime.execution.processor.understanding import NONE, Understanding
from runtime.execution.questions.form import OutcomeChoice, UnderstandAnswer, WordsQuestion
from runtime.execution.triggers.kinds import JudgedTriggers, may_hold_by
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Ask, Instruction, Prose, Say, Template, VariableTarget
from runtime.language.instructions.uses import arguments_of, calls, is_open, reads, sets

MAX_ASKED_AGAIN = 3
"""A person is asked at most this often for what they did not give."""

MAX_ASIDES = 50
"""A person may say this much else before the step gives up."""

_ASIDE = (
    f"{LineForm.REPLY} the person, in your role and by your notes, about what they ask or say now; then come back, in "
    "a few words, to what was asked, unless they want to stop. Only the message itself."
)

_ASIDE_ALONE = f"{LineForm.IN_YOUR_ROLE} with {{source}}, in a sentence or two: {{heard}} Only the message itself."


class Correction(Exception):
    """A person has corrected a value: control goes back to the instruction at `index` of the trail."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Withdrawn(Exception):
    """A person wants to stop what the playbook is for."""


class AgentFacts(Struct, frozen=True):
    """The facts of an agent for all of its frames: the declared types of its variables, the triggers that a model
    judges, and the playbooks that handle what people say instead of an answer, by the pattern."""

    types: Mapping[str, str]
    triggers: JudgedTriggers
    patterns: Mapping[str, str]


class FrameTalk(Struct, eq=False):
    _exchange: Exchange
    _calls: StepCalls
    _questioner: Questioner
    _course: Course
    _known: AgentFacts
    _ahead: Ahead
    _understanding: Understanding

    @property
    def triggered(self) -> Collection[str]:
        """The playbooks that begin when a model judges their trigger to hold."""
        return {*self._known.triggers.by_message, *self._known.triggers.by_state}

    async def say(self, line: str, part: Say | Ask) -> str:
        """Say something to everybody whom a step names; returns the words."""
        part = await self._calls.informed(part)
        targets = [self._exchange.target_of(target) for target in part.targets]
        exact = isinstance(part.words, Template)
        text = await self._exchange.rendered(part.words) if isinstance(part.words, Template) and targets else ""
        for index, target in enumerate(targets):
            if index or exact:
                if text:
                    await self._exchange.say_exactly(target, text)
                continue
            question = self._questioner.words(line, part, self._exchange.work.names())
            asked = self._ahead.planned(question) if isinstance(part, Say) else [question]
            text = await self._exchange.say_words(target, *asked, may_be_silent=question.may_be_silent)
        return text

    # -- asking

    async def ask(self, line: str, part: Ask) -> bool:
        """Ask, wait, and understand what comes, until everything wanted is there. True when nothing was heard but the
        end of the meeting."""
        part = await self._calls.informed(part)
        said = await self.say(line, part) if part.words is not None else ""
        asked_again = 0
        given: set[str] = set()
        for attempt in range(MAX_ASIDES):
            heard = await self._hear(part.sources)
            if any(message.ends_meeting for message in heard):
                return all(message.ends_meeting for message in heard)
            awaited = self._awaited(line, part, said, heard, attempt)
            understood = await self._understanding.of(awaited, heard)
            if understood.does == "answer":
                missing = await self._take(part, understood, given)
                until = part.until
                if not missing and (
                    not isinstance(until, Expression) or await self._exchange.work.holds(until, waits=True)
                ):
                    return False
                asked_again = _counted(asked_again, missing)
                await self._ask_again(awaited, missing)
            elif understood.does == "skip" and part.wants:
                left = [want for want in part.wants if want.name not in given]
                needed = [want.name for want in left if self._is_needed(want.name)]
                if not needed:
                    await self._handled("skip")
                    for want in left:
                        await self._exchange.work.assign(want, None)
                    return False
                asked_again = _counted(asked_again, needed)
                await self._insist(awaited, needed)
            else:
                said = await self._aside(awaited, understood)
        raise PlaybookError("too much else was said while an answer was waited for")

    async def _hear(self, sources: Sequence[str]) -> list[Message]:
        heard: list[Message] = []
        for source in sources:
            heard += await self._exchange.hear(source)
            if any(message.ends_meeting for message in heard):  # what was awaited in it does not come
                break
        return heard

    def _awaited(self, line: str, part: Ask, said: str, heard: Sequence[Message], attempt: int) -> Awaited:
        names = self._exchange.work.names()
        types = {want.name: self._questioner.type_of(want) for want in part.wants}
        correctable = self._correctable(types)
        wrote = "\n".join(message.content for message in heard)
        return Awaited(
            line,
            part,
            said=said,
            asked=quoted(said) if self._alone and said else f"{self._asked(part)}.",
            heard=wrote,
            attempt=attempt,
            types=types,
            until=self._questioner.told(part.until.text, names) if isinstance(part.until, Prose) else "",
            triggers=self._known.triggers.by_message if any(message.from_human for message in heard) else {},
            correctable=correctable,
            aside=self._aside_task(part, wrote),
            unread=all(self._first_reader(frozenset({name})) == (None, None) for name in correctable),
        )

    @property
    def _alone(self) -> bool:
        return self._exchange.context.alone

    def _is_needed(self, wanted: str) -> bool:
        """Whether a call of this playbook passes a value to a parameter that takes no "not given"."""
        if "skip" in self._known.patterns:
            return False
        passed = (argument for one in self._course.instructions() for argument in arguments_of(one))
        return any(name == wanted and self._calls.needs(call, parameter) for call, parameter, name in passed)

    async def _take(self, part: Ask, understood: UnderstandAnswer, given: set[str]) -> list[str]:
        """Set what was given, and add it to `given`; returns what is still missing."""
        for want in part.wants:
            value = understood.values.get(want.name)
            if value is not None:
                await self._exchange.work.assign(want, value)
                given.add(want.name)
        return [want.name for want in part.wants if want.name not in given]

    async def _ask_again(self, awaited: Awaited, missing: Sequence[str]) -> None:
        if missing:
            wanted = " and ".join(name.replace("_", " ") for name in missing)
            such_as = self._questioner.such_as(f'For example: "Please tell me the {wanted}."')
            asked = self._asked(awaited.part)
            task = f"{LineForm.ASK_AGAIN} in other words, for {wanted}. They were asked: {asked}.{such_as}"
        else:
            until = f"{expression_text(awaited.part.until)}: {self._asked(awaited.part)}"
            task = f"{LineForm.GO_ON_UNTIL} {until}. Write the next message to the person."
        await self._reply(awaited, "again", task)

    def _asked(self, part: Ask) -> str:
        return self._questioner.asked(part, self._exchange.work.names()) or "an answer to the last message"

    async def _reply(self, awaited: Awaited, what: str, task: str, authored: tuple[str, ...] = ()) -> None:
        question = WordsQuestion(awaited.key(what), task, authored=authored)
        await self._exchange.say_words(self._partner(awaited.part), question)

    def _partner(self, part: Ask) -> str:
        return self._exchange.target_of(part.targets[0]) if part.targets else "user"

    # -- what people say instead of an answer

    async def _insist(self, awaited: Awaited, needed: Sequence[str]) -> None:
        """Tell somebody who does not want to answer that a step needs it."""
        names = " and ".join(name.replace("_", " ") for name in needed)
        such_as = self._questioner.such_as(f'For example: "I need your {names} to go on."')
        task = (
            f"{LineForm.UNWILLING} their {names}. Write the next message to the person. It must do this: "
            f"tell them kindly that you need their {names} to go on."
            f"{such_as} Only the message itself."
        )
        await self._reply(awaited, "needed", task)
        await self._asked_again(awaited)

    async def _aside(self, awaited: Awaited, understood: UnderstandAnswer) -> str:
        """Deal with another message than an answer; the wait continues. Returns the question as it stands then."""
        said, does = awaited.said, understood.does
        if does in self._known.triggers.by_message:
            await self._start(does, understood.values)
            if not await self._asked_again(awaited):
                await self._reply(awaited, "back", f"{LineForm.COME_BACK} {self._asked(awaited.part)}.")
        elif does == "correct" and does not in self._known.patterns:
            said = await self._correct(awaited, understood.values)
        elif not await self._handled(does) and not (
            does == "repeat" and await self._exchange.say_again(self._partner(awaited.part))
        ):
            if does == "human":
                self._exchange.asking.calls.publish(HumanRequested(*self._exchange.asking.calls.at))
            authored = (awaited.heard,) if self._alone and awaited.heard else ()  # small models write what they heard
            await self._reply(awaited, "aside", awaited.aside, authored)
            if does != "cancel":
                await self._asked_again(awaited)
        if does == "cancel":
            raise Withdrawn
        return said

    def _returns(self, awaited: Awaited) -> bool:
        """Whether the question has to be asked once more: a small model does not return to it on its own."""
        return self._alone and bool(awaited.said) and not awaited.until

    async def _asked_again(self, awaited: Awaited) -> bool:
        """Repeat the question in the same words, if need be."""
        if not self._returns(awaited):
            return False
        await self._exchange.say_exactly(self._partner(awaited.part), awaited.said)
        return True

    async def _asked_anew(self, awaited: Awaited) -> str:
        """Ask once more, if need be, by the values as they are now; returns the words."""
        if not self._returns(awaited):
            return awaited.said
        words = awaited.part.words
        if isinstance(words, Prose):
            question = self._questioner.words(awaited.line, awaited.part, self._exchange.work.names())
            question = replace(question, key=awaited.key("anew"))
            return await self._exchange.say_words(self._partner(awaited.part), question)
        said = awaited.said if words is None else await self._exchange.rendered(words)
        return await self._exchange.say_exactly(self._partner(awaited.part), said)

    def _aside_task(self, part: Ask, wrote: str) -> str:
        """The task for a message that is no answer; for small models it repeats the message."""
        going_on = f"to go on with this: {self._asked(part)}" if isinstance(part.until, Prose) else ""
        if self._alone:
            source = "what you know" if going_on else "what your notes say"
            return _ASIDE_ALONE.format(heard=quoted(wrote), source=source)
        if going_on:
            return f"{LineForm.WRITE} the person, by your notes, {going_on}. Nothing else."
        return _ASIDE

    async def _handled(self, pattern: str) -> bool:
        """Execute the program's own playbook for what people say instead of an answer; False where it has none."""
        handler = self._known.patterns.get(pattern)
        if handler is not None:
            await self._exchange.work.call(handler)
        return handler is not None

    async def _start(self, playbook: str, values: Mapping[str, Any]) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        value = await self._exchange.work.call(playbook, (), given)
        gave = "" if value is None else f" and gave {value!r:.200}"
        self._exchange.work.notes.append(f"{LineForm.DONE.format(name=playbook)}{gave})")

    def _correctable(self, wanted: Mapping[str, str]) -> dict[str, str]:
        frame = self._exchange.work.frame
        known: dict[str, str] = {}
        for line, _ in frame.state.trail:
            for part in self._course.node(line).instruction.parts:
                if isinstance(part, Ask):
                    known |= {want.name: self._questioner.type_of(want) for want in part.wants}
        return {name: kind for name, kind in known.items() if name in frame.agent.variables and name not in wanted}

    async def _correct(self, awaited: Awaited, values: Mapping[str, Any]) -> str:
        """Replace values, and go back to the first exact step that has read one, unless what was done since then cannot
        be taken back; where none has, reply. Returns the question as it stands then. Raises Correction."""
        index, irrevocable = self._first_reader(frozenset(values))
        if irrevocable is not None:
            too_late = (
                f"{LineForm.CORRECTED} {', '.join(values)}, but it was already used by {irrevocable}, which cannot be "
                "taken back. Say so, and come back to what was asked."
            )
            await self._reply(awaited, "late", too_late)
            return awaited.said
        for name, value in values.items():
            await self._exchange.work.assign(VariableTarget(name), value)
        if index is not None:
            raise Correction(index)
        await self._reply(awaited, "aside", _noted(values) if self._alone else awaited.aside)
        return await self._asked_anew(awaited)

    def _first_reader(self, names: frozenset[str]) -> tuple[int | None, str | None]:
        """The place in the trail of the first instruction that read one of the values since it was set, and the
        obstacles to going back there.
        """
        trail = self._exchange.work.frame.state.trail[:-1]
        instructions = [self._course.node(line).instruction for line, _ in trail]
        given = max((at for at, one in enumerate(instructions) if sets(one) & names), default=-1)
        readers = [at for at in range(given + 1, len(instructions)) if reads(instructions[at]) & names]
        if not readers:
            return None, None
        for instruction in instructions[readers[0] :]:
            if is_open(instruction):
                return readers[0], "a step before"
            for name in calls(instruction):
                if not self._calls.is_pure(name):
                    return readers[0], name
        return readers[0], None

    # -- triggers that only a model can judge

    async def judge(self, line: str, instruction: Instruction) -> None:
        """After an update: whether one of the conditions holds now that only a model can judge."""
        changed = sets(instruction)
        by_state = {name: text for name, text in self._known.triggers.by_state.items() if may_hold_by(text, changed)}
        if not by_state:
            return
        options = {**by_state, NONE: "none of them holds now"}
        question = OutcomeChoice((line, "triggers"), f"{LineForm.TRIGGERED} by what has changed?", options)
        found = await self._exchange.answer(question)
        if found != NONE:
            await self._start(str(found), {})


def _counted(asked_again: int, missing: Sequence[str]) -> int:
    """The number of times that a person was asked again. Raises PlaybookError where that is too often."""
    if missing and asked_again == MAX_ASKED_AGAIN:
        raise PlaybookError(f"nobody gave {' and '.join(f'${name}' for name in missing)}")
    return asked_again + bool(missing)


def _noted(values: Mapping[str, Any]) -> str:
    noted = " and ".join(f"{name.replace('_', ' ')} is {value}" for name, value in values.items())
    return f"{LineForm.WRITE} the person. It must do this: Confirm that {noted}. Only the message itself."
