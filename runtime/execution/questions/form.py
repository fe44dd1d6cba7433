"""The kinds of questions to a model, their wording, alone or together, and the JSON schemas of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from runtime.core.prompt_forms import LineForm, foreign, foreign_line
from runtime.language.value_types import FILE_TYPES, JSON_NAMES, TIME_TYPES, alternatives, literals_of

KINDS: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true (yes) or false (no)",
    "str": "a text",
    "date": "a date, as 2026-05-01",
    "datetime": "a date and time, as 2026-05-01T09:30",
    "time": "a time of day, as 09:30",
    "list": "a JSON list",
    "dict": "a JSON object",
    "image": "the picture's reference, as `file:` and what follows it",
    "file": "the file's reference, as `file:` and what follows it",
}

MAX_BEGUN_CHARS = 6_000
"""The number of characters shown from the end of a message that broke off."""

_TOGETHER = (
    f"{LineForm.IN_ORDER} the first at once, each that follows on a new line that begins with its number in "
    "brackets, as `[2]`. Leave out those whose condition does not hold."
)

_NAMES = {ours: json for json, ours in JSON_NAMES.items()}

Key = tuple[str, str]
"""The identity of a question: its instruction's line, and the part of it that is asked."""


class WordsQuestion(Struct, frozen=True):
    """The words of a message, shown while they are written. `task` says what the message does, `begun` what people have
    read of it already, `unfinished` the word behind that of which they may have read a part, `authored` how the program
    says what it does, `example` what a small model may write."""

    key: Key
    task: str
    may_be_silent: bool = False
    when: str = ""
    begun: str = ""
    unfinished: str = ""
    authored: tuple[str, ...] = ()
    example: str = ""


class ValueQuestion(Struct, frozen=True):
    """Values as JSON: each name with its declared type. `optional`: "not given" is an answer."""

    key: Key
    task: str
    types: Mapping[str, str]
    optional: bool = False
    when: str = ""


class OutcomeChoice(Struct, frozen=True):
    """One of several named outcomes, each with what it means ("" where its name says it).

    `told_by` are outcomes by the questions that are asked with this one and answered under that outcome alone: where
    one of them is answered instead, this one is as well. `turned`: it asks for the opposite of a condition.
    """

    key: Key
    task: str
    options: Mapping[str, str]
    when: str = ""
    told_by: Mapping[Key, str] = field(default_factory=dict)
    turned: bool = False

    def holds(self, answer: str) -> bool:
        return (answer == "yes") is not self.turned


class UnderstandQuestion(Struct, frozen=True):
    """The meaning of a person's words that came while something was awaited.

    `outcomes` are what it may be, each with what it means; `types` are the values that an answer gives;
    `arguments` are those of the playbooks among the outcomes. `told_by`: see `OutcomeChoice`.
    """

    key: Key
    task: str
    outcomes: Mapping[str, str]
    types: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    correctable: Mapping[str, str] = field(default_factory=dict)
    longest_chars: int = 10_000
    """The length beyond which a text cannot come from the person."""
    when: str = ""
    told_by: Mapping[Key, str] = field(default_factory=dict)


Question = WordsQuestion | ValueQuestion | OutcomeChoice | UnderstandQuestion


class UnderstandAnswer(Struct, frozen=True):
    does: str
    values: Mapping[str, Any]


class WrongAnswer(ValueError):
    """An answer that does not fit its question; the text says what is wrong, for the model."""


def asked(questions: Sequence[Question], wrong: str = "") -> str:
    before = f"{LineForm.WRONG_ANSWER} {foreign_line(wrong)}. Answer again.\n" if wrong else ""
    if len(questions) == 1:
        return before + _task(questions[0], {})
    numbers = {question.key: number for number, question in enumerate(questions, 1)}
    tasks = (f"[{numbers[question.key]}] {_task(question, numbers)}" for question in questions)
    return "\n".join([before + _TOGETHER, *tasks])


def _task(question: Question, numbers: Mapping[Key, int]) -> str:
    when = f"Only if {question.when}: " if question.when else ""
    match question:
        case WordsQuestion():
            silent = f" {LineForm.NOTHING_TO_SAY} -" if question.may_be_silent and not question.begun else ""
            return f"{when}{question.task}{silent}{_begun(question)}"
        case ValueQuestion():
            return f"{when}{question.task} {_form(question.types, optional=question.optional)}"
        case OutcomeChoice():
            told = {outcome: numbers[key] for key, outcome in question.told_by.items() if key in numbers}
            if told.keys() == question.options.keys():
                ways = ", ".join(f"with [{number}] if {outcome}" for outcome, number in told.items())
                return f"{when}{question.task} Write nothing for this, but go on {ways}."
            return f"{when}{question.task}{_options(question.options)}"
        case UnderstandQuestion():
            return when + _understanding(question, numbers)


