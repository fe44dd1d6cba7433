"""Lines that act: say, ask, call, set, think, wait, return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from runtime.language.instructions import model as steps
from runtime.language.instructions.expression import Expression, is_unsure_call, read_expression
from runtime.language.instructions.operands import (
    VARIABLE,
    argument_operand,
    exact,
    operand_of,
    variable_of,
)
from runtime.language.instructions.steps.course import course_of
from runtime.language.instructions.steps.setting import SetReading, settings_of, two_ways
from runtime.language.instructions.talk import TalkLine, awaited
from runtime.language.instructions.text import (
    CALL,
    KEYWORD,
    clauses_of,
    governing,
    inside_of,
    split_at,
    split_first,
    unquoted,
)
from runtime.language.instructions.values import read_value, result_of
from runtime.language.vocabulary.phrase import phrase
from runtime.language.vocabulary.word_list import WORD

_OPPOSITE = frozenset({"the opposite", "its opposite", "the reverse", "the contrary", "the negation", "its negation"})

_LONGEST_SOURCE = 60
GIVEN = "_given"
"""The variable with the result of a call whose arguments are in words, until it is used."""


def actions_of(text: str) -> Iterator[steps.Action]:
    """A step of calls, assignments and waits, separated by semicolons; other prose makes the whole step free."""
    plain, (*told, last) = _parted(text)
    before = [one for talk in told for one in talk.actions()]
    before += [one for clause in plain for one in _plain_actions(clause)]
    if any(isinstance(action, steps.Free) for action in before):
        yield steps.Free(steps.Prose(text), why_free(text))
        return
    yield from before
    yield from last.actions()


def talk_of(text: str) -> TalkLine | None:
    """The talk that a step of PBAsm is; None for one that does something else, or that has several messages."""
    plain, talks = _parted(text)
    return None if plain or talks[1:] or talks[0] == TalkLine() else talks[0]


def _parted(text: str) -> tuple[Sequence[str], Sequence[TalkLine]]:
    """The clauses of a step that neither speak nor wait, and what the others say and wait for."""
    called = CALL.match(text)
    unended, joint, wait = text.partition("); YLD for ")
    if called and joint and inside_of(text, called.end() - 1) is None:  # a bracket or quotation in it has no end: ":-("
        clauses = [f"{unended})", *clauses_of(f"YLD for {wait}")]
    else:
        clauses = clauses_of(text)
    waits = [found.rest for clause in clauses if (found := phrase("yields").begins(clause))]
    done = next((found.rest for clause in clauses if (found := phrase("done when").begins(clause))), None)
    plain = [one for one in clauses if not (phrase("yields").begins(one) or phrase("done when").begins(one))]
    sources = [wait for wait in waits if wait.lower() not in ("call", "exit", "return")]
    ends = next((wait.lower() for wait in waits if wait.lower() in ("exit", "return")), "")
    said = [_said(clause) for clause in plain]
    *told, last = _told([one for one in said if one is not None]) if all(said) else [TalkLine()]
    return () if all(said) else plain, (*told, replace(last, waits=awaited(sources, done), ends=ends))


def _told(said: Sequence[tuple[str, str]]) -> Iterator[TalkLine]:
    """The messages of `Say(a, words); Say(b, the same)`; an empty one for none."""
    if all(words.lower() == "the same" for _, words in said[1:]):
        yield TalkLine(tuple(target for target, _ in said), said[0][1] if said else "")
    else:
        yield from (TalkLine((target,), words) for target, words in said)


def _said(clause: str) -> tuple[str, str] | None:
    """The target and the words of `Say(target, words)`."""
    match = CALL.match(clause)
    says = match is not None and match[1] in ("Say", "SendMessage")
    inside = inside_of(clause, match.end() - 1, lenient=True) if match and says else None
    if match is None or inside is None:
        return None
    rest = clause[match.end() + len(inside) :]
    if ")" in rest[1:]:  # a bracket that nothing opened stands in the words: "a) pay b) wait"
        inside += rest.rpartition(")")[0]
    target, comma, words = split_first(inside)
    if not comma:
        return "user", target.strip()
    return unquoted(target), words.strip()


def _plain_actions(clause: str) -> tuple[steps.Action, ...]:
    readings = settings_of(clause)
    if len(readings) > 1:
        return (steps.Free(steps.Prose(clause), two_ways(readings)),)
    if readings:
        return _setting(readings[0], clause)
    return (_called(clause) or made(clause),)


def _setting(reading: SetReading, clause: str) -> tuple[steps.Action, ...]:
    """One reading of a step. "Set $a and $b to 0" sets both to it; "$a, $b = 1, 2" each to its own."""
    if reading.unsure:
        return (steps.Free(steps.Prose(clause), reading.unsure),)
    variables = tuple(map(variable_of, reading.targets))
    if isinstance(reading.value, Expression):
        return (steps.Set(variables, reading.value, reading.operator),)
    if reading.each:
        return tuple(steps.Set((variable,), operand_of(reading.value)) for variable in variables)
    return _giving(variables, reading)


def _giving(variables: tuple[steps.VariableTarget, ...], reading: SetReading) -> tuple[steps.Action, ...]:
    value = result_of(reading.text)
    called = _called(value)
    if isinstance(called, steps.Call):
        if len(variables) == 1 and not variables[0].path and not reading.operator:
            return (steps.Call(called.name, called.arguments, variables[0], called.instruction),)
        if read_expression(value) is None:  # some of its arguments are in words: it is called first
            return (_into_given(called), steps.Set(variables, exact(f"${GIVEN}"), reading.operator))
    operand = _opposite(variables[0], value) or (steps.Prose(value) if reading.in_words else operand_of(value))
    if isinstance(operand, steps.Prose) and (phrase("does more").inside(value) or CALL.match(value)):
        names = ", ".join(f"${variable.name}" for variable in variables)
        return (steps.Free(steps.Prose(f"{names} = {value}"), "it does more than make a value"),)
    return (steps.Set(variables, operand, reading.operator),)


def _opposite(variable: steps.VariableTarget, value: str) -> Expression | None:
    """What "the opposite" of a truth value is; None for any other value."""
    said, _, of = value.rstrip(".").partition(" of ")
    if variable.type != "bool" or variable.path or said.lower() not in _OPPOSITE or of[:1] not in ("$", ""):
        return None
    found = read_expression(f"not {of or f'${variable.name}'}")
    return found and replace(found, source=value)


def _into_given(call: steps.Call) -> steps.Call:
    return steps.Call(call.name, call.arguments, steps.VariableTarget(GIVEN), call.instruction)


def _called(clause: str) -> steps.Action | None:
    """`Name(arguments)`, perhaps with words about it after a colon."""
    clause = clause.strip().removeprefix("await ").lstrip().removeprefix("self.")
    match = CALL.match(clause)
    inside = None if match is None or match[1] == "Say" else inside_of(clause, match.end() - 1)
    if match is None or inside is None:
        return None
    rest = clause[match.end() + len(inside) + 1 :].strip().rstrip(".")
    if rest and not rest.startswith(":"):
        return None
    if read_expression(clause[: match.end() + len(inside) + 1]) is None and is_unsure_call(inside):
        return steps.Free(steps.Prose(clause), "a comma in its numbers may separate arguments, or thousands")
    name = match[1]
    arguments = tuple(_argument(part) for part in split_at(inside, ",") if part.strip())
    match name:
        case "EndProgram":
            return steps.End()
        case "Return":
            return steps.Return(arguments[0].value if arguments else None)
        case "Yld" | "Yield":
            return next(waiting_of([unquoted(inside) or "user"]), steps.Wait(("user",)))
        case "Log" if any(isinstance(argument.value, steps.Prose) for argument in arguments):
            return steps.Free(steps.Prose(clause))
    return steps.Call(name, arguments, None, rest.lstrip(": ").strip())


def _argument(text: str) -> steps.CallArgument:
    text = text.strip()
    keyword = KEYWORD.match(text)
    if keyword:
        return steps.CallArgument(keyword[1], argument_operand(text[keyword.end() :].strip()))
    typed = VARIABLE.fullmatch(text)
    return steps.CallArgument("", argument_operand(f"${typed[1]}" if typed else text))


def thinking_of(text: str) -> steps.Action:
    found = made(text)
    return found if isinstance(found, steps.Set) else steps.Think(steps.Prose(text))


def may_wait_for(reason: str) -> bool:
    """Whether a text may be the source of a wait."""
    whom = reason.removeprefix("for ").rstrip(".").strip('" ')
    one = whom and (reason.startswith("for ") or " " not in whom)
    return bool(one) and len(whom) <= _LONGEST_SOURCE and all(char.isalnum() or char in "_.$:@ -" for char in whom)


def waiting_of(reasons: Sequence[str]) -> Iterator[steps.Action]:
    words = [phrase("perhaps yields").without(reason.strip()).rstrip(".") for reason in reasons]
    ends = [word.lower() for word in words if word.lower() in ("exit", "return")]
    sources = [word for word in words if word and word.lower() not in ("exit", "return", "call")]
    if sources or ends:
        yield from TalkLine(waits=awaited(sources, None), ends=ends[-1] if ends else "").actions()
    elif reasons:
        yield steps.StepGroup("")


def _one(found: Iterator[steps.Action]) -> steps.Action | None:
    return next(found, None)


def return_of(text: str) -> tuple[steps.Meaning, ...]:
    if not text:
        return (steps.Return(),)
    clauses = clauses_of(text)
    if len(clauses) > 1 and "return" in WORD.findall(text.lower()):
        *before, last = clauses
        returned = course_of(last)
        if returned is not None and isinstance(returned.does, steps.Return):
            return (*actions_of("; ".join(before)), *return_of(returned.said))
        return (*actions_of(text), steps.Return())
    if _said(text) is not None:
        return (*actions_of(text), steps.Return())
    text = result_of(text)
    called = _called(text)
    value = read_value(text)
    if isinstance(called, steps.Call) and value is None:
        return (_into_given(called), steps.Return(exact(f"${GIVEN}")))
    return (steps.Return(value or steps.Prose(text)),)


def why_free(text: str) -> str:
    several = len(clauses_of(text)) > 1
    return "it has several clauses, one of which is prose" if several else "it is prose of no known kind of step"


def goes_to_a_file(clause: str) -> bool:
    """Whether a value goes into a file, which is no variable."""
    found = phrase("to a file").begins(clause)
    return found is not None and '"' not in found.whole


def unasked(clause: str) -> str:
    """Why a step that finds something out may be a question to somebody; "" where it surely makes the value itself."""
    if phrase("finds out from somebody").begins(phrase("opening").without(clause)):
        return "who is asked is part of the sentence"
    found = VARIABLE.findall(clause) if phrase("perhaps asks").begins(clause) else []
    return f"it does not say who gives ${found[0][0]}" if found and all(kind for _, kind in found) else ""


def made(clause: str) -> steps.Action:
    """A step in words that creates a variable's value; else a free one."""
    if phrase("does more").inside(clause):
        return steps.Free(steps.Prose(clause), "it does more than make a value")
    if governing(clause, lambda before: before.rpartition(" ")[2].startswith("$")):
        return steps.Free(steps.Prose(clause), "when or how often it is made is part of the sentence")
    if goes_to_a_file(clause):
        return steps.Free(steps.Prose(clause), "a file is something else than a variable")
    if len(list(phrase("target").all_inside(clause))) > 1:
        return steps.Free(steps.Prose(clause), "it makes several values")
    if who := unasked(clause):
        return steps.Free(steps.Prose(clause), who)
    typed = [steps.VariableTarget(name, kind) for name, kind in VARIABLE.findall(clause) if kind]
    if phrase("makes a value").begins(clause) and ";" not in clause:
        if typed:
            return steps.Set(tuple(typed), steps.Prose(clause))
        direct = phrase("makes variables").begins(clause)
        if into := phrase("made into").begins(clause):
            return steps.Set((variable_of(into["target"]),), steps.Prose(clause))
        behind = clause[direct.end() :] if direct else ""
        noun = not clause.lower().startswith("make ") and phrase("part of a noun").begins(behind.lstrip())
        part_of_it = noun or behind.startswith(("'", "\u2019"))
        if direct and not part_of_it and not phrase("takes a value").begins(clause):
            return steps.Set(
                tuple(steps.VariableTarget(name) for name, _ in VARIABLE.findall(direct["what"])), steps.Prose(clause)
            )
    return steps.Free(steps.Prose(clause), why_free(clause))
