"""Answers of models: forgiving in form, strict in what they come to."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.execution.questions.answers import MAX_ANSWER_CHARS, read_answer
from runtime.execution.questions.form import (
    OutcomeChoice,
    Question,
    UnderstandAnswer,
    UnderstandQuestion,
    ValueQuestion,
    WordsQuestion,
    WrongAnswer,
)
from runtime.language.value_types import fits

KEY = ("01", "value")
YES_NO = OutcomeChoice(KEY, "Is it so?", {"yes": "", "no": ""})
KINDS = OutcomeChoice(KEY, "Which?", {"HandOver": "", "other": "", "none": ""})


def values(**types: str) -> ValueQuestion:
    return ValueQuestion(KEY, "Give it.", types)


def given_or_not(**types: str) -> ValueQuestion:
    return ValueQuestion(KEY, "Give it.", types, optional=True)


@pytest.mark.parametrize(
    ("types", "answer", "value"),
    [
        ({"n": "int"}, '{"n": 3}', {"n": 3}),
        ({"n": "int"}, "3", {"n": 3}),
        ({"n": "int"}, '"3"', {"n": 3}),
        ({"n": "int"}, '{"n": "3"}', {"n": 3}),
        ({"n": "int"}, '{"value": 3}', {"n": 3}),
        ({"n": "int"}, "n = 3", {"n": 3}),
        ({"n": "int"}, "$n: 3", {"n": 3}),
        ({"n": "int"}, '```json\n{"n": 3}\n```', {"n": 3}),
        ({"n": "int"}, 'Sure! {"n": 3} I hope this helps.', {"n": 3}),
        ({"n": "int"}, "{'n': 3}", {"n": 3}),
        ({"n": "int"}, '{"$n": 3, "more": true}', {"n": 3}),
        ({"n": "int"}, "Sure! Here it is:\n\n4\n\nAnything else?", {"n": 4}),
        ({"n": "int"}, "4\nI have called Price() and set $total to 1.", {"n": 4}),
        ({"n": "int"}, "1. **4**", {"n": 4}),
        ({"ok": "bool"}, "Nein.\nIch habe nachgesehen.", {"ok": False}),
        ({"n": "float"}, "2", {"n": 2.0}),
        ({"my_name": "str"}, '{"My name": "Ada"}', {"my_name": "Ada"}),
        ({"name": "str"}, "Ada", {"name": "Ada"}),
        ({"name": "str"}, '"Ada"', {"name": "Ada"}),
        ({"name": ""}, "Ada Lovelace", {"name": "Ada Lovelace"}),
        ({"name": "str"}, "name: Ada", {"name": "Ada"}),
        ({"name": "str"}, '{"name": 12345}', {"name": "12345"}),
        ({"ok": "bool"}, "yes", {"ok": True}),
        ({"ok": "bool"}, '{"ok": "No."}', {"ok": False}),
        ({"ok": "bool"}, "{'ok': True}", {"ok": True}),
        ({"items": "list"}, '["tea", "jam"]', {"items": ["tea", "jam"]}),
        ({"items": "list[int]"}, '{"items": [1, 2]}', {"items": [1, 2]}),
        ({"order": "dict"}, '{"total": 3}', {"order": {"total": 3}}),
        ({"order": "dict"}, '{"order": {"total": 3}}', {"order": {"total": 3}}),
        ({"n": "int", "name": "str"}, '{"n": 3, "name": "Ada"}', {"n": 3, "name": "Ada"}),
    ],
)
def test_values_are_read_in_many_forms(types: dict[str, str], answer: str, value: dict[str, Any]) -> None:
    assert read_answer(values(**types), answer) == value
    assert read_answer(given_or_not(**types), answer) == value


@pytest.mark.parametrize(
    ("types", "answer", "wrong"),
    [
        ({"n": "int"}, "", "empty"),
        ({"n": "int"}, "many", "is declared int"),
        ({"n": "int"}, "4\nor perhaps\n5", "is declared int"),
        ({"n": "int"}, '{"n": "many"}', "is declared int"),
        ({"n": "int"}, '{"n": 3.5}', "is declared int"),
        ({"n": "int"}, '{"n": null}', "n is not given"),
        ({"n": "int"}, "unknown", "n is not given"),
        ({"n": "float"}, "NaN", "is declared float"),
        ({"n": "float"}, '{"n": 1e999}', "n "),
        ({"ok": "bool"}, '{"ok": "perhaps"}', "is declared bool"),
        ({"items": "list[int]"}, '["tea"]', "is declared list"),
        ({"order": "dict"}, "three", "is declared dict"),
        ({"n": "int", "name": "str"}, '{"n": 3}', "name is missing"),
        ({"n": "int", "name": "str"}, "3 and Ada", "not a JSON object with n, name"),
        ({"n": "int", "name": "str"}, "[3]", "not a JSON object"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_wrong(types: dict[str, str], answer: str, wrong: str) -> None:
    with pytest.raises(WrongAnswer, match=wrong):
        read_answer(values(**types), answer)


@pytest.mark.parametrize(
    "answer",
    ["null", "None", "not given", "n/a", "Unknown.", '{"n": null}', '{"n": ""}', "{}", '{"n": "not provided"}'],
)
def test_a_value_may_be_not_given_where_the_question_says_so(answer: str) -> None:
    assert read_answer(given_or_not(n="int"), answer) == {"n": None}
    with pytest.raises(WrongAnswer):
        read_answer(values(n="int"), answer)


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        *[
            (text, "yes")
            for text in ("yes", "Yes.", "YES!", '"yes"', "**yes**", "`yes`", "y", "true", "True", "yep", "1")
        ],
        *[
            (text, "yes")
            for text in ("yes, they do", "Yes - surely", '{"answer": "yes"}', '{"answer": true}', '{"yes": true}')
        ],
        *[
            (text, "no")
            for text in ("no", "No.", "false", "n", "nope", "0", "no, not yet", '{"answer": false}', '{"no": true}')
        ],
        *[(text, "no") for text in ("1. no\n2. It costs 7.50 euros.\n3. 4", "(1) No.", "**1.** no", "1) false")],
        *[
            (text, "yes")
            for text in ("1.", "2. yes", "Ja.", "oui, bien s\u00fbr", "\u662f\u7684\u3002", "\u0414\u0430")
        ],
        *[(text, "no") for text in ("nein", "N\u00e3o!", "\u4e0d\u662f", "Sure! Here it is:\n\nno\n\nAnything else?")],
    ],
)
def test_yes_and_no_are_read_in_many_forms(answer: str, means: str) -> None:
    assert read_answer(YES_NO, answer) == means


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "perhaps",
        "yes/no",
        "yesterday",
        "notable",
        "it is so",
        '{"yes": false}',
        '{"does": "cancel"}',
        "[]",
        "2",
        "1 or 2 of them",
        "1. perhaps",
        "One of these:\nyes\nno",
        '{"a": "yes", "b": 1}',
    ],
)
def test_what_is_neither_yes_nor_no_is_wrong(answer: str) -> None:
    with pytest.raises(WrongAnswer):
        read_answer(YES_NO, answer)


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        ("HandOver", "HandOver"),
        ("handover.", "HandOver"),
        ("HandOver: they asked", "HandOver"),
        ("other", "other"),
        ("none of them", "none"),
    ],
)
def test_one_of_several_is_named(answer: str, means: str) -> None:
    assert read_answer(KINDS, answer) == means


@pytest.mark.parametrize("answer", ["otherwise", "HandOverAll", "yes", "true", "Hand", "I think HandOver"])
def test_a_name_that_is_only_like_one_is_wrong(answer: str) -> None:
    with pytest.raises(WrongAnswer):
        read_answer(KINDS, answer)


UNDERSTAND = UnderstandQuestion(
    KEY,
    "What is it?",
    {"answer": "", "correct": "", "other": "", "cancel": "", "Order": "they order"},
    types={"n": "int", "name": "str"},
    arguments={"Order": {"what": "str"}},
    correctable={"town": "str"},
)


@pytest.mark.parametrize(
    ("answer", "does", "values"),
    [
        ('{"does": "answer", "n": 3, "name": "Ada"}', "answer", {"n": 3, "name": "Ada"}),
        ('{"does": "answer", "n": 3}', "answer", {"n": 3, "name": None}),
        ('{"n": "3", "name": "none"}', "answer", {"n": 3, "name": None}),
        ('{"outcome": "Answer", "n": null, "name": "Ada"}', "answer", {"n": None, "name": "Ada"}),
        ("cancel", "cancel", {}),
        ('{"does": "cancel", "n": 3}', "cancel", {}),
        ("other - they ask something", "other", {}),
        ('{"does": "correct", "town": "Rome"}', "correct", {"town": "Rome"}),
        ('{"does": "Order", "what": "tea"}', "Order", {"what": "tea"}),
        ('{"does": "order"}', "Order", {"what": None}),
    ],
)
def test_what_a_person_means_is_read(answer: str, does: str, values: dict[str, Any]) -> None:
    assert read_answer(UNDERSTAND, answer) == UnderstandAnswer(does, values)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "hello",
        "{}",
        '{"does": "pay"}',
        '{"does": ["answer"]}',
        '{"does": "answer", "n": "many"}',
        '{"does": "correct"}',
        '{"does": "correct", "n": 3}',
        '{"does": "correct", "town": null}',
        'Step("Main:01:QUE")',
    ],
)
def test_what_means_nothing_that_was_asked_is_wrong(answer: str) -> None:
    with pytest.raises(WrongAnswer):
        read_answer(UNDERSTAND, answer)


HOSTILE = st.text(max_size=80) | st.sampled_from(
    [
        "[" * 10_000,
        '{"a":' * 5_000,
        "9" * 6_000,
        '{"n": ' + "9" * 5_000 + "}",
        '{"n": -Infinity, "name": NaN}',
        '"\\ud800"',
        '{"name": "\\ud800"}',
        "\x00",
        '{"does": {"does": "answer"}}',
        '{"does": null}',
        '{"n": [1], "name": {}}',
        "a" * (MAX_ANSWER_CHARS * 3),
    ]
)

QUESTIONS: list[Question] = [
    YES_NO,
    KINDS,
    UNDERSTAND,
    *(made(n=kind) for kind in ("int", "float", "str", "bool", "list", "dict", "") for made in (values, given_or_not)),
    values(n="int", name="str"),
]


@given(HOSTILE | st.lists(HOSTILE, max_size=3).map('{"n": "'.join))
@settings(max_examples=500, deadline=None)
def test_any_text_is_an_answer_of_the_right_type_or_wrong(text: str) -> None:
    for question in QUESTIONS:
        try:
            found = read_answer(question, text)
        except WrongAnswer:
            continue
        if isinstance(question, ValueQuestion):
            assert found.keys() == question.types.keys()
            assert all(fits(value, question.types[name]) for name, value in found.items())
            assert question.optional or None not in found.values()
            assert str(found).encode()
        elif isinstance(question, OutcomeChoice):
            assert found in question.options
        else:
            assert isinstance(found, UnderstandAnswer)
            assert found.does in UNDERSTAND.outcomes


def test_words_are_taken_as_they_are() -> None:
    assert read_answer(WordsQuestion(KEY, "Think."), "  {so} \n") == "{so}"
