"""Conditions whose sides, or whose question, stand in the same sentence."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise, takewhile

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.conditions.grammar import condition_grammar
from runtime.language.instructions.conditions.reading import (
    is_one_condition,
    plain_marks,
    read_answer,
    read_condition,
    says_no,
)
from runtime.language.instructions.conditions.tokens import leading_tokens
from runtime.language.instructions.decode import work_of
from runtime.language.instructions.evaluation import NotComputable
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import (
    BranchSide,
    Condition,
    End,
    Free,
    Jump,
    Leave,
    LoopKind,
    Prose,
    Return,
    Set,
)
from runtime.language.instructions.operands import condition_of
from runtime.language.instructions.steps.course import ends_program
from runtime.language.instructions.steps.repeating import BranchReading, branch_of, loop_of
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.instructions.uses import sets
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.answers import may_be_answered
from runtime.language.lowering.clauses import open_text, unquoted
from runtime.language.lowering.instruction import LoweredInstruction, free, meaning_of
from runtime.language.program import OpCode, Step
from runtime.language.vocabulary.phrase import phrase

_WHOM = 3
"""The words of "tell the user", which says no more than who hears something."""


def cases(text: str, bare: str, classify: Callable[[str], LoweredInstruction]) -> LoweredInstruction | None:
    """ "If $n is 1, call Go; if it is 2, wait": a condition with further cases; free if unsure, None for one case."""
    if not (phrase("branch").begins(bare) or phrase("else").begins(bare)) or phrase("switch").begins(bare):
        return None
    cuts = _cuts(text, classify)
    if not cuts:
        return None
    places = [(0, 0), *cuts, (len(text), len(text))]
    parts = [_without_joint(text[begin:end].strip(" ,;.")) for (_, begin), (end, _) in pairwise(places)]
    ends = [text[:start].rstrip().endswith((";", ".")) or text[start] in ";." for start, _ in cuts]
    if (
        phrase("branch at start").begins(bare)
        and not phrase("else").begins(bare)
        and (sides := _Cases(classify).read(parts, ends))
    ):
        return LoweredInstruction(OpCode.EXE, "", after=sides)
    first, second = (classify(part) for part in parts[:2])
    if len(parts) == 2 and (second.body if phrase("else").begins(parts[1]) else _narrows(second, first, classify)):
        return None
    return free(text, "how its cases belong together is unclear", whole=True)


def _without_joint(part: str) -> str:
    """A case without the "and" before the "otherwise" of the next."""
    head, _, last = part.rpartition(" ")
    return head.rstrip(" ,;.") if last in ("and", "or", "but") else part


def why_no_side(said: str, steps: Sequence[Step]) -> str:
    """Why an other side may belong to none of the `steps` before it, or to several; "" where it is clear, or none."""
    if not steps or not phrase("else").begins(said):
        return ""
    before = steps[-1]
    heads = ((step, meaning_of(step).head) for step in reversed(steps))
    run = takewhile(lambda one: isinstance(one[1], Condition) and one[1].side is not BranchSide.ELSE, heads)
    ifs = [step for step, head in run if isinstance(head, Condition) and head.side is BranchSide.IF]
    ifs[1:] = [step for step in ifs[1:] if not _leads_away(step)]
    tests = [branch_of(step.text) for step in ifs if _is_one_line(step) == _is_one_line(before)]
    apart = all(one and tests[0] and _exclude(one, tests[0]) for one in tests[1:])  # "If $n is 1 …", "If $n is 2 …"
    if tests[1:] and (apart or phrase("in all other cases").begins(said)):
        return "whether it is about all conditions before it, or about the last, is unclear"
    side = phrase("branch at start").begins(before.text) or phrase("else").begins(before.text)
    if before.op is OpCode.EXE and (side or phrase("may be a condition").inside(unquoted(before.text))):
        return "the condition that it belongs to is free"
    apart = before.op is not OpCode.CND and (not before.text or _is_one_line(before))
    several = apart and any(child.op is OpCode.CND for child in before.children)
    return "the cases that it belongs to are one step" if several else ""


def _leads_away(step: Step) -> bool:
    """Whether what depends on a condition ends with something behind which no next step is done."""
    last = step.children[-1] if step.children else None
    if last is None or last.op is OpCode.CND:
        return False
    away = any(isinstance(one, End | Return | Jump | Leave) for one in meaning_of(last).parts)
    return away or ends_program(last.text.rpartition(" and ")[2]) or _leads_away(last)


def _is_one_line(step: Step) -> bool:
    return any(child.span == step.span for child in step.children)


def _cuts(text: str, classify: Callable[[str], LoweredInstruction]) -> list[tuple[int, int]]:
    """Where each further case ends what stands before it, and where it begins; none right behind a condition."""
    plain = unquoted(text)
    last, further = phrase("other case at the end").all_inside(plain), phrase("further case").all_inside(plain)
    sides = {*phrases.other_sides(plain), *(one.start() for one in last)} - {0}
    found = sorted([*((at, at) for at in sides), *((one.start(), one.end()) for one in further)])
    cuts: list[tuple[int, int]] = []
    behind = 0
    for start, end in found:
        if start < behind or (behind and not plain[behind:start].strip()) or plain[:start].endswith(("i.e", "e.g")):
            continue
        acts = phrases.CLAUSE_START.search(plain[behind:start].rstrip(" ,;."))
        if acts or plain[start] in ";." or start in sides or (not cuts and classify(text[:start]).body):
            cuts.append((start, end))
        behind = end
    return cuts


def _narrows(
    second: LoweredInstruction, first: LoweredInstruction, classify: Callable[[str], LoweredInstruction]
) -> bool:
    """Whether a further condition is one for the action before it: it has none of its own, or is about the answer."""
    test = branch_of(second.text) if second.known and second.op is OpCode.CND and not second.loop else None
    if test is None:
        return False
    answer = read_answer(test.test)
    if second.body is None:
        alone = phrases.CLAUSE_START.search(open_text(second.text)) is None
        asked = phrase("says whether").begins(first.body or "")  # "ask whether they are members, and if they want tea"
        whether = asked is not None and phrase("whether").inside(asked.rest) is not None
        return answer is None and alone and (whether or test.denied or read_condition(test.test) is not None)
    body = classify(first.body) if first.body else None
    if body is None or not body.known or test.denied:
        return False
    read = read_condition(test.test)
    if (
        read is not None
        and read.names & sets(body.does)
        and read.names.isdisjoint(phrases.VARIABLE.findall(first.text))
    ):
        return True  # it is about what the action gives
    reacts = body.talk is not None and body.talk.asks and phrase("reacts").begins(test.test) is not None
    return reacts or (answer == "yes" and may_be_answered(body.does.parts[-1]))


class _Cases(Struct, frozen=True):
    """Reads the cases of one condition."""

    classify: Callable[[str], LoweredInstruction]

    def read(self, parts: Sequence[str], apart: Sequence[bool]) -> tuple[str, ...]:
        """The cases as steps beside each other; none if unclear. `apart`: whether a semicolon or stop ends each."""
        sides: list[str] = []
        tests: list[BranchReading] = []
        bodies: list[LoweredInstruction] = []
        for part in parts:
            side = self._side(part, tests, bodies) if tests else part
            found = self.classify(side)
            test = branch_of(found.text) if found.known and found.op is OpCode.CND and not found.loop else None
            body = self.classify(found.body) if test and found.body else None
            if test is None or body is None or not body.known or (tests and tests[-1].side is BranchSide.ELSE):
                return ()
            sides.append(side)
            tests.append(test)
            bodies.append(body)
        exact = all(body.op is not OpCode.EXE or is_exact(body.text) for body in bodies)
        closed = all(
            body.op is not OpCode.CND and (ends or (exact and _is_closed(body)))
            for body, ends in zip(bodies, apart, strict=False)
        )
        return tuple(sides) if closed else ()

    def _side(self, part: str, tests: Sequence[BranchReading], bodies: Sequence[LoweredInstruction]) -> str:
        """A further case as a step of its own; "" where it may belong to something else."""
        other = phrase("else").begins(part)
        if other and not phrase("branch").begins(other.rest):
            again = other.rest.startswith(("to ", "set it to ")) and bodies[-1].text.startswith("set ")
            made = settings_of(bodies[-1].text) if again else ()
            names = [name for one in made if one.value == made[0].value for name in one.targets]
            return f"Otherwise set {' and '.join(names)} to {other.rest.partition('to ')[2]}" if names else part
        read = (read_condition(test.test) for test in tests)
        given = frozenset[str]().union(*(one.names for one in read if one is not None))
        named = all(map(_is_plain, bodies)) and all(_is_about_a_variable(test.test) for test in tests)
        part = _with_name(part, given) if named else part
        found = self.classify(part)
        test = branch_of(found.text) if found.known and found.op is OpCode.CND and found.body else None
        if test is None or other:
            return part if test else ""
        first = tests[0]
        answer, before = read_answer(test.test), read_answer(first.test)
        if answer is not None:
            opposite = {answer, before} == {"yes", "no"} or (
                before is None and answer == ("yes" if first.denied or says_no(first.test) else "no")
            )
            plain = all(_is_plain(body) or (before and not (body.talk and body.talk.asks)) for body in bodies)
            sure = opposite and len(tests) == 1 and plain and not test.denied and not (before and first.denied)
            return f"Otherwise, {found.body}" if sure else ""
        changed = {variable for body in bodies for variable in sets(body.does)}
        alone = given.isdisjoint(changed) and all(_exclude(one, test) for one in tests)
        return f"Otherwise {part[:1].lower()}{part[1:]}" if alone else ""


def if_so(text: str, bare: str) -> LoweredInstruction | None:
    """ "Check whether it is late: if so" is a condition; "if so" asks nothing that the check has not answered."""
    match = phrase("if so").begins(bare)
    if match is None:
        return None
    if phrases.other_sides(open_text(match["then"])):
        return free(text, "both sides of a condition are in one sentence", whole=True)
    denied = match["answer"].lower().endswith(("not", "no", "n't", "n\u2019t"))
    unless = "Unless" if read_condition(match["test"]) else "If it is not true that"
    head = f"{unless} {match['test']}" if denied else f"If {match['test']}"
    return LoweredInstruction(OpCode.CND, head, match["then"] or None)


def is_exact(clause: str) -> bool:
    """Whether a clause leaves a loop, or sets a variable to an exact value."""
    head = work_of(clause)[0]
    leaves = isinstance(head, Leave) or clause == messages.NOTHING
    return leaves or (isinstance(head, Set) and isinstance(head.value, Expression))


def work_first(found: LoweredInstruction) -> LoweredInstruction:
    """Work in words, followed by other clauses, becomes a step of its own, because a heading would only be skipped."""
    if not found.after or found.op is not OpCode.EXE or not isinstance(work_of(found.text)[0], Free):
        return found
    return replace(found, text="", after=(found.text, *found.after))


def nothing_below(heading: str) -> str:
    """Why a condition with nothing below it may be more: "If they are sad comfort them"; "" for an exact one."""
    branch = branch_of(heading)
    exact = branch is None or not branch.test or read_condition(branch.test.rstrip(" .:")) is not None
    return "" if exact else "what is done if it holds stands neither below it nor behind a comma"


def beyond_the_test(heading: str) -> str:
    """Why a condition in words may be more than that: "If they are late, take 5 off it, then …"; "" where it is not."""
    branch, loop = branch_of(heading), loop_of(heading)
    test = condition_of(branch.test) if branch else loop.over if loop and loop.kind is not LoopKind.EACH else None
    if not isinstance(test, Prose):
        return ""
    inserted = heading.partition(" ")[0].endswith(",")  # "If, after all, they want tea"
    said = test.text.partition(", ")[2] if inserted else test.text
    return "" if is_one_condition(said) else "the end of its condition is unclear"


def _is_closed(found: LoweredInstruction) -> bool:
    if found.after or found.op is OpCode.CND:
        return False
    said = phrase("opening").without(found.talk.said) if found.talk else ""
    told = phrase("replies").begins(said) or len(said.split()) > _WHOM
    plain = found.talk is not None and not found.talk.asks and told and not messages.is_indirect(said)
    return found.talk is None or plain or phrase("says only quoted").begins(said) is not None


def _is_plain(body: LoweredInstruction) -> bool:
    """Whether an action leaves nothing behind that "it" or "not" could mean."""
    done = body.does.parts
    fixed = all(not isinstance(one, Set) or (one.operator == "" and not _reads(one)) for one in done)
    return not body.after and fixed and not any(map(may_be_answered, done))


def _reads(part: Set) -> bool:
    return not isinstance(part.value, Expression) or bool(part.value.names or part.value.calls)


def _with_name(part: str, names: frozenset[str]) -> str:
    """A case about "it" with the one variable that the cases before it are about."""
    head, it, rest = part.partition(" it")
    answers = read_answer(f"it{rest.partition(',')[0]}") is not None
    begins = phrase("branch at start").is_all_of(f"{head} ") is not None and rest[:1] in " '\u2019"
    about = len(names) == 1 and it and not answers and begins
    return f"{head} ${min(names)}{rest if rest[:1] == ' ' else f' is{rest[2:]}'}" if about else part


def _is_about_a_variable(test: str) -> bool:
    """Whether a condition says something about a variable, and not about a value computed from it: "$a minus 5 is"."""
    subject, verb, *_ = (*(one.text for one in leading_tokens(plain_marks(test)) if one.text != "the"), "", "")
    if not phrases.VARIABLE.fullmatch(subject):
        return False
    return verb in condition_grammar().firsts["predicate"] or {*verb} <= {*"<=>!"}


def _exclude(first: BranchReading, second: BranchReading) -> bool:
    """Whether two exact conditions never hold together: no value fits both, or one denies the other."""
    tests = [(read_condition(one.test), one.denied) for one in (first, second)]
    read = [one for one, _ in tests if one is not None and not one.calls]
    names = frozenset[str]().union(*(one.names for one in read))
    if len(read) < len(tests) or len(names) != 1:
        return False
    if not all(_compares(one.tree) for one in read):
        (yes, holds), (other, too) = (_undenied(one.tree, not denied) for one, denied in tests if one)
        return yes == other and holds is not too
    told = {node.value for one in read for node in ast.walk(one.tree) if isinstance(node, ast.Constant)}
    try:
        return not any(
            all(bool(one.evaluate(dict.fromkeys(names, value))) is not denied for one, denied in tests if one)
            for value in _values(told)
        )
    except NotComputable:
        return False


def _compares(test: ast.expr) -> bool:
    """Whether a test does no more than compare a variable with constants."""
    match test:
        case ast.BoolOp(values=parts):
            return all(map(_compares, parts))
        case ast.UnaryOp(op=ast.Not(), operand=one):
            return _compares(one)
        case ast.Compare(left=ast.Name(), ops=[ast.In() | ast.NotIn()], comparators=[ast.List(elts=parts)]):
            return all(map(_is_constant, parts))
        case ast.Compare(left=left, ops=ops, comparators=others):
            within = any(isinstance(op, ast.In | ast.NotIn) for op in ops)
            return not within and all(isinstance(one, ast.Name) or _is_constant(one) for one in (left, *others))
    return False


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value.operand if isinstance(value, ast.UnaryOp) else value, ast.Constant)


def _undenied(test: ast.expr, holds: bool) -> tuple[str, bool]:
    """A test without what denies it, and whether it is to hold."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=one):
            return _undenied(one, not holds)
        case ast.Compare(left=left, ops=[ast.NotIn()], comparators=others):
            return _undenied(ast.Compare(left, [ast.In()], others), not holds)
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=others):
            return _undenied(ast.Compare(left, [ast.Eq()], others), not holds)
    return ast.dump(test), holds


def _values(told: Collection[object]) -> Iterator[object]:
    """Values of which each stands for all that these constants do not tell apart."""
    numbers = sorted({sign * one for one in told if isinstance(one, int | float) for sign in (1, -1)})
    if numbers:
        yield from (numbers[0] - 1, *numbers, numbers[-1] + 1)
        yield from (sum(two) / 2 for two in pairwise(numbers))
    if not told or not all(isinstance(one, int | float) for one in told):
        yield from told
        yield "\0"
