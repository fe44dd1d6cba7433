"""Understanding messages during a wait: an answer, a trigger, or something else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.message import Message, MessageType
from runtime.core.prompt_forms import LineForm
from runtime.execution.processor.ahead import Ahead
from runtime.execution.processor.exchange import Exchange
from runtime.execution.processor.questioner import NEITHER, YES_NO, Awaited, Questioner, understanding
from runtime.execution.prompt.situation import shown_value
from runtime.execution.prompt.with_files import file_value, is_picture, reference
from runtime.execution.questions.form import (
    OutcomeChoice,
    Question,
    UnderstandAnswer,
    UnderstandQuestion,
    WordsQuestion,
)
from runtime.language.instructions.talk import IS_DONE
from runtime.language.value_types import FILE_TYPES, coerced
from runtime.language.vocabulary.phrase import phrase, phrases_of
from runtime.language.vocabulary.word_list import WORD

_CODE = re.compile(r"(?=\S*\d)[\w#/.-]+")
_DIGITS = re.compile(r"-?\d+(?:[.,]\d+)*")
_NUMBERS: Mapping[str, float] = {
    **dict.fromkeys(("a", "an", "once", "single"), 1),
    **dict.fromkeys(("couple", "pair", "both", "twice"), 2),
    **dict.fromkeys(("no", "none", "nothing", "nobody"), 0),
    "half": 0.5,
}
"""Words that may stand for a number."""

NONE, OTHER = "none", "other"
_OPEN, _DONE = "goes_on", "done"

_AGREED: Mapping[str, bool | None] = {"yes": True, "no": False, NEITHER: None}

_SOMETHING_ELSE = {"question": "they ask a question of their own, or say something else"}
"""The words for `other` in questions to small models, which choose them at the start, where they do not choose
`other`.
"""


class Understanding(Struct, eq=False):
    """Finds out what people mean. A model is asked only if that is not plain."""

    _exchange: Exchange
    _questioner: Questioner
    _ahead: Ahead
    _patterns: Collection[str]
    """The outcomes that a playbook of the program handles."""

    async def of(self, awaited: Awaited, heard: Sequence[Message]) -> UnderstandAnswer:
        """The meaning of the messages."""
        plain = None if awaited.until or awaited.triggers else _plain(awaited, heard)
        if plain is not None:
            return plain
        if self._exchange.context.alone:
            return await self._step_by_step(awaited)
        question = understanding(awaited)
        following = self._ahead.planned(question, frozenset(awaited.types), "[1] is an answer")[1:]
        if when := self._worded(awaited, question.outcomes):
            aside = WordsQuestion(awaited.key("aside"), awaited.aside, when=when)
            question = replace(question, told_by={aside.key: OTHER} if OTHER not in self._patterns else {})
            following = [aside, *following]
        return UnderstandAnswer(**await self._exchange.answer(question, *following))

    def _worded(self, awaited: Awaited, outcomes: Collection[str]) -> str:
        """The answers to the first question under which the model words the next message."""
        names = [OTHER, "cancel", "human"] + ["skip"] * (not awaited.types) + ["correct"] * awaited.unread
        listed = [name for name in names if name in outcomes and name not in self._patterns]
        return f"[1] is `instead:` {' or '.join(listed)}" if listed else ""

    # -- for small models: one small question after the other

    async def _step_by_step(self, awaited: Awaited) -> UnderstandAnswer:
        question, plain = understanding(awaited), _plain_act(awaited)
        for_people = [name for name, (text, _) in awaited.triggers.items() if phrase("calls for a person").inside(text)]
        if plain == "human" and for_people:
            return UnderstandAnswer(for_people[0], await self._values(for_people[0], question, awaited))
        given = await self._given(awaited) if awaited.types and not plain else {}
        if awaited.triggers and not _is_all(given, awaited.heard):
            starts = await self._triggered(awaited)
            if starts != NONE:
                return UnderstandAnswer(starts, await self._values(starts, question, awaited))
        if plain in question.outcomes:
            return UnderstandAnswer(plain, {})
        if any(value is not None for value in given.values()):
            corrected = await self._corrected(given, awaited)
            return UnderstandAnswer("correct", corrected) if corrected else UnderstandAnswer("answer", given)
        if awaited.until:
            return UnderstandAnswer("answer" if await self._is_done(awaited) else OTHER, {})
        does = await self._done_instead(question, awaited)
        return UnderstandAnswer(does, await self._values(does, question, awaited))

    async def _given(self, awaited: Awaited) -> dict[str, Any]:
        """The wanted values in the message. A value that it cannot contain counts as none."""
        if list(awaited.types.values()) == ["bool"]:
            [name] = awaited.types
            if awaited.heard.rstrip().endswith("?") and not phrase("agrees or refuses").inside(awaited.heard):
                return {name: None}  # "How much is it?" is neither, whatever a small model takes it for
            if plain := [said for said, one in phrases_of("Answers").items() if one.begins(awaited.heard)]:
                return {name: plain == ["plain yes"]}
            return {name: _AGREED[await self._ask(self._questioner.agreed(awaited))]}
        given = await self._ask(self._questioner.given(awaited))
        return {name: value if was_said(value, awaited.heard) else None for name, value in given.items()}

    async def _corrected(self, given: Mapping[str, Any], awaited: Awaited) -> dict[str, Any]:
        """The correction, if the message gives no wanted value in its own words, or plainly names another one."""
        named = _corrects(awaited)
        quoted = any(value is not None and _is_quoted(value, awaited.heard) for value in given.values())
        if not awaited.correctable or (quoted and not named):
            return {}
        old = self._exchange.work.names()
        values = await self._values("correct", understanding(awaited), awaited)
        values = {name: value for name, value in values.items() if value != old.get(name)}
        return {name: value for name, value in values.items() if not named or _digits(value) == _digits(old.get(name))}

    async def _is_done(self, awaited: Awaited) -> bool:
        task = (
            f"The task: {awaited.until.removeprefix(IS_DONE)}. The person wrote: {awaited.quoted} Which of these is it?"
        )
        options = {
            _OPEN: "they ask something, or tell something more: it is not done yet",
            _DONE: "with this it is done",
        }
        return bool(await self._ask(OutcomeChoice(awaited.key("done"), task, options)) == _DONE)

    async def _done_instead(self, question: UnderstandQuestion, awaited: Awaited) -> str:
        left_out = {OTHER, *awaited.triggers, *(["answer"] if awaited.types else [])}
        options = {
            **_SOMETHING_ELSE,
            **{name: text for name, text in question.outcomes.items() if name not in left_out},
        }
        if "correct" in options:
            names = self._exchange.work.names()
            values = (
                f"{name.replace('_', ' ')} is not {shown_value(names.get(name), 80)}" for name in awaited.correctable
            )
            options["correct"] = f"they say that {' or that '.join(values)} but something else"
        task = f"{LineForm.WROTE} {awaited.quoted} Which of these is it?"
        found = await self._ask(OutcomeChoice(awaited.key("does"), task, options))
        return OTHER if found in _SOMETHING_ELSE else str(found)

    async def _triggered(self, awaited: Awaited) -> str:
        """The playbook whose trigger fits the message. It interrupts a talk, so the model is asked twice."""
        options = {name: text for name, (text, _) in awaited.triggers.items()}
        task = f"{LineForm.WROTE} {awaited.quoted} Which of these fits?"
        nothing = {NONE: "anything else, such as an answer to what was asked"}
        found = str(await self._ask(OutcomeChoice(awaited.key("trigger"), task, {**nothing, **options})))
        if found == NONE:
            return NONE
        so = phrase("before a test").without(options[found].rstrip("."))
        sure = f"{LineForm.WROTE} {awaited.quoted} Is this so: {so}?"
        is_sure = await self._ask(OutcomeChoice(awaited.key("sure"), sure, YES_NO))
        return found if is_sure == "yes" else NONE

    async def _values(self, does: str, question: UnderstandQuestion, awaited: Awaited) -> Mapping[str, Any]:
        wanted = question.correctable if does == "correct" else question.arguments.get(does, {})
        if not wanted:
            return {}
        given = await self._ask(self._questioner.gathered(awaited.key("values"), awaited.quoted, wanted))
        return {name: value for name, value in given.items() if was_said(value, awaited.heard)}

    async def _ask(self, question: Question) -> Any:
        return await self._exchange.answer(question)


def _plain(awaited: Awaited, heard: Sequence[Message]) -> UnderstandAnswer | None:
    """An answer that needs no understanding: no value is wanted, or it is a file, or just a number or a code."""
    if not awaited.types:
        return UnderstandAnswer("answer", {})
    if len(awaited.types) > 1 or len(heard) != 1 or heard[0].type not in (MessageType.DIRECT, MessageType.CHOICE):
        return None
    [(name, kind)] = awaited.types.items()
    if kind in FILE_TYPES:
        fitting = [one for one in heard[0].attachments if reference(one) and (kind == "file" or is_picture(one))]
        return UnderstandAnswer("answer", {name: file_value(fitting[0])}) if fitting else None
    text = heard[0].content.strip()
    shape = {"int": _DIGITS, "float": _DIGITS, "": _CODE, "str": _CODE}.get(kind)
    if shape is None or not shape.fullmatch(text):
        return None
    try:
        return UnderstandAnswer("answer", {name: coerced(text.replace(",", "."), kind)})
    except ValueError:
        return None


def _plain_act(awaited: Awaited) -> str:
    """What a message surely is in place of an answer; "" where a model has to say.

    "Never mind" may mean a *no*, or be how a talk ends; and a question may have offered it: "Change it, or cancel it?"
    """
    asked, said = awaited.asked.casefold(), phrase("word of an act").all_inside(awaited.heard)
    agrees = "bool" in awaited.types.values()
    if any(word.whole.casefold() in asked for word in said) or (
        agrees and phrase("did not hear").inside(awaited.heard)
    ):
        return ""
    acts = (name.removeprefix("plain ") for name, one in phrases_of("Acts").items() if one.is_all_of(awaited.heard))
    return next((act for act in acts if act in ("repeat", "human") or not (agrees or awaited.until)), "")


def _corrects(awaited: Awaited) -> bool:
    """Whether a message begins as a correction and names a value that was given before, and none that is wanted."""
    words = frozenset(_tokens(awaited.heard))
    named = [name for name in (*awaited.correctable, *awaited.types) if not words.isdisjoint(name.lower().split("_"))]
    return bool(named and phrase("plain correction").begins(awaited.heard)) and awaited.types.keys().isdisjoint(named)


def _digits(value: Any) -> bool:
    return any(map(str.isdecimal, str(value)))


def _is_all(given: Mapping[str, Any], heard: str) -> bool:
    words = WORD.findall(heard.casefold())
    return any(value is not None and WORD.findall(str(value).casefold()) == words for value in given.values())


def _tokens(text: str) -> list[str]:
    """The words of two letters and more, and the digits alone."""
    return [word for word in WORD.findall(text.casefold()) if len(word) > 1 or word.isdecimal()]


def _is_quoted(value: Any, heard: str) -> bool:
    return not isinstance(value, str) or all(token in heard.casefold() for token in _tokens(value))


def was_said(value: Any, heard: str) -> bool:
    """Whether a value can come from the messages: half of a text's words occur there, or a number for a number."""
    if value is None:
        return False
    said = heard.casefold()
    if isinstance(value, str):
        tokens = _tokens(value)
        known = sum(token in said for token in tokens)
        return (known > 0 and 2 * known >= len(tokens)) or value.casefold() in said
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            bool(phrase("number said").inside(said))
            or value in map(_NUMBERS.get, WORD.findall(said))
            or _is_in(value, said)
        )
    return True


def _is_in(value: float, said: str) -> bool:
    """Whether a number is one of those in digits, or their sum; "5k" or "3pm" may be any."""
    found = _DIGITS.findall(said)
    if any(said[match.end() :][:1].isalpha() for match in _DIGITS.finditer(said)):
        return True
    numbers = [float(one.replace(",", "")) for one in found if one.count(".") < 2]
    decimal = [float(one.replace(",", ".")) for one in found if one.count(",") == 1 and "." not in one]
    whole = "".join(filter(str.isdecimal, said))
    return value in numbers or value in decimal or value == sum(numbers) or str(value) == whole
