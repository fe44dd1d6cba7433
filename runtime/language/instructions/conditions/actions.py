"""The actions of the grammar: what each makes of the meanings of its elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.language.instructions.conditions.meanings import (
    SUBJECT,
    ClauseMeaning,
    PredicateMeaning,
    TestMeaning,
    ValueMeaning,
    among,
    any_of,
    begins,
    between,
    both_hold,
    chained,
    compared,
    compared_each,
    contains_each,
    each_compared,
    each_of_both,
    each_of_either,
    found_in,
    holds,
    is_not_any,
    is_not_so,
    is_so,
    joined_predicates,
    listing,
    meeting,
    neither_holds,
    neither_of,
    none_there,
    one_is,
    one_of,
    others,
    rest,
    side_by_side,
    some_there,
    state,
    test_of_values,
    than,
    than_each,
)
from runtime.language.instructions.conditions.tokens import ConditionToken


def _summed(first: ValueMeaning, others: tuple[tuple[str, ValueMeaning], ...]) -> ValueMeaning:
    if not others:
        return first
    return ValueMeaning(f"({first.code}{''.join(f' {op} {value.code}' for op, value in others)})", "computed")


def _operand(_: str | None, token: ConditionToken) -> ValueMeaning:
    return ValueMeaning(token.text, token.form)


def _part_of(factor: str, value: ValueMeaning) -> ValueMeaning:
    return ValueMeaning(f"({value.code} {factor[0]} {factor[1:]})", "measured")


def _together(first: ValueMeaning, commaed: Sequence[ValueMeaning], last: ValueMeaning) -> str:
    return f"[{', '.join(value.code for value in (first, *commaed, last))}]"


def _number_of_percent(token: ConditionToken, _: ConditionToken) -> ConditionToken | None:
    return token if token.form == "literal" and not token.text.startswith(("[", "{", '"', "'")) else None


def _lasting(halves: bool, count: str | ValueMeaning, unit: str) -> ValueMeaning:
    """Seconds: so many units of time, and half of one more."""
    number = count if isinstance(count, str) else count.code
    whole = number if unit == "1" else f"({number} * {unit})"
    return ValueMeaning(f"({whole} + {unit} / 2)" if halves else whole, "computed")


def _computed(code: Callable[..., str], form: str = "computed") -> Callable[..., ValueMeaning]:
    return lambda *parts: ValueMeaning(code(*parts), form)


ACTIONS: Mapping[str, Callable[..., Any]] = {
    "same": lambda part: part,
    "second": lambda *parts: (True, parts[-1]) if isinstance(parts[-1], ClauseMeaning) else parts[-1],
    "listed": lambda _, clause: (False, clause),
    "unprefixed": lambda _, clause: clause,
    "any_of": any_of,
    "all_of": lambda first, others: side_by_side("and", (first, *(clause for _, clause in others))),
    "negated": lambda _, clause: None if clause.several else ClauseMeaning(clause.test.opposite),
    "grouped": lambda _, clause, __: ClauseMeaning(clause.test),
    "each_of": each_of_both,
    "each_of_either": each_of_either,
    "one_is": one_is,
    "neither_of": neither_of,
    "both_hold": both_hold,
    "neither_holds": neither_holds,
    "holds": holds,
    "constant": lambda value: ClauseMeaning(TestMeaning(value, f"(not {value})")),
    "none_there": none_there,
    "some_there": some_there,
    "any_there": lambda number, _, value, *__: some_there(number, value),
    "compared": compared,
    "compared_each": compared_each,
    "each_compared": each_compared,
    "chained": chained,
    "found_in": found_in,
    "meeting_active": meeting,
    "meeting_over": lambda *_: ClauseMeaning(meeting().test.opposite),
    "listing": listing,
    "or_listing": others("or"),
    "and_listing": others("and"),
    "joined_predicates": joined_predicates,
    "or_rest": rest("or"),
    "and_rest": rest("and"),
    "is_so": is_so,
    "is_not_so": is_not_so,
    "is_not_any": is_not_any,
    "does_not": lambda _, __, test: PredicateMeaning(test.opposite),
    "acts": PredicateMeaning,
    "exists": lambda kind: PredicateMeaning(state(kind)),
    "is_not_value": lambda _, value: test_of_values(SUBJECT, "!=", value.code),
    "state": state,
    "one_of": one_of,
    "among": among,
    "is_in": lambda _, value: test_of_values(SUBJECT, "in", value.code),
    "none_of_both": lambda _, one, __, two: one_of(None, (one, two)).opposite,
    "comparing": than,
    "than": than,
    "than_each": than_each,
    "or_more": lambda value, op: than(op, value),
    "between": between,
    "multiple": lambda _, value: test_of_values(f"{SUBJECT} % {value.code}", "==", "0"),
    "contains": lambda _, value: test_of_values(value.code, "in", SUBJECT),
    "contains_each": contains_each,
    "begins": begins,
    "lasting": lambda count, unit: _lasting(False, count, unit),
    "part_of_unit": lambda part, unit: _lasting(False, part, unit),
    "lasting_half": lambda count, _, unit: _lasting(True, count, unit),
    "lasting_and_half": lambda count, unit, _: _lasting(True, count, unit),
    "added_up": _computed(lambda first, *others: f"({first.code} + {others[-1].code})"),
    "single": lambda value: (value,),
    "choice": lambda value, others: (value, *others.values),
    "choice_of_commas": lambda value, first, others: (value, first, *others),
    "summed": _summed,
    "multiplied_out": _summed,
    "pair": lambda op, value: (op, value),
    "minus": lambda _, value: ValueMeaning(f"-{value.code}", "literal" if value.form == "literal" else "computed"),
    "powered": _computed(lambda value, _, power: f"({value.code} ** {power.code})"),
    "operand": _operand,
    "in_unit": lambda size, _: size,
    "constant_value": lambda value: ValueMeaning(value, "literal"),
    "number_of_percent": _number_of_percent,
    "with_percent": _computed(lambda value, op, token: f"({value.code} {op} {value.code} * {token.text} / 100)"),
    "parenthesised": lambda _, value, __: value,
    "counted": _computed(lambda *parts: f"len({parts[-1].code})", "measured"),
    "sized": _computed(lambda function, value: f"{function}({value.code})", "measured"),
    "sized_together": lambda function, first, commaed, _, __, last: (
        None if function == "len" else ValueMeaning(f"{function}({_together(first, commaed, last)})", "computed")
    ),
    "product": _computed(lambda _, one, __, two: f"({one.code} * {two.code})"),
    "average": _computed(lambda _, value: f"(sum({value.code}) / len({value.code}))", "measured"),
    "average_together": _computed(
        lambda _, first, commaed, __, ___, last: f"(sum({_together(first, commaed, last)}) / {len(commaed) + 2})"
    ),
    "percent": _computed(lambda token, _, value: f"({value.code} * {token.text} / 100)", "measured"),
    "part_of": _part_of,
}
"""What each action of the grammar makes of the meanings of its elements; None where they have none together."""
