"""The wording of questions, one alone or several together."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.execution.questions.question import Choice, Question, Understand, Value, Words

_ALONE = {
    Words: "Write that message, and nothing else.",
    Value: "Answer with that JSON, and nothing else.",
    Choice: "Answer with that word, and nothing else.",
    Understand: "Answer with that JSON, and nothing else.",
}


def asked(questions: Sequence[Question], wrong: str = "") -> str:
    """The text that asks. `wrong` is what was wrong with the last answer to it."""
    before = f"Your last answer could not be used: {wrong}. Answer again.\n" if wrong else ""
    if len(questions) == 1:
        [question] = questions
        return f"{before}{_task(question)}\n{_ALONE[type(question)]}"
    lines = [
        "Answer these in order. Begin each answer on a new line with its number in brackets, as `[1]`; "
        "leave out those whose condition does not hold."
    ]
    lines += [f"[{number}] {_task(question)}" for number, question in enumerate(questions, 1)]
    return before + "\n".join(lines)


def _task(question: Question) -> str:
    when = f"Only if {question.when}: " if question.when else ""
    match question:
        case Words():
            silent = " If there is nothing to say, write only -" if question.may_be_silent else ""
            return f"{when}{question.task}{silent}"
        case Value():
            null = "; null for what was not given" if question.optional else ""
            return f"{when}{question.task} JSON: {_fields(question.types)}{null}."
        case Choice():
            meanings = [f'"{name}"{f" ({meaning})" if meaning else ""}' for name, meaning in question.options.items()]
            return f"{when}{question.task} One of {', '.join(meanings)}."
        case Understand():
            return when + _understanding(question)


def _understanding(question: Understand) -> str:
    lines = [f'{question.task} JSON with "does", one of:']
    for name, meaning in question.outcomes.items():
        fields = question.arguments.get(name, {})
        if name == "answer" and question.types:
            fields = question.types
        with_fields = f"; with {_fields(fields)}, null for what was not given" if fields else ""
        lines.append(f'- "{name}": {meaning}{with_fields}')
    return "\n".join(lines)


def _fields(types: object) -> str:
    assert hasattr(types, "items")
    return "{" + ", ".join(f'"{name}": {kind or "value"}' for name, kind in types.items()) + "}"
