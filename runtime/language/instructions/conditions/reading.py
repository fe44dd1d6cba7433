"""Conditions and values in English or symbols: exact where they have one meaning."""

from __future__ import annotations

import ast
import copy
import re
from functools import lru_cache
from itertools import pairwise

from msgspec.structs import replace

from runtime.language.instructions.conditions.grammar import ConditionChart, condition_grammar
from runtime.language.instructions.conditions.meanings import ACTIONS, ClauseMeaning, ValueMeaning
from runtime.language.instructions.conditions.tokens import tokens_of
from runtime.language.instructions.expression import MAX_SOURCE, Expression, expression_of, has_date
from runtime.language.instructions.text import STRING, split_at, with_straight_quotes
from runtime.language.value_types import variable_name
from runtime.language.vocabulary.phrase import phrase
from runtime.language.vocabulary.word_list import WORD

_WORD = re.compile(r"(?<![$\w.])[^\W\d]\w*(?!\w*\()")
_OF_SYMBOLS = frozenset({"and", "or", "not", "in", "if", "else", "for", "True", "False", "None", "true", "false"})
_OF_MORE = frozenset({"and", "or", "either", "neither", "but", "unless", "not", "no", "that", "so", "than", "is", "if"})
"""Words of a sentence in which what stands in brackets is not all."""
_EXACT_WORDS = frozenset({"meeting", "true", "false"})
_DENIES = frozenset({"not", "no", "nobody", "none", "never", "nothing", "without"})
_APOSTROPHE = re.compile("(?<=\\w)\u2019(?=\\w)")


def read_condition(text: str) -> Expression | None:
    """The condition in a text; None for prose, and for what can be read in two ways."""
    readings = condition_readings(text)
    return readings[0] if len(readings) == 1 else None


@lru_cache(maxsize=4096)
def condition_readings(text: str) -> tuple[Expression, ...]:
    """All that a condition can mean, each in symbols as its author could write it; none for prose."""
    source = text.strip()
    if not _speaks_of_values(source) or len(source) > MAX_SOURCE or has_date(source):
        return ()
    said = plain_marks(source)
    if (test := _test_in_brackets(said)) is not None:
        return (replace(test, source=source),)
    clauses = (clause for clause in _meanings(said, "condition") if isinstance(clause, ClauseMeaning))
    found = [one for clause in clauses if (one := expression_of(source, clause.test.yes)) is not None]
    if len(found) > 1:
        found = list({ast.dump(_Flattening().visit(copy.deepcopy(one.tree))): one for one in reversed(found)}.values())[
            ::-1
        ]
    if not found and (symbols := _in_symbols(source, said)) is not None:
        return (symbols,)
    return tuple(found)


def _test_in_brackets(said: str) -> Expression | None:
    """What a condition in words is in symbols: "we don't know the dish ($contents is None)"."""
    head, _, test = said.partition(" (")
    prose = "$" not in head and _OF_MORE.isdisjoint(words := head.lower().split()) and len(words) > 2
    found = read_condition(test[:-1]) if prose and test.endswith(")") and "(" not in test else None
    return found if found is not None and isinstance(found.tree, ast.Compare) else None


def _speaks_of_values(text: str) -> bool:
    """Whether a text has what every exact condition has."""
    return any(char in "$(" or char.isdigit() for char in text) or not _EXACT_WORDS.isdisjoint(
        WORD.findall(text.lower())
    )


@lru_cache(maxsize=4096)
def read_worded_value(text: str) -> Expression | None:
    """The value in a text in words: `$price times $count`, `the length of $list`, `three`; None for prose."""
    source = text.strip()
    if not source or len(source) > MAX_SOURCE or has_date(source):
        return None
    values = {value for value in _meanings(plain_marks(source), "amount") if isinstance(value, ValueMeaning)}
    codes = {
        value.code for value in values if value.form in ("computed", "measured", "variable") or value.code.isdigit()
    }
    return expression_of(source, codes.pop()) if len(values) == len(codes) == 1 else None


def lasts_a_time(text: str) -> bool:
    """Whether a text says how long something lasts: "for five minutes", "within a day"."""
    tokens = tokens_of(plain_marks(text.rstrip(" .;"))) or ()
    chart = ConditionChart(condition_grammar(), ACTIONS, tokens)
    return any(chart.begins("lasting", at) for at in range(len(tokens)))


