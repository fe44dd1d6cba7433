"""The schemas that answers are held to where a provider can, and that what they allow is read."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from runtime.execution.questions.answers import read_answer
from runtime.execution.questions.form import (
    OutcomeChoice,
    Question,
    UnderstandAnswer,
    UnderstandQuestion,
    ValueQuestion,
    WordsQuestion,
    schema_of,
    type_schema,
)

KEY = ("01", "x")
ORDER = UnderstandQuestion(
    KEY,
    "What did they answer?",
    {"answer": "", "skip": "", "correct": "", "Hours": ""},
    {"number": "int", "kind": 'Literal["tea", "jam"]'},
    correctable={"name": "str"},
)


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        ("int", [3], ["3", 3.5, None]),
        ("float", [3, 3.5], ["3"]),
        ("str", ["a"], ["", 3]),
        ("bool", [True], ["yes", 1]),
        ("list[int]", [[], [1, 2]], [["a"], {}]),
        ("list[list[str]]", [[["a"]]], [["a"]]),
        ("dict[str, int]", [{}, {"a": 1}], [{"a": "b"}, []]),
        ("int | None", [3, None], ["a"]),
        ("Optional[str]", ["a", None], [3]),
        ("int | str", [3, "a"], [[], 3.5]),
        ('Literal["tea", "jam"]', ["tea"], ["ham", None]),
        ("integer", [3], ["a"]),
        ("Order", [3, {"a": 1}, "a"], []),
        ("", ["a", 3], [[]]),
    ],
)
def test_a_declared_type_allows_its_values_and_no_others(kind: str, fits: list[Any], does_not: list[Any]) -> None:
    validator = Draft202012Validator(type_schema(kind))
    assert [value for value in fits if not validator.is_valid(value)] == []
    assert [value for value in does_not if validator.is_valid(value)] == []


@pytest.mark.parametrize(
    ("question", "answer", "read"),
    [
        (ValueQuestion(KEY, "Which?", {"n": "int"}), {"n": 3}, {"n": 3}),
        (ValueQuestion(KEY, "Which?", {"n": "int"}, optional=True), {"n": None}, {"n": None}),
        (OutcomeChoice(KEY, "Is it so?", {"yes": "", "no": ""}), {"answer": "no"}, "no"),
        (
            ORDER,
            {"number": 3, "kind": "tea", "instead": None},
            UnderstandAnswer("answer", {"number": 3, "kind": "tea"}),
        ),
        (ORDER, {"number": None, "kind": None, "instead": "skip"}, UnderstandAnswer("skip", {})),
        (
            ORDER,
            {"number": None, "kind": None, "instead": "correct", "name": "Eva"},
            UnderstandAnswer("correct", {"name": "Eva"}),
        ),
    ],
)
def test_what_a_schema_allows_is_read(question: Question, answer: dict[str, Any], read: object) -> None:
    schema = schema_of(question)
    assert schema is not None
    Draft202012Validator(schema).validate(answer)
    assert read_answer(question, json.dumps(answer)) == read


def test_a_schema_refuses_what_the_question_does_not_ask_for() -> None:
    schema = schema_of(OutcomeChoice(KEY, "Is it so?", {"yes": "", "no": ""}))
    assert schema is not None
    assert not Draft202012Validator(schema).is_valid({"answer": "perhaps"})


def test_words_have_no_schema() -> None:
    assert schema_of(WordsQuestion(KEY, "Greet them.")) is None