def _begun(question: WordsQuestion) -> str:
    text = question.begun
    if not text:
        return ""
    word = f", the next word begins with `{foreign_line(question.unfinished)}`" if question.unfinished else ""
    shown = text if len(text) <= MAX_BEGUN_CHARS else f"…{text[-MAX_BEGUN_CHARS:]}"
    return (
        f"\n{LineForm.BEGUN} and this much of it has been read:\n<begun>{foreign(shown)}</begun>\n"
        f"{LineForm.WRITE_ON} only what comes after these words, and none of them again{word}. If nothing is missing, "
        "write only -"
    )


def _options(options: Mapping[str, str]) -> str:
    """The outcomes of a choice, one a line if they need explanations, which small models read better."""
    meanings = [f"\n- {name}{f': {meaning}' if meaning else ''}" for name, meaning in options.items()]
    listed, gap = ("".join(meanings), "\n") if any(options.values()) else ("", " ")
    return f"{listed}{gap}Answer with one of these alone: {', '.join(options)}."


def _form(types: Mapping[str, str], *, optional: bool) -> str:
    null = ", null for what was not given" if optional else ""
    if len(types) == 1:
        [(name, kind)] = types.items()
        absent = " (null if it was not given)" if optional else ""
        return f"Answer with {name} alone: {KINDS.get(kind, kind or 'its value')}{absent}."
    fields = ", ".join(f'"{name}": {kind or "value"}' for name, kind in types.items())
    return f"Answer with JSON alone: {{{fields}}}{null}."


def _understanding(question: UnderstandQuestion, numbers: Mapping[Key, int]) -> str:
    told = {outcome: numbers[key] for key, outcome in question.told_by.items() if key in numbers}
    instead = {name: meaning for name, meaning in question.outcomes.items() if name != "answer"}
    if question.types:
        head = f"{question.task} {_form(question.types, optional=True)}"
    else:
        head = f"{question.task} Write answer if {question.outcomes['answer']}."
    lines = [f"{head} If they did something else instead, write only `instead:` and one of these words:"]
    for name, meaning in instead.items():
        fields = question.correctable if name == "correct" else question.arguments.get(name, {})
        with_fields = f", then JSON with {', '.join(fields)}" if fields else ""
        at_once = f"; then leave out `instead:` and write [{told[name]}] at once" if name in told else ""
        lines.append(f"- {name}{with_fields}: {meaning}{at_once}")
    return "\n".join(lines)


def schema_of(question: Question) -> dict[str, Any] | None:
    match question:
        case ValueQuestion(types=types, optional=optional):
            return _object({name: type_schema(kind, optional=optional) for name, kind in types.items()})
        case OutcomeChoice(options=options):
            return _object({"answer": {"enum": list(options)}})
        case UnderstandQuestion():
            values = {name: type_schema(kind, optional=True) for name, kind in question.types.items()}
            instead = [name for name in question.outcomes if name != "answer" or not values]
            return _object({**values, "instead": {"enum": [*instead, None]}}, open_=True)
    return None


def _object(properties: Mapping[str, Any], *, open_: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": open_,
    }


def type_schema(kind: str, *, optional: bool = False) -> dict[str, Any]:
    """The schema of a declared type; of one that is not known, any value."""
    anything: list[dict[str, Any]] = [{"type": ["string", "number", "boolean"]}]
    found = [_one(choice) for choice in alternatives(kind)] if kind else anything
    if optional:
        found.append({"type": "null"})
    return {"anyOf": found} if len(found) > 1 else found[0]


def _one(kind: str) -> dict[str, Any]:
    """The schema of a type that names no alternatives; without a bound where nobody knows it."""
    if kind in FILE_TYPES or kind in TIME_TYPES:
        return {"type": "string", "minLength": 1}
    literals = literals_of(kind)
    if literals:
        return {"enum": list(literals)}
    outer, _, inner = kind.removesuffix("]").partition("[")
    name = _NAMES.get(outer, outer if outer in JSON_NAMES else "null" if outer == "None" else "")
    found: dict[str, Any] = {"type": name} if name else {}
    if name == "array" and inner:
        found["items"] = type_schema(inner)
    if name == "object" and inner:
        found["additionalProperties"] = type_schema(inner.partition(",")[2])
    if name == "string":
        found["minLength"] = 1
    return found
