"""The meanings of a condition's parts, in symbols, and the actions of the grammar that make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import FunctionType
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

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
_ITEMS = frozenset({"items", "item", "entries", "entry", "elements", "element", "things", "characters", "character"})
_ORDERS = frozenset({">=", "<=", ">", "<"})


class ValueMeaning(Struct, frozen=True):
    """A value: its code, and whether it can be a test of its own, as a variable and a call can."""

    code: str
    form: str

    @property
    def testable(self) -> bool:
        return self.form in ("variable", "call")


class TestMeaning(Struct, frozen=True):
    """A test: code for *it is so* and for *it is not*. `orders`: it compares sizes; `parts` are joined by `joint`."""

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


class PredicateMeaning(Struct, frozen=True):
    """A predicate with its verb, which is one of `many` or not; "are all" says it of `each` of several."""

    test: TestMeaning
    many: bool | None = None
    each: bool = False


class ClauseMeaning(Struct, frozen=True):
    """A test beside others: a `bare` value alone, `many`: one value with the verb of several, `several` at once."""

    test: TestMeaning
    bare: bool = False
    many: bool = False
    several: bool = False


class ListMeaning(Struct, frozen=True):
    """Several values, joined by a word, or `by_sign`: `||` and `&&` join tests alone."""

    joint: Joint
    values: tuple[ValueMeaning, ...]
    by_sign: bool = False


def test_of_values(left: str, op: str, right: str) -> TestMeaning:
    return TestMeaning(f"({left} {op} {right})", f"({left} {_OPPOSITE[op]} {right})", op in _ORDERS)


def _joined(joint: Joint, tests: tuple[TestMeaning, ...]) -> TestMeaning:
    flat = tuple(inner for test in tests for inner in (test.parts if test.joint == joint else (test,)))
    if len(flat) == 1:
        return flat[0]
    yes = f"({f' {joint} '.join(test.yes for test in flat)})"
    return TestMeaning(yes, f"(not {yes})", any(test.orders for test in flat), joint, flat)


def side_by_side(joint: Joint, clauses: tuple[ClauseMeaning, ...]) -> ClauseMeaning | None:
    """Clauses one after the other. A bare value before *are* is no test: `$a or $b are empty` belong together."""
    if any(one.bare and two.many for one, two in pairwise(clauses)):
        return None
    return clauses[0] if len(clauses) == 1 else ClauseMeaning(_joined(joint, tuple(one.test for one in clauses)))


def any_of(first: ClauseMeaning, others: tuple[tuple[bool, ClauseMeaning], ...]) -> ClauseMeaning | None:
    if others and not others[-1][0]:
        return None  # a list ends with "or"
    return side_by_side("or", (first, *(clause for _, clause in others)))


def _each_of(both: object, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    together = not both and predicate.many and subjects.joint == "and" and predicate.test.orders
    if together or not all(value.testable or value.form in ("computed", "measured") for value in subjects.values):
        return None  # what is so of several together, as a sum, is not so of each
    tests = tuple(predicate.test.of(value) for value in subjects.values)
    return ClauseMeaning(_joined(subjects.joint, tests), several=True)


def each_of(word: str | None, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    return None if word is not None and subjects.joint == "or" else _each_of(word, subjects, predicate)


def each_of_either(word: str, subjects: ListMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    return None if subjects.joint == "and" else _each_of(word, subjects, predicate)


def one_is(value: ValueMeaning, predicate: PredicateMeaning) -> ClauseMeaning | None:
    return None if predicate.each else ClauseMeaning(predicate.test.of(value), many=bool(predicate.many))


def neither_of(_: str, one: ValueMeaning, __: str, two: ValueMeaning, predicate: PredicateMeaning) -> ClauseMeaning:
    return ClauseMeaning(_joined("and", (predicate.test.of(one).opposite, predicate.test.of(two).opposite)))


def _truth(value: ValueMeaning) -> TestMeaning:
    return TestMeaning(value.code, f"(not {value.code})")


def holds(value: ValueMeaning) -> ClauseMeaning | None:
    return ClauseMeaning(_truth(value), bare=True) if value.testable else None


def both_hold(_: str, one: ValueMeaning, __: str, two: ValueMeaning) -> ClauseMeaning | None:
    held = _truth(one), _truth(two)
    return ClauseMeaning(_joined("and", held)) if one.testable and two.testable else None


def neither_holds(_: str, one: ValueMeaning, __: str, two: ValueMeaning) -> ClauseMeaning | None:
    held = _truth(one).opposite, _truth(two).opposite
    return ClauseMeaning(_joined("and", held)) if one.testable and two.testable else None


def some_there(number: str, value: ValueMeaning, *_: object) -> ClauseMeaning | None:
    if not value.testable:
        return None
    return ClauseMeaning(_truth(value) if number == "many" else test_of_values(value.code, "not in", _NOTHING))


def none_there(number: str, _: str, value: ValueMeaning, *__: object) -> ClauseMeaning | None:
    there = some_there(number, value)
    return None if there is None else ClauseMeaning(there.test.opposite)


def compared(left: ValueMeaning, op: str, right: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(test_of_values(left.code, op, right.code))


def compared_each(left: ValueMeaning, op: str, rights: ListMeaning) -> ClauseMeaning | None:
    """`$n > $a or $b`: in English each of them is meant, beside what the symbols mean."""
    test = None if rights.by_sign else than_each(op, rights)
    return None if test is None else ClauseMeaning(test.of(left))


def each_compared(lefts: ListMeaning, op: str, right: ValueMeaning) -> ClauseMeaning | None:
    """`$a or $b > 3`: in English each of them is meant, beside what the symbols mean."""
    if lefts.by_sign or not all(value.testable for value in lefts.values):
        return None
    tests = tuple(than(op, right).of(value) for value in lefts.values)
    return ClauseMeaning(_joined(lefts.joint, tests), several=True)


def chained(a: ValueMeaning, op: str, b: ValueMeaning, other: str, c: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(_joined("and", (test_of_values(a.code, op, b.code), test_of_values(b.code, other, c.code))))


def found_in(value: ValueMeaning, negative: str | None, _: str, where: ValueMeaning) -> ClauseMeaning:
    return ClauseMeaning(test_of_values(value.code, "not in" if negative else "in", where.code))


def meeting_active(*_: object) -> ClauseMeaning:
    return ClauseMeaning(TestMeaning(f"${MEETING_ACTIVE}", f"(not ${MEETING_ACTIVE})"))


def listing(value: ValueMeaning, others: ListMeaning) -> ListMeaning | None:
    """None where the size of the first may be that of all: "the sum of $a and $b"."""
    if value.form == "measured" and any(one.form not in ("computed", "measured") for one in others.values):
        return None
    return replace(others, values=(value, *others.values))


def others(joint: Joint) -> Callable[..., ListMeaning]:
    return lambda commaed, _, by, value: ListMeaning(joint, (*commaed, value), by == "sign")


# -- predicates, said of a subject that is not known yet


def joined_predicates(first: PredicateMeaning, rest: tuple[Joint, tuple[TestMeaning, ...]]) -> PredicateMeaning:
    joint, tests = rest
    return PredicateMeaning(_joined(joint, (first.test, *tests)), first.many, first.each)


def rest(joint: Joint) -> Callable[..., tuple[Joint, tuple[TestMeaning, ...]]]:
    return lambda first, others: (joint, tuple(_test_of(one) for one in (first, *others)))


def _test_of(short: PredicateMeaning | TestMeaning) -> TestMeaning:
    return short.test if isinstance(short, PredicateMeaning) else short


def is_so(number: str, test: TestMeaning) -> PredicateMeaning:
    return PredicateMeaning(test, number != "one", number == "each")


def is_not_so(number: str, test: TestMeaning) -> PredicateMeaning:
    return PredicateMeaning(test.opposite, number == "many")


def is_not_any(number: str, test: TestMeaning, first: Any, others: tuple[Any, ...]) -> PredicateMeaning:
    """`is not empty or missing` is neither, for whom *not* covers both."""
    every = _joined("or", (test, *(_test_of(one) for one in (first, *others))))
    return PredicateMeaning(every.opposite, number == "many")


def state(*parts: str | None) -> TestMeaning:
    yes, no = _STATES[str(parts[-1])]
    return TestMeaning(no, yes) if len(parts) > 1 and parts[0] else TestMeaning(yes, no)


def one_of(_: object, values: tuple[ValueMeaning, ...]) -> TestMeaning:
    if len(values) == 1:
        return test_of_values(SUBJECT, "==", values[0].code)
    return test_of_values(SUBJECT, "in", f"[{', '.join(value.code for value in values)}]")


def among(word: object, values: tuple[ValueMeaning, ...]) -> TestMeaning:
    return test_of_values(SUBJECT, "in", values[0].code) if len(values) == 1 else one_of(word, values)


def than(op: str, value: ValueMeaning) -> TestMeaning:
    return test_of_values(SUBJECT, op, value.code)


def than_each(op: str, values: ListMeaning) -> TestMeaning | None:
    if not all(value.testable for value in values.values):
        return None
    return _joined(values.joint, tuple(than(op, value) for value in values.values))


def between(_: object, low: ValueMeaning, __: str, high: ValueMeaning) -> TestMeaning:
    yes = f"({low.code} <= {SUBJECT} <= {high.code})"
    return TestMeaning(yes, f"(not {yes})", orders=True)


def contains_each(_: str, value: ValueMeaning, others: ListMeaning) -> TestMeaning:
    return _joined(others.joint, tuple(test_of_values(one.code, "in", SUBJECT) for one in (value, *others.values)))


def has_many(_: str, test: TestMeaning, noun: ConditionToken) -> TestMeaning | None:
    """How many items, which a noun may only name as such: `$basket has 3 items`, not `$basket has 3 apples`."""
    return test.of(ValueMeaning(f"len({SUBJECT})", "computed")) if noun.text in _ITEMS else None


def single_number(value: ValueMeaning) -> TestMeaning | None:
    """As many, or none: in `no items` stands a word that is a value elsewhere."""
    number = {"False": "0", "True": "", "None": ""}.get(value.code, value.code)
    return than("==", ValueMeaning(number, value.form)) if number else None


def there_are_in(
    _: str, test: TestMeaning, noun: ConditionToken, __: object, where: ValueMeaning
) -> ClauseMeaning | None:
    """The same of items in a list, which may be called as the list is: `there are 4 articles in $articles`."""
    named = noun.text in _ITEMS or where.code.lower().lstrip("$").split("_")[-1] in (noun.text, f"{noun.text}s")
    return ClauseMeaning(test.of(ValueMeaning(f"len({where.code})", "computed"))) if named else None


def begins(method: str, value: ValueMeaning) -> TestMeaning:
    yes = f"({SUBJECT} != None and str({SUBJECT}).{method}({value.code}))"
    return TestMeaning(yes, f"(not {yes})")


# -- values, and all actions by their names


def summed(first: ValueMeaning, others: tuple[tuple[str, ValueMeaning], ...]) -> ValueMeaning:
    if not others:
        return first
    return ValueMeaning(f"({first.code}{''.join(f' {op} {value.code}' for op, value in others)})", "computed")


def operand(_: str | None, token: ConditionToken) -> ValueMeaning:
    return ValueMeaning(token.text, token.form)


def part_of(factor: str, value: ValueMeaning) -> ValueMeaning:
    return ValueMeaning(f"({value.code} {factor[0]} {factor[1:]})", "measured")


def _together(first: ValueMeaning, commaed: Sequence[ValueMeaning], last: ValueMeaning) -> str:
    return f"[{', '.join(value.code for value in (first, *commaed, last))}]"


def number_of_percent(token: ConditionToken, _: ConditionToken) -> ConditionToken | None:
    return token if token.form == "literal" and not token.text.startswith(("[", "{", '"', "'")) else None


def _lasting(halves: bool, count: str | ValueMeaning, unit: str) -> ValueMeaning:
    """Seconds: so many units of time, and half of one more."""
    number = count if isinstance(count, str) else count.code
    whole = number if unit == "1" else f"({number} * {unit})"
    return ValueMeaning(f"({whole} + {unit} / 2)" if halves else whole, "computed")


def _computed(code: Callable[..., str], form: str = "computed") -> Callable[..., ValueMeaning]:
    return lambda *parts: ValueMeaning(code(*parts), form)


ACTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: action for name, action in globals().items() if isinstance(action, FunctionType)},
    "same": lambda part: part,
    "second": lambda *parts: (True, parts[-1]) if isinstance(parts[-1], ClauseMeaning) else parts[-1],
    "listed": lambda _, clause: (False, clause),
    "unprefixed": lambda _, clause: clause,
    "all_of": lambda first, others: side_by_side("and", (first, *(clause for _, clause in others))),
    "negated": lambda _, clause: None if clause.several else ClauseMeaning(clause.test.opposite),
    "grouped": lambda _, clause, __: ClauseMeaning(clause.test),
    "constant": lambda value: ClauseMeaning(TestMeaning(value, f"(not {value})")),
    "any_there": lambda number, _, value, *__: some_there(number, value),
    "meeting_over": lambda *_: ClauseMeaning(meeting_active().test.opposite),
    "or_listing": others("or"),
    "and_listing": others("and"),
    "or_rest": rest("or"),
    "and_rest": rest("and"),
    "does_not": lambda _, __, test: PredicateMeaning(test.opposite),
    "acts": PredicateMeaning,
    "exists": lambda kind: PredicateMeaning(state(kind)),
    "is_not_value": lambda _, value: test_of_values(SUBJECT, "!=", value.code),
    "is_in": lambda _, value: test_of_values(SUBJECT, "in", value.code),
    "none_of_both": lambda _, one, __, two: one_of(None, (one, two)).opposite,
    "comparing": than,
    "or_more": lambda value, op: than(op, value),
    "multiple": lambda _, value: test_of_values(f"{SUBJECT} % {value.code}", "==", "0"),
    "contains": lambda _, value: (
        TestMeaning(*_STATES["empty"]) if value.code == "None" else test_of_values(value.code, "in", SUBJECT)
    ),
    "lasting": lambda count, unit: _lasting(False, count, unit),
    "part_of_unit": lambda part, unit: _lasting(False, part, unit),
    "lasting_half": lambda count, _, unit: _lasting(True, count, unit),
    "lasting_and_half": lambda count, unit, _: _lasting(True, count, unit),
    "added_up": _computed(lambda first, *others: f"({first.code} + {others[-1].code})"),
    "any_number": lambda _: than("!=", ValueMeaning("0", "literal")),
    "than_letters": lambda op, value, *_: than(op, value).of(ValueMeaning(f"len({SUBJECT})", "computed")),
    "single": lambda value: (value,),
    "choice": lambda value, others: (value, *others.values),
    "choice_of_commas": lambda value, first, others: (value, first, *others),
    "multiplied_out": summed,
    "placed": lambda token: token.text if token.kind == "TYPED" or token.form == "variable" else None,
    "pair": lambda op, value: (op, value),
    "minus": lambda _, value: ValueMeaning(f"-{value.code}", "literal" if value.form == "literal" else "computed"),
    "powered": _computed(lambda value, _, power: f"({value.code} ** {power.code})"),
    "in_unit": lambda size, _: size,
    "constant_value": lambda value: ValueMeaning(value, "literal"),
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
}
"""What each action makes of the meanings of its elements, or None; that of a function here has its name."""
