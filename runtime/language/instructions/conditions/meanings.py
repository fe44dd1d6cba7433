"""The meanings of a condition's parts, in symbols, and the actions of the grammar that make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

from runtime.language.instructions.conditions.tokens import ConditionToken

MEETING_ACTIVE = "_meeting_active"
"""The name under which conditions read whether their meeting is still active."""

SUBJECT: Final = "\0"
"""What a predicate is said of, until it is known."""

Joint = Literal["and", "or"]

_NOTHING = '[None, "", [], {}]'
_STATES: Mapping[str, tuple[str, str]] = {
    "given": (f"({SUBJECT} != None)", f"({SUBJECT} == None)"),
    "missing": (f"({SUBJECT} == None)", f"({SUBJECT} != None)"),
    "empty": (f"(not {SUBJECT})", f"(not not {SUBJECT})"),
    "even": (f"({SUBJECT} % 2 == 0)", f"({SUBJECT} % 2 != 0)"),
    "odd": (f"({SUBJECT} % 2 == 1)", f"({SUBJECT} % 2 != 1)"),
    "positive": (f"({SUBJECT} > 0)", f"({SUBJECT} <= 0)"),
    "negative": (f"({SUBJECT} < 0)", f"({SUBJECT} >= 0)"),
}
_OPPOSITE = {"==": "!=", "!=": "==", ">=": "<", "<=": ">", ">": "<=", "<": ">=", "in": "not in", "not in": "in"}
_ORDERS = frozenset({">=", "<=", ">", "<"})


@dataclass(frozen=True, slots=True)
class ValueMeaning:
    """A value: its code, and whether it can be a test of its own, as a variable and a call can."""

    code: str
    form: str

    @property
    def testable(self) -> bool:
        return self.form in ("variable", "call")


@dataclass(frozen=True, slots=True)
class TestMeaning:
    """A test: code for *it is so* and for *it is not*. `orders` says that it compares sizes; `parts` are joined by
    `joint`."""

    yes: str
    no: str
    orders: bool = False
    joint: Joint | None = None
    parts: tuple[TestMeaning, ...] = ()

    @property
    def opposite(self) -> TestMeaning:
        return TestMeaning(self.no, self.yes, self.orders)

    def of(self, value: ValueMeaning) -> TestMeaning:
        """A predicate said of a value."""
        parts = tuple(part.of(value) for part in self.parts)
        yes, no = (code.replace(SUBJECT, value.code) for code in (self.yes, self.no))
        return replace(self, yes=yes, no=no, parts=parts)


@dataclass(frozen=True, slots=True)
class PredicateMeaning:
    """A predicate with its verb, which is one of `many` or not."""

    test: TestMeaning
    many: bool | None = None


@dataclass(frozen=True, slots=True)
class ClauseMeaning:
    """A test beside others. `bare` is a value alone, `many` one value with the verb of several, `several` what is
    said of several values at once."""

    test: TestMeaning
    bare: bool = False
    many: bool = False
    several: bool = False


@dataclass(frozen=True, slots=True)
class ListMeaning:
    """Several values, joined by a word, or `by_sign`: `||` and `&&` join tests alone."""

    joint: Joint
    values: tuple[ValueMeaning, ...]
    by_sign: bool = False


def _test(left: str, op: str, right: str) -> TestMeaning:
    return TestMeaning(f"({left} {op} {right})", f"({left} {_OPPOSITE[op]} {right})", op in _ORDERS)


def _joined(joint: Joint, tests: tuple[TestMeaning, ...]) -> TestMeaning:
    flat = tuple(inner for test in tests for inner in (test.parts if test.joint == joint else (test,)))
    if len(flat) == 1:
        return flat[0]
    yes = f"({f' {joint} '.join(test.yes for test in flat)})"
    return TestMeaning(yes, f"(not {yes})", any(test.orders for test in flat), joint, flat)


def _side_by_side(joint: Joint, clauses: tuple[ClauseMeaning, ...]) -> ClauseMeaning | None:
    """Clauses one after the other. A bare value before one value with the verb of several is no test: they belong
    together, as in `$a or $b are empty`."""
    if any(one.bare and two.many for one, two in pairwise(clauses)):
        return None
    return clauses[0] if len(clauses) == 1 else ClauseMeaning(_joined(joint, tuple(one.test for one in clauses)))


def _any_of(first: ClauseMeaning, others: tuple[tuple[bool, ClauseMeaning], ...]) -> ClauseMeaning | None:
    if others and not others[-1][0]:
        return None  # a list ends with "or"
    return _side_by_side("or", (first, *(clause for _, clause in others)))


def _each_of(_: object, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    together = predicate.many and subjects.joint == "and" and predicate.test.orders
    if together or not all(value.testable or value.form == "computed" for value in subjects.values):
        return None  # what is so of several together, as a sum, is not so of each
    tests = tuple(predicate.test.of(value) for value in subjects.values)
    return ClauseMeaning(_joined(subjects.joint, tests), several=True)


def _each_of_both(word: str | None, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    return None if word is not None and subjects.joint == "or" else _each_of(word, subjects, predicate)


def _each_of_either(word: str, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    return None if subjects.joint == "and" else _each_of(word, subjects, predicate)


def _one_is(value: ValueMeaning, predicate: PredicateMeaning) -> ClauseMeaning:
    return ClauseMeaning(predicate.test.of(value), many=bool(predicate.many))


def _neither_of(_: str, one: ValueMeaning, __: str, two: ValueMeaning, predicate: PredicateMeaning) -> ClauseMeaning:
    return ClauseMeaning(_joined("and", (predicate.test.of(one).opposite, predicate.test.of(two).opposite)))


def _truth(value: ValueMeaning) -> TestMeaning:
    return TestMeaning(value.code, f"(not {value.code})")


def _holds(value: ValueMeaning) -> ClauseMeaning | None:
    return ClauseMeaning(_truth(value), bare=True) if value.testable else None


def _both_hold(_: str, one: ValueMeaning, __: str, two: ValueMeaning) -> ClauseMeaning | None:
    held = _truth(one), _truth(two)
    return ClauseMeaning(_joined("and", held)) if one.testable and two.testable else None


def _neither_holds(_: str, one: ValueMeaning, __: str, two: ValueMeaning) -> ClauseMeaning | None:
    held = _truth(one).opposite, _truth(two).opposite
    return ClauseMeaning(_joined("and", held)) if one.testable and two.testable else None


def _some_there(number: str, value: ValueMeaning, *_: object) -> ClauseMeaning | None:
    if not value.testable:
        return None
    return ClauseMeaning(_truth(value) if number == "many" else _test(value.code, "not in", _NOTHING))


def _none_there(number: str, _: str, value: ValueMeaning, *__: object) -> ClauseMeaning | None:
    there = _some_there(number, value)
    return None if there is None else ClauseMeaning(there.test.opposite)


def _compared(left: ValueMeaning, op: str, right: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(_test(left.code, op, right.code))


def _compared_each(left: ValueMeaning, op: str, rights: ListMeaning) -> ClauseMeaning | None:
    """`$n > $a or $b`: in English each of them is meant, beside what the symbols mean."""
    test = None if rights.by_sign else _than_each(op, rights)
    return None if test is None else ClauseMeaning(test.of(left))


def _each_compared(lefts: ListMeaning, op: str, right: ValueMeaning) -> ClauseMeaning | None:
    """`$a or $b > 3`: in English each of them is meant, beside what the symbols mean."""
    if lefts.by_sign or not all(value.testable for value in lefts.values):
        return None
    tests = tuple(_than(op, right).of(value) for value in lefts.values)
    return ClauseMeaning(_joined(lefts.joint, tests), several=True)


def _chained(a: ValueMeaning, op: str, b: ValueMeaning, other: str, c: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(_joined("and", (_test(a.code, op, b.code), _test(b.code, other, c.code))))


def _found_in(value: ValueMeaning, negative: str | None, _: str, where: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(_test(value.code, "not in" if negative else "in", where.code))


def _meeting(*_: object) -> ClauseMeaning:
    return ClauseMeaning(TestMeaning(f"${MEETING_ACTIVE}", f"(not ${MEETING_ACTIVE})"))


def _list(value: ValueMeaning, others: ListMeaning) -> ListMeaning:
    return replace(others, values=(value, *others.values))


def _others(joint: Joint) -> Callable[..., ListMeaning]:
    return lambda commaed, _, by, value: ListMeaning(joint, (*commaed, value), by == "sign")


# -- predicates, said of a subject that is not known yet


def _joined_predicates(first: PredicateMeaning, rest: tuple[Joint, tuple[TestMeaning, ...]]) -> PredicateMeaning:
    joint, tests = rest
    return PredicateMeaning(_joined(joint, (first.test, *tests)), first.many)


def _rest(joint: Joint) -> Callable[..., tuple[Joint, tuple[TestMeaning, ...]]]:
    return lambda first, others: (joint, tuple(_test_of(one) for one in (first, *others)))


def _test_of(short: PredicateMeaning | TestMeaning) -> TestMeaning:
    return short.test if isinstance(short, PredicateMeaning) else short


def _is_so(number: str, test: TestMeaning) -> PredicateMeaning:
    return PredicateMeaning(test, number == "many")


def _is_not_so(number: str, test: TestMeaning) -> PredicateMeaning:
    return PredicateMeaning(test.opposite, number == "many")


def _is_not_any(number: str, test: TestMeaning, first: Any, others: tuple[Any, ...]) -> PredicateMeaning:
    """`is not empty or missing` is neither, for whom *not* covers both."""
    every = _joined("or", (test, *(_test_of(one) for one in (first, *others))))
    return PredicateMeaning(every.opposite, number == "many")


def _state(*parts: str | None) -> TestMeaning:
    yes, no = _STATES[str(parts[-1])]
    return TestMeaning(no, yes) if len(parts) > 1 and parts[0] else TestMeaning(yes, no)


def _one_of(_: object, values: tuple[ValueMeaning, ...]) -> TestMeaning:
    if len(values) == 1:
        return _test(SUBJECT, "==", values[0].code)
    return _test(SUBJECT, "in", f"[{', '.join(value.code for value in values)}]")


def _among(word: object, values: tuple[ValueMeaning, ...]) -> TestMeaning:
    return _test(SUBJECT, "in", values[0].code) if len(values) == 1 else _one_of(word, values)


def _than(op: str, value: ValueMeaning) -> TestMeaning:
    return _test(SUBJECT, op, value.code)


def _than_each(op: str, values: ListMeaning) -> TestMeaning | None:
    if not all(value.testable for value in values.values):
        return None
    return _joined(values.joint, tuple(_than(op, value) for value in values.values))


def _between(_: object, low: ValueMeaning, __: str, high: ValueMeaning) -> TestMeaning:
    yes = f"({low.code} <= {SUBJECT} <= {high.code})"
    return TestMeaning(yes, f"(not {yes})", orders=True)


def _contains_each(_: str, value: ValueMeaning, others: ListMeaning) -> TestMeaning:
    return _joined(others.joint, tuple(_test(one.code, "in", SUBJECT) for one in (value, *others.values)))


def _begins(method: str, value: ValueMeaning) -> TestMeaning:
    yes = f"({SUBJECT} != None and str({SUBJECT}).{method}({value.code}))"
    return TestMeaning(yes, f"(not {yes})")


# -- changes of a variable


@dataclass(frozen=True, slots=True)
class ChangeMeaning:
    """A change: the variable as it is written, an operator of its own, "" for none, and the code of the value."""

    target: str
    operator: str
    code: str


def _variable(_: str | None, token: ConditionToken) -> str | None:
    return token.text if token.form == "variable" else None


def _percent(sign: str, target: str, token: ConditionToken) -> ChangeMeaning:
    return ChangeMeaning(target, "", f"({target} {sign} {target} * {token.text} / 100)")


def _increased(sign: str, target: str, _: str, amount: ValueMeaning) -> ChangeMeaning:
    return ChangeMeaning(target, sign, amount.code)


# -- values


def _summed(first: ValueMeaning, others: tuple[tuple[str, ValueMeaning], ...]) -> ValueMeaning:
    if not others:
        return first
    return ValueMeaning(f"({first.code}{''.join(f' {op} {value.code}' for op, value in others)})", "computed")


def _operand(_: str | None, token: ConditionToken) -> ValueMeaning:
    return ValueMeaning(token.text, token.form)


def _part_of(factor: str, value: ValueMeaning) -> ValueMeaning:
    return ValueMeaning(f"({value.code} / 2)" if factor == "0.5" else f"({value.code} * {factor})", "computed")


def _computed(code: Callable[..., str]) -> Callable[..., ValueMeaning]:
    return lambda *parts: ValueMeaning(code(*parts), "computed")


ACTIONS: Mapping[str, Callable[..., Any]] = {
    "same": lambda part: part,
    "second": lambda *parts: (True, parts[-1]) if isinstance(parts[-1], ClauseMeaning) else parts[-1],
    "listed": lambda _, clause: (False, clause),
    "unprefixed": lambda _, clause: clause,
    "any_of": _any_of,
    "all_of": lambda first, others: _side_by_side("and", (first, *(clause for _, clause in others))),
    "negated": lambda _, clause: None if clause.several else ClauseMeaning(clause.test.opposite),
    "grouped": lambda _, clause, __: ClauseMeaning(clause.test),
    "each_of": _each_of_both,
    "each_of_either": _each_of_either,
    "one_is": _one_is,
    "neither_of": _neither_of,
    "both_hold": _both_hold,
    "neither_holds": _neither_holds,
    "holds": _holds,
    "constant": lambda value: ClauseMeaning(TestMeaning(value, f"(not {value})")),
    "none_there": _none_there,
    "some_there": _some_there,
    "compared": _compared,
    "compared_each": _compared_each,
    "each_compared": _each_compared,
    "chained": _chained,
    "found_in": _found_in,
    "meeting_active": _meeting,
    "meeting_over": lambda *_: ClauseMeaning(_meeting().test.opposite),
    "listing": _list,
    "or_listing": _others("or"),
    "and_listing": _others("and"),
    "joined_predicates": _joined_predicates,
    "or_rest": _rest("or"),
    "and_rest": _rest("and"),
    "is_so": _is_so,
    "is_not_so": _is_not_so,
    "is_not_any": _is_not_any,
    "does_not": lambda _, __, test: PredicateMeaning(test.opposite),
    "acts": PredicateMeaning,
    "exists": lambda state: PredicateMeaning(_state(state)),
    "is_not_value": lambda _, value: _test(SUBJECT, "!=", value.code),
    "state": _state,
    "one_of": _one_of,
    "among": _among,
    "is_in": lambda _, value: _test(SUBJECT, "in", value.code),
    "none_of_both": lambda _, one, __, two: _one_of(None, (one, two)).opposite,
    "comparing": _than,
    "than": _than,
    "than_each": _than_each,
    "or_more": lambda value, op: _than(op, value),
    "between": _between,
    "multiple": lambda _, value: _test(f"{SUBJECT} % {value.code}", "==", "0"),
    "contains": lambda _, value: _test(value.code, "in", SUBJECT),
    "contains_each": _contains_each,
    "begins": _begins,
    "variable": _variable,
    "manifold": lambda factor, target: ChangeMeaning(target, "", f"({target} {factor[0]} {factor[1:]})"),
    "stepped": lambda sign, target: ChangeMeaning(target, sign, "1"),
    "increased": _increased,
    "increased_percent": lambda sign, target, _, token: _percent(sign, target, token),
    "increased_percent_of": lambda sign, token, _, target: _percent(sign, target, token),
    "added": lambda sign, amount, _, target: ChangeMeaning(target, sign, amount.code),
    "rounded": lambda _, target, *__: ChangeMeaning(target, "", f"round({target})"),
    "rounded_to": lambda _, target, __, amount, ___: ChangeMeaning(target, "", f"round({target}, {amount.code})"),
    "becomes": lambda target, _, amount: ChangeMeaning(target, "", amount.code),
    "single": lambda value: (value,),
    "choice": lambda value, others: (value, *others.values),
    "choice_of_commas": lambda value, first, others: (value, first, *others),
    "summed": _summed,
    "multiplied_out": _summed,
    "pair": lambda op, value: (op, value),
    "minus": lambda _, value: ValueMeaning(f"-{value.code}", "literal" if value.form == "literal" else "computed"),
    "powered": _computed(lambda value, _, power: f"({value.code} ** {power.code})"),
    "operand": _operand,
    "constant_value": lambda value: ValueMeaning(value, "literal"),
    "parenthesised": lambda _, value, __: value,
    "counted": _computed(lambda *parts: f"len({parts[-1].code})"),
    "sized": _computed(lambda function, value: f"{function}({value.code})"),
    "average": _computed(lambda _, value: f"(sum({value.code}) / len({value.code}))"),
    "percent": _computed(lambda token, _, value: f"({value.code} * {token.text} / 100)"),
    "part_of": _part_of,
}
"""What each action of the grammar makes of the meanings of its elements; None where they have none together."""