def says_that_nothing_came(text: str) -> bool:
    """Whether a text says that something did not happen for a time: "nobody answers within a day"."""
    words = [token.text for token in tokens_of(plain_marks(text)) or () if token.kind == "WORD"]
    happens = any(two == "within" and one not in ("is", "are", "was", "were") for one, two in pairwise(words))
    denied = not _DENIES.isdisjoint(words) or ("unless" in words and happens)
    return denied and lasts_a_time(text)


@lru_cache(maxsize=4096)
def is_one_condition(text: str) -> bool:
    """Whether a text up to an action is surely one condition: behind its commas it goes on, or lists words."""
    parts = [part.strip() for part in split_at(text, ",")[1:]]
    apart = split_at(text, ";")[1:] or any(part[:1] == " " for part in split_at(text, ":")[1:])
    if not (parts or apart) or read_condition(text) is not None or read_answer(text) is not None:
        return True
    if apart:
        return False
    new = [phrase("goes on in a list").begins(part) is None for part in parts]
    others = [part for part, begins in zip(parts, new, strict=True) if begins]
    listed = not {"and", "or"}.isdisjoint(parts[-1].lower().split())
    inserted = not any(one and two for one, two in pairwise([True, *new]))  # "the guest, after all, wants tea"
    return not others or ((listed or inserted) and not any(map(phrase("acts or states").begins, others)))


def says_no(text: str) -> bool:
    """Whether a condition denies something."""
    return not _DENIES.isdisjoint(token.text for token in tokens_of(plain_marks(text)) or ())


@lru_cache(maxsize=4096)
def read_answer(text: str) -> str | None:
    """What a condition says that has somebody's answer, or the result of a check, before it: "yes" for `so`, "no" for
    `they don't`, "nothing" for what is neither. None for any other condition."""
    first = text.strip().partition(" ")[0].lower().partition("n't")[0].rstrip(",")
    found = _meanings(plain_marks(text.strip()), "answer") if first in condition_grammar().firsts["answer"] else ()
    return str(found[0]) if found else None


def in_symbols(expression: Expression) -> str:
    """A reading as its author could write it, so that it has no other."""
    tree = copy.deepcopy(expression.tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and variable_name(node.id) in expression.names:
            node.id = f"${variable_name(node.id)}"
    return _written(tree)


def _written(tree: ast.expr) -> str:
    """The code, with brackets around tests beside a bare value, which might share what is compared else."""
    if not isinstance(tree, ast.BoolOp):
        return ast.unparse(tree)
    alone = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
    parts = [ast.unparse(part) if isinstance(part, alone) else f"({_written(part)})" for part in tree.values]
    if not any(isinstance(part, alone) for part in tree.values):
        parts = [ast.unparse(part) if isinstance(part, ast.Compare) else f"({_written(part)})" for part in tree.values]
    return (" and " if isinstance(tree.op, ast.And) else " or ").join(parts)


def plain_marks(text: str) -> str:
    """A text with straight quotation marks and apostrophes, each in its place."""
    return _APOSTROPHE.sub("'", with_straight_quotes(text))


def _meanings(text: str, rule: str) -> tuple[object, ...]:
    tokens = tokens_of(text)
    return () if not tokens else ConditionChart(condition_grammar(), ACTIONS, tokens).meanings(rule)


def _in_symbols(source: str, said: str) -> Expression | None:
    """A condition in symbols that the grammar does not have, such as a comprehension, as Python reads it."""
    if not set(_WORD.findall(STRING.sub("", said))) <= _OF_SYMBOLS and " for " not in said:
        return None
    found = expression_of(source, said)
    return None if found is not None and _is_list_of_tests(found.tree) else found


def _is_list_of_tests(tree: ast.expr) -> bool:
    """Whether a literal stands in place of a test, as in `$x == 3 or 4`, which means something else to its author."""
    match tree:
        case ast.BoolOp(values=parts):
            values = (part.value for part in parts if isinstance(part, ast.Constant))
            return any(not isinstance(value, bool) for value in values) or any(map(_is_list_of_tests, parts))
    return isinstance(tree, ast.Tuple)


class _Flattening(ast.NodeTransformer):
    """Makes joints of one kind one."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        self.generic_visit(node)
        values: list[ast.expr] = []
        for part in node.values:
            values += part.values if isinstance(part, ast.BoolOp) and type(part.op) is type(node.op) else [part]
        return ast.BoolOp(node.op, values)
