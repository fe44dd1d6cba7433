"""Steps that set or change variables, as typed readings: all that a step can mean."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from runtime.language.instructions.conditions.grammar import FILE, ConditionChart, grammar_of
from runtime.language.instructions.conditions.meanings import ACTIONS, ValueMeaning
from runtime.language.instructions.conditions.reading import in_symbols, plain_marks
from runtime.language.instructions.conditions.tokens import ConditionToken, leading_tokens
from runtime.language.instructions.expression import Expression, expression_of, has_date
from runtime.language.instructions.text import governing
from runtime.language.instructions.values import read_value, result_of
from runtime.language.vocabulary.phrase import phrase, words_of

_FILES = (FILE, Path(__file__).parent / "setting.grammar")
SEVERAL = "it sets several variables"
LATER = "when it is set is part of the sentence"
_JOINTS = (",", "and")
_PLAIN = (ast.Constant, ast.UnaryOp, ast.List, ast.Dict)
_PEOPLE = words_of("served") | words_of("roles") | words_of("relatives")
_WITHIN_AN_ENDING = 6
"""The most tokens of an ending: "in the current value of $x"."""

_Value = Literal["any", "worded", "exact", "plain", "step"]


class SetReading(Struct, frozen=True):
    """One reading: the variables as they are written, an operator of their own ("" for none), and the value: exact, or
    a text, which `each` of several variables gets. `in_words` says that the text has no exact reading, `unsure` why it
    may be more than a value."""

    targets: tuple[str, ...]
    operator: str
    value: Expression | str
    in_words: bool = False
    unsure: str = ""
    each: bool = False

    @property
    def text(self) -> str:
        """The value as a text; "" for what the grammar has computed from the step."""
        return self.value if isinstance(self.value, str) else ""

    @property
    def written(self) -> str:
        """The reading as its author could write it, so that it has no other."""
        value = in_symbols(self.value) if isinstance(self.value, Expression) else self.value
        return f"{', '.join(self.targets)} {self.operator}= {value}"


class _Meaning(Struct, frozen=True):
    """What the grammar makes: targets, an operator, and the code of the value, or what may stand behind as one."""

    targets: tuple[str, ...]
    operator: str = ""
    code: str = ""
    value: _Value = "any"


@lru_cache(maxsize=4096)
def settings_of(text: str) -> tuple[SetReading, ...]:
    """All that a step can set or change: none for another step, several where people may differ about it."""
    source = text.strip().rstrip(".;").rstrip()
    name, sign, value = source.partition("=")
    if sign and value[:1] != "=" and name.strip().isidentifier():
        return (SetReading((name.strip(),), "", value.strip(), in_words=True, unsure="a variable begins with $"),)
    if "$" not in source or not (source.startswith("$") or source.partition(" ")[0].lower() in _first_words()):
        return ()
    tokens = leading_tokens(plain_marks(source))
    chart = ConditionChart(grammar_of(*_FILES), _ACTIONS, tokens)
    found = [*_changed(source, chart), *_stored(source, chart, tokens), *_begun(source, chart, tokens)]
    found = [one for one in found if not one.in_words] or found[-1:]
    return tuple(found if len(found) < 2 else {one.written: one for one in found}.values())


def sets_behind(verb: str, text: str) -> bool:
    """Whether a text goes on with what the `verb` before it changes: "$y to 2" behind "Set $x to 1 and"."""
    said = f"{verb} {text}"
    return any(one.value != said for one in settings_of(said))


def names_alone(text: str) -> bool:
    """Whether a text says what is set, and no value yet: "Set $a, $b" before "and $c to 0"."""
    verb, *words = text.replace(",", " ").split() or [""]
    names = {*words} - {"and", "both", "all"}
    sets = any((name, verb.lower()) in grammar_of(*_FILES).by_word for name in ("SET", "LET", "START"))
    return sets and bool(names) and min(names)[0] == max(names)[0] == "$"  # so all of them begin with it


def two_ways(readings: Sequence[SetReading]) -> str:
    """Why a step with several readings is free: each as its author can write it."""
    return f"it can be read in two ways: write {' or '.join(f'`{one.written}`' for one in readings)}"


def doubt_about(readings: Sequence[SetReading]) -> str:
    """Why a step is free whose parts are no steps of their own; "" for one that is exact, or several."""
    return two_ways(readings) if len(readings) > 1 else readings[0].unsure.replace(SEVERAL, "")


@cache
def _first_words() -> frozenset[str]:
    grammar = grammar_of(*_FILES)
    return grammar.firsts["change"] | grammar.firsts["beginning"] | {words[0] for words, _ in grammar.classes["STORE"]}


def _changed(source: str, chart: ConditionChart) -> Iterator[SetReading]:
    """What the grammar reads from the first word to the last."""
    for one in chart.meanings("change") if chart.begins("change", 0) and not has_date(source) else ():
        value = expression_of(one.code, one.code)
        if value is not None:
            yield SetReading(one.targets, one.operator, value)


def _stored(source: str, chart: ConditionChart, tokens: Sequence[ConditionToken]) -> Iterator[SetReading]:
    """ "Store $order.total in $total": a verb, an exact value or a call, and the variable at the end."""
    stores = [value for _, value in grammar_of(*_FILES).by_word.get(("STORE", tokens[0].text), ())]
    for at in range(len(tokens) - 1, max(1, len(tokens) - _WITHIN_AN_ENDING), -1) if stores else ():
        value = source[tokens[0].end : tokens[at].at].strip()
        targets = chart.ends("ending", at).get(len(tokens), ())
        called = _is_call(tokens[1:at]) or result_of(value) != value
        if targets and value and (called or (read_value(value) is not None and not _is_membership(value))):
            somebody = tokens[0].text == "copy" and targets[0].lstrip("$").rpartition("_")[2].lower() in _PEOPLE
            yield SetReading(targets, "", value, unsure="it may be for somebody, too" if somebody else "")
            if stores == ["either"] and not called:
                yield SetReading(targets, "+", value)
            if stores == ["turned"] and all(one.form == "variable" or one.text in _JOINTS for one in tokens[1:at]):
                yield SetReading(tuple(value.replace(" and ", ",").replace(",", " ").split()), "", targets[0])


def _begun(source: str, chart: ConditionChart, tokens: Sequence[ConditionToken]) -> Iterator[SetReading]:
    """ "Set $x to …", "$x = …": what sets, and the value behind it."""
    for end, meanings in sorted(chart.ends("beginning", 0).items()):
        value = source[tokens[end - 1].end :].strip()
        if meanings[0].value == "step":
            if not value or tokens[end].text not in _JOINTS:
                later = LATER if governing(value, lambda before: not before) else ""
                yield SetReading(meanings[0].targets, "", source, in_words=True, unsure=later)
            continue
        several = any(chart.begins("another", at) for at in range(end, len(tokens)) if tokens[at].text in _JOINTS)
        called = not several and (_is_call(tokens[end:]) or result_of(value) != value)
        sure = called or (not several and read_value(value) is not None)
        for one in meanings:
            match one.value:
                case "exact" | "plain" if sure and (called or one.value == "exact" or _is(value, *_PLAIN)):
                    yield SetReading(one.targets, one.operator, value)
                case "worded" if sure and len(one.targets) == 1 and _is(value, ast.Tuple):
                    yield SetReading(one.targets, "", value, in_words=True)
                case "worded" if sure and not (_is(value, ast.Tuple, ast.List) and _parts(value) == len(one.targets)):
                    yield SetReading(one.targets, "", value, each=len(one.targets) > 1)
                case "any" | "worded" if value:
                    why = "" if sure else SEVERAL if several else _unsure(value)
                    yield SetReading(one.targets, one.operator, value, in_words=not sure, unsure=why)


def _is_call(tokens: Sequence[ConditionToken]) -> bool:
    return len(tokens) == 1 and (tokens[0].kind == "CALL" or tokens[0].form == "call")


def _is_membership(value: str) -> bool:
    """Whether a value says no more than where another one is: "$price in $prices"."""
    read = read_value(value)
    tests = read is not None and isinstance(read.tree, ast.Compare) and isinstance(read.tree.ops[0], ast.In | ast.NotIn)
    return tests and {"whether", "if", "is"}.isdisjoint(value.lower().split())


def _parts(value: str) -> int:
    """The number of values in a list."""
    read = read_value(value)
    return len(read.tree.elts) if read is not None and isinstance(read.tree, ast.Tuple | ast.List) else 1


def _is(value: str, *kinds: type[ast.expr]) -> bool:
    """Whether a value is written as one of these: `$street, $zip` is an ast.Tuple, and may be a text as well."""
    read = read_value(value)
    return read is not None and isinstance(read.tree, kinds) and not isinstance(getattr(read.tree, "value", None), str)


def _unsure(value: str) -> str:
    """Why a value in words may be more than one; "" where it is one."""
    value = value.partition("): ")[0]  # behind a call stands what its author wrote
    if phrase("no value alone").begins(value):
        return "it may be something to do, and no value"
    return LATER if governing(value, lambda before: read_value(before) is not None) else ""


def _percent(sign: str, target: str, token: ConditionToken) -> _Meaning:
    return _Meaning((target,), "", f"({target} {sign} {target} * {token.text} / 100)")


def _behind(value: _Value) -> Callable[..., _Meaning]:
    """A beginning with one target, or with several."""

    def beginning(_: str, *parts: Any) -> _Meaning:
        targets = next(part for part in parts if isinstance(part, tuple) or (isinstance(part, str) and "$" in part))
        return _Meaning(targets if isinstance(targets, tuple) else (targets,), value=value)

    return beginning


def _added_sum(sign: str, first: ValueMeaning, second: ValueMeaning, more: Any, _: str, target: str) -> _Meaning | None:
    """ "Add 2 and 3 to $n": both together, where none of them is a text or a list."""
    values = (first, second, *more)
    plain = not any(value.code.startswith(("'", '"', "[", "{", "f")) for value in values)
    return _Meaning((target,), sign, f"({' + '.join(value.code for value in values)})") if plain else None


def _keyed(amount: Any, key: Any, target: str) -> _Meaning | None:
    """A value under a key; None for "Keep $price in $range under 10"."""
    return None if key.code.isdecimal() else _Meaning((f"{target}[{key.code}]",), "", amount.code)


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    **ACTIONS,
    "last": lambda *parts: parts[-1],
    "another": lambda *parts: parts,
    "listed_targets": lambda first, others: (first, *others),
    "gives": lambda place, others, _: _Meaning((place, *others)),
    "operates": lambda place, sign: _Meaning((place,), sign),
    "gives_exactly": lambda place, _: _Meaning((place,), value="exact"),
    "gives_all": _behind("worded"),
    "gives_one": _behind("worded"),
    "gives_one_exactly": _behind("exact"),
    "gives_one_plainly": _behind("plain"),
    "decides": _behind("step"),
    "manifold": lambda factor, target: _Meaning((target,), "", f"({target} {factor[0]} {factor[1:]})"),
    "toggled": lambda _, target: _Meaning((target,), "", f"(not {target})"),
    "swapped": lambda _, one, __, two: _Meaning((one, two), "", f"[{two}, {one}]"),
    "stepped": lambda sign, target: _Meaning((target,), sign, "1"),
    "stepped_behind": lambda target, sign: _Meaning((target,), sign, "1"),
    "increased": lambda sign, target, _, amount: _Meaning((target,), sign, amount.code),
    "increased_percent": lambda sign, target, _, token: _percent(sign, target, token),
    "increased_percent_of": lambda sign, token, _, target: _percent(sign, target, token),
    "added": lambda sign, amount, _, target: _Meaning((target,), sign, amount.code),
    "increased_percent_more": lambda sign, token, _, __, target: _percent(sign, target, token),
    "risen": lambda target, sign, amount: _Meaning((target,), sign, amount.code),
    "cased": lambda _, target, case: _Meaning((target,), "", f"{target}.{case}()"),
    "added_to_a_list": lambda _, amount, *parts: _Meaning(
        (next(part for part in parts if str(part)[:1] == "$"),), "+", amount.code
    ),
    "added_each": lambda sign, first, second, more, _, target: _Meaning(
        (target,), sign, f"[{', '.join(value.code for value in (first, second, *more))}]"
    ),
    "added_sum": _added_sum,
    "keyed": lambda _, amount, __, key, ___, target: _keyed(amount, key, target),
    "keyed_behind": lambda _, amount, __, target, ___, key: _keyed(amount, key, target),
    "rounded": lambda _, target, *__: _Meaning((target,), "", f"round({target})"),
    "rounded_to": lambda _, target, __, amount, ___: _Meaning((target,), "", f"round({target}, {amount.code})"),
    "emptied": lambda _, empty, __, target: _Meaning((target,), "", empty),
    "made": lambda _, target, amount: _Meaning((target,), "", amount.code) if amount.form == "literal" else None,
}
