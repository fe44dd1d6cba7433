"""Decoding: each step of a compiled program becomes an instruction, once, when the program is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from runtime.language.instructions.expression import (
    Expression,
    read_condition,
    read_expression,
    read_placeholder,
)
from runtime.language.instructions.model import (
    Action,
    Argument,
    Ask,
    Call,
    Code,
    Condition,
    End,
    Free,
    Group,
    Instruction,
    Jump,
    Leave,
    Loop,
    LoopKind,
    Meaning,
    Node,
    Operand,
    Prose,
    Return,
    Say,
    Set,
    Side,
    Template,
    Think,
    Variable,
    Wait,
    Words,
)
from runtime.language.placeholders import placeholders
from runtime.language.program import Op, PlaybookSpec, Step

_TYPE = r"[A-Za-z]\w*(?:\[[^\]=]*\])?(?:\s*\|\s*[A-Za-z]\w*(?:\[[^\]=]*\])?)*"
_ASSIGNED = re.compile(rf"\s*(\$\w+(?::{_TYPE})?(?:\s*,\s*\$\w+(?::{_TYPE})?)*)\s*=(?!=)\s*(.+)\Z", re.DOTALL)
_SET = re.compile(
    rf"(?:set|let|store|assign|initiali[sz]e)\s+(\$\w+(?::{_TYPE})?(?:\.\w+|\[[^\]]*\])*)\s+(?:to|be|as|=|with)\s+(.+?)\.?\Z",
    re.IGNORECASE | re.DOTALL,
)
_CHANGED = re.compile(r"(\$\w+)((?:\.\w+|\[[^\]]*\])*)\s*([-+*/%|]?)=(?!=)\s*(.+?)\Z", re.DOTALL)
_STEPPED = re.compile(r"(\$\w+)\s*(\+\+|--)\s*\Z")
_INCREASE = re.compile(
    r"(increment|increase|decrement|decrease|add|subtract)\s+(?:([-\d.]+|\$\w+)\s+(?:to|from)\s+)?(\$\w+)(?:\s+by\s+([-\d.]+|\$\w+))?\s*\.?\Z",
    re.IGNORECASE,
)
_VARIABLE = re.compile(rf"\$([A-Za-z_]\w*)(?::({_TYPE}))?")
_PATH = re.compile(r"\.(\w+)|\[([^\]]*)\]")
_CALL = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)\s*\(")
_KEYWORD = re.compile(r"\$?([A-Za-z_]\w*)\s*=(?!=)\s*")
_YIELD = re.compile(r"YLD\s+(?:for\s+)?(.+)\Z", re.IGNORECASE | re.DOTALL)
_DONE = re.compile(r"done\s+when\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_GAVE = re.compile(
    r"(?:the\s+)?(?:user|person|human|\w+)\s+gave\s+((?:\$\w+(?::[\w\[\]]+)?(?:\s*,\s*|\s+and\s+)?)+)\.?\Z",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"(?:the\s+)?(?:\w+)\s+(?:has\s+|have\s+)?(?:answered|replied|responded|said something|answers)\.?\Z", re.IGNORECASE
)
_TALKED = re.compile(
    r"(?:help|chat|talk|converse|discuss|negotiate|interview|quiz|play|guide|walk|assist|support|advise|coach|teach"
    r"|have a (?:conversation|chat|talk)|engage|keep|work (?:out|through)|brainstorm)\b(?=\s+\w)",
    re.IGNORECASE,
)
"""What takes more than one message."""

_QUOTED_WORDS = re.compile(
    r"(?:(?:say|tell|show|print|display|output|write|send|greet|reply|answer|respond|announce|ask)\b"
    r"(?:\s+(?:to\s+)?(?:the\s+)?(?:user|customer|person|human|them|everyone|everybody|meeting|all))?"
    r"(?:\s+(?:with|that|exactly|saying))?\s*:?\s*)?(?P<mark>[\"\u201c])(?P<text>.*)[\"\u201d](?:\s+to\s+(?:the\s+)?(?:user|customer|person|human|them|everyone|everybody|meeting|all))?\s*[.!]?\Z",
    re.IGNORECASE | re.DOTALL,
)
_BRANCH = re.compile(
    r"(else\s*if|(?:else|otherwise),?\s+(?:if|when)|elif|else|otherwise|if|when|unless|in case|once|whenever)\b[\s,:]*",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"for\s+(?:each|every|all)?\s*(?:\w+\s+)?(\$\w+)(?::\w+)?\s+(?:in|of|from)\s+(.+?)\s*:?\Z",
    re.IGNORECASE | re.DOTALL,
)
_TIMES = re.compile(
    r"(?:repeat|loop|do (?:this|the following)|for)?\s*(?:up to|at most|exactly)?\s*(\d+|\$\w+|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:times|iterations|rounds|attempts|tries)\b\s*:?\Z",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"[,;(]?\s*(?:but\s+)?(?:for\s+)?(?:up to|at most|no more than|a maximum of|max(?:imum)?)\s+(\d+|two|three|four|five|ten)\s+(?:times|iterations|rounds|attempts|tries)\)?",
    re.IGNORECASE,
)
_WHILE = re.compile(
    r"(while|as long as|until|repeat until|keep (?:going|repeating)(?: this)? (?:until|while)|do (?:this|the following|these) (?:until|while)|repeat (?:this |these |the following )?(?:until|while|as long as)|loop (?:until|while)|repeat|loop)\b\s*",
    re.IGNORECASE,
)
_NUMBERS = {
    word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
}
_TARGET_LINE = re.compile(
    r"\s*(?:to\s+)?(?:step\s+)?(\d+(?:\.\d+)*)\s*[,;]?\s*(?:(if|unless|until|while|as long as)\s+(.*))?\Z",
    re.IGNORECASE | re.DOTALL,
)
_LEAVE = re.compile(r"(?:break|(?:exit|leave|stop|end|quit) (?:the|this) loop)\s*\.?\Z", re.IGNORECASE)
_NEXT = re.compile(r"continue(?: (?:with|to) the next(?: \w+)?)?\s*\.?\Z", re.IGNORECASE)
_MAKES = re.compile(
    r"(?:compute|calculate|recalculate|generate|extract|determine|decide(?:\s+on)?|pick|choose|select|count|summari[sz]e|classify|translate"
    r"|convert|format|create|compose|draft|write|make|build|derive|estimate|find out|set|store|save|remember|update|get|guess|rate|rank|sort|filter|parse|assign|define|identify|infer|prepare|let)\b",
    re.IGNORECASE,
)
GIVEN = "_given"
"""The variable that holds what a call gave whose arguments are in words, until the next thing is done with it."""

_NOTE = re.compile(r"N(\d+)\b\s*(.*)", re.DOTALL)


def decode_playbook(playbook: PlaybookSpec) -> Code:
    """The instructions of a playbook's steps."""
    return _decoded(playbook.steps, playbook.notes)


@lru_cache(maxsize=1024)
def _decoded(steps: tuple[Step, ...], notes: tuple[str, ...]) -> Code:
    """Kept: what belongs to a program is shared by its sessions."""
    code = Code({}, steps[0].line if steps else None)
    _place(steps, None, code, {found[1]: found[2] for note in notes if (found := _NOTE.match(note))})
    return code


def _place(steps: Sequence[Step], parent: str | None, code: Code, notes: dict[str, str]) -> None:
    beside = tuple(step.line for step in steps)
    for step in steps:
        below = tuple(child.line for child in step.children)
        code.nodes[step.line] = Node(decode(step, notes), parent, below, beside)
        _place(step.children, step.line, code, notes)


def decode(step: Step, notes: dict[str, str] | None = None) -> Instruction:
    """What one step does."""
    parts = _parts(step, notes or {})
    if step.children and len(parts) == 1 and isinstance(parts[0], Free):
        parts = (Group(step.text),)
    return Instruction(step.line, step.op.value, step.text, parts)


def _parts(step: Step, notes: dict[str, str]) -> tuple[Meaning, ...]:
    text = step.text.strip()
    match step.op:
        case Op.CND | Op.LOP | Op.ELS:
            return (_control(step),)
        case Op.JMP:
            return (_jump(text),)
        case Op.RET:
            return _return(text)
        case Op.YLD if any(_DONE.match(clause) for clause in _clauses(text)):
            return tuple(_actions(f"YLD {text}"))
        case Op.YLD:
            return tuple(_waiting([part.removeprefix("YLD ").strip() for part in _clauses(text)])) or (
                Free(Prose(text)),
            )
        case Op.CHK:
            number = _NOTE.match(text)
            note = notes.get(number[1], "") if number else ""
            return (Free(Prose(f"Apply the note: {note}" if note else text), "it applies a note"),)
        case Op.TNK:
            return (_thinking(text),)
    if _LEAVE.match(text):
        return (Leave(),)
    if _NEXT.match(text):
        return (Leave(next_round=True),)
    return tuple(_actions(text)) or (Group(text),)


# -- actions


def _actions(text: str) -> Iterator[Action]:
    """A step of calls, assignments and waits, divided by semicolons; prose that is none of them is free as a whole."""
    clauses = _clauses(text)
    waits = [found[1].strip() for clause in clauses if (found := _YIELD.match(clause))]
    done = next((found[1].strip() for clause in clauses if (found := _DONE.match(clause))), None)
    plain = [clause for clause in clauses if not _YIELD.match(clause) and not _DONE.match(clause)]
    sources = [wait for wait in waits if wait.lower() not in ("call", "exit", "return")]
    ends = next((wait.lower() for wait in waits if wait.lower() in ("exit", "return")), None)
    actions = _talk(plain, sources, done) or [action for clause in plain for action in _plain_actions(clause)]
    if any(isinstance(action, Free) for action in actions):
        yield Free(Prose(text), _why_free(text))
        return
    yield from actions
    if sources and not any(isinstance(action, Ask) for action in actions):
        wants, until = _wanted("", done)
        where = tuple(map(_source, sources))
        yield Ask((), None, where, wants, until) if wants or until else Wait(where)
    if ends == "exit":
        yield End()
    elif ends == "return":
        yield Return()


def _why_free(text: str) -> str:
    if len(_clauses(text)) > 1:
        return "it holds several clauses, one of which is prose"
    return "it is prose that is none of the known kinds of steps"


def _talk(clauses: Sequence[str], sources: Sequence[str], done: str | None) -> list[Action]:
    """`Say(a, words); Say(b, the same)`, perhaps with a wait; [] where the clauses are something else."""
    said = [_said(clause) for clause in clauses]
    if not said or any(one is None for one in said):
        return []
    targets = [one[0] for one in said if one is not None]
    texts = [one[1] for one in said if one is not None]
    if any(text.strip().lower() != "the same" for text in texts[1:]):
        asks = [Say((target,), words_of(text)) for target, text in zip(targets, texts, strict=True)]
        if not sources:
            return [*asks]
        last = asks.pop()
        return [*asks, _asking(last.targets, last.words, texts[-1], sources, done)]
    words = words_of(texts[0])
    if not sources:
        return [Say(tuple(targets), words)]
    return [_asking(tuple(targets), words, texts[0], sources, done)]


def _asking(targets: tuple[str, ...], words: Words, text: str, sources: Sequence[str], done: str | None) -> Ask:
    wants, until = _wanted(text, done)
    return Ask(targets, words, tuple(map(_source, sources)), wants, until)


def _wanted(text: str, done: str | None) -> tuple[tuple[Variable, ...], Operand | None]:
    """The values that are asked for, and when else the talk is done."""
    typed = {name: kind for name, kind in _VARIABLE.findall(text) if kind}
    if done is None:
        return tuple(Variable(name, kind) for name, kind in typed.items()), None
    gave = _GAVE.match(done)
    if gave:
        names = [name for name, _ in _VARIABLE.findall(gave[1])]
        return tuple(Variable(name, typed.get(name, "")) for name in names), None
    if _ANSWERED.match(done):
        return (), Prose(f"this is done: {text.strip().rstrip('.')}") if _TALKED.match(text.strip()) else None
    wants = tuple(Variable(name, kind) for name, kind in typed.items())
    if wants and re.match(r"(?:the\s+)?\w+\s+(?:gave|gives|provided|provides|has given)\b", done, re.IGNORECASE):
        return wants, None
    return wants, _condition(done)


def _said(clause: str) -> tuple[str, str] | None:
    """Target and words of `Say(target, words)`."""
    match = _CALL.match(clause)
    if match is None or match[1] not in ("Say", "SendMessage"):
        return None
    inside = _inside(clause, match.end() - 1, lenient=True)
    if inside is None:
        return None
    target, comma, words = _split_first(inside)
    if not comma:
        return "user", target.strip()
    return _unquoted(target), words.strip()


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _split_first(text: str) -> tuple[str, str, str]:
    """The text before the first comma that stands outside of quotes and brackets, the comma, and the rest."""
    for at in _outside(text, ","):
        return text[:at], ",", text[at + 1 :]
    return text, "", ""


def words_of(text: str) -> Words:
    """Exact words where a text is quoted as a whole, else prose."""
    text = text.strip()
    found = _QUOTED_WORDS.match(text)
    if found and not re.search(r"[\"\u201c\u201d]", found["text"].replace('\\"', "")):
        return template_of(found["text"].replace('\\"', '"'))
    return Prose(text)


@lru_cache(maxsize=2048)
def template_of(text: str) -> Words:
    """A quoted text with the values of its `{expressions}` and `$variables`; prose where one of them is in words."""
    parts: list[str | Expression] = []
    at = 0
    for one in placeholders(text):
        expression = read_expression(one.said) or read_placeholder(one.code)
        if expression is None:
            return Prose(f'say exactly "{text}", with what stands in braces filled in')
        parts += [*_variables_in(text[at : one.start]), expression]
        at = one.end
    parts += _variables_in(text[at:])
    return Template(tuple(part for part in parts if part != ""))


_FIELD = re.compile(r"\$[A-Za-z_]\w*(?:\.[A-Za-z_]\w*(?!\w*\()|\[[^\]\n]*\])*")


def _variables_in(text: str) -> Iterator[str | Expression]:
    at = 0
    for found in _FIELD.finditer(text):
        expression = read_expression(found[0])
        if expression is not None:
            yield text[at : found.start()]
            yield expression
            at = found.end()
    yield text[at:]


def _plain_actions(clause: str) -> tuple[Action, ...]:
    clause = clause.strip()
    assigned = _ASSIGNED.match(clause)
    if assigned:
        variables = tuple(variable_of(one) for one in re.findall(rf"\$\w+(?::{_TYPE})?", assigned[1]))
        return _giving(variables, assigned[2].strip())
    if given := _SET.match(clause):
        return _giving((variable_of(given[1]),), given[2].strip())
    if changed := _CHANGED.match(clause):
        return _giving((variable_of(changed[1] + changed[2]),), changed[4].strip(), changed[3])
    return (_plain_action(clause),)


def _plain_action(clause: str) -> Action:
    if stepped := _STEPPED.match(clause):
        return Set((variable_of(stepped[1]),), _exact("1"), stepped[2][0])
    if grown := _INCREASE.match(clause):
        return _grown(grown) or _made(clause)
    called = _called(clause)
    if called is not None:
        return called
    return _made(clause)


def _grown(found: re.Match[str]) -> Set | None:
    by = found[2] or found[4] or "1"
    amount = read_expression(by)
    if amount is None or (found[1].lower() in ("add", "subtract") and found[2] is None):
        return None
    sign = "-" if found[1].lower().startswith(("dec", "sub")) else "+"
    return Set((variable_of(found[3]),), amount, sign)


def _made(clause: str) -> Action:
    """A step in words that makes the value of a variable, else one that is free."""
    names = list(dict.fromkeys(name for name, _ in _VARIABLE.findall(clause)))
    typed = [Variable(name, kind) for name, kind in _VARIABLE.findall(clause) if kind]
    if _MAKES.match(clause) and ";" not in clause:
        if typed:
            return Set(tuple(typed), Prose(clause))
        direct = re.match(rf"{_MAKES.pattern}\s+(?:the\s+|a\s+|an\s+)?\$(\w+)", clause, re.IGNORECASE)
        if direct:
            return Set((Variable(direct[1]),), Prose(clause))
        into = re.search(r"\b(?:into|in|as|to)\s+\$(\w+)\s*\.?\Z", clause, re.IGNORECASE)
        if into and names:
            return Set((Variable(into[1]),), Prose(clause))
    return Free(Prose(clause), _why_free(clause))


def _giving(variables: tuple[Variable, ...], value: str, operator: str = "") -> tuple[Action, ...]:
    called = _called(value)
    if isinstance(called, Call):
        if len(variables) == 1 and not variables[0].path and not operator:
            return (Call(called.name, called.arguments, variables[0], called.instruction),)
        if read_expression(value) is None:  # some of its arguments are in words: it is called first
            return (_into_given(called), Set(variables, _exact(f"${GIVEN}"), operator))
    return (Set(variables, _operand(value), operator),)


def _into_given(call: Call) -> Call:
    return Call(call.name, call.arguments, Variable(GIVEN), call.instruction)


def _exact(text: str) -> Expression:
    found = read_expression(text)
    assert found is not None
    return found


def _operand(text: str) -> Operand:
    return read_expression(text) or Prose(text)


def _called(clause: str) -> Action | None:
    """`Name(arguments)`, perhaps with words about it behind a colon."""
    clause = re.sub(r"\Aawait\s+|\Aself\.(?=[A-Z])", "", clause.strip())
    match = _CALL.match(clause)
    if match is None or match[1] in ("Say",):
        return None
    inside = _inside(clause, match.end() - 1)
    if inside is None:
        return None
    rest = clause[match.end() + len(inside) + 1 :].strip().rstrip(".")
    if rest and not rest.startswith(":"):
        return None
    name = match[1]
    arguments = tuple(_argument(part) for part in _split(inside, ",") if part.strip())
    match name:
        case "EndProgram":
            return End()
        case "Return":
            return Return(arguments[0].value if arguments else None)
        case "Yld" | "Yield":
            source = _unquoted(inside) or "user"
            return _one(_waiting([source])) or Wait(("user",))
        case "Log" if any(isinstance(argument.value, Prose) for argument in arguments):
            return Free(Prose(clause))
    return Call(name, arguments, None, rest.lstrip(": ").strip())


def _argument(text: str) -> Argument:
    text = text.strip()
    keyword = _KEYWORD.match(text)
    if keyword:
        return Argument(keyword[1], _literal_or_prose(text[keyword.end() :].strip()))
    typed = re.fullmatch(rf"\$(\w+):(?:{_TYPE})", text)
    return Argument("", _literal_or_prose(f"${typed[1]}" if typed else text))


def _literal_or_prose(text: str) -> Operand:
    """An argument: exact, or words. Names of agents and people in a list are literals."""
    found = read_expression(text)
    if found is not None:
        return found
    listed = re.fullmatch(r"\[(\s*[A-Za-z_][\w ]*(?:,\s*[A-Za-z_][\w ]*)*)\s*\]", text)
    if listed:
        names = ", ".join(f'"{name.strip()}"' for name in listed[1].split(","))
        return _exact(f"[{names}]")
    return Prose(text)


def _thinking(text: str) -> Action:
    made = _made(text)
    return made if isinstance(made, Set) else Think(Prose(text))


# -- waits, jumps, returns


def _waiting(reasons: Sequence[str]) -> Iterator[Action]:
    sources: list[str] = []
    end: Action | None = None
    for reason in reasons:
        word = re.sub(r"\A(?:YLD\s+)?(?:for\s+)?", "", reason.strip(), flags=re.IGNORECASE).rstrip(".")
        if word.lower() == "exit":
            end = End()
        elif word.lower() == "return":
            end = Return()
        elif word.lower() != "call" and word:
            sources.append(_source(word))
    if sources:
        yield Wait(tuple(sources))
    if end is not None:
        yield end
    elif not sources and reasons:
        yield Group("")


def _one(found: Iterator[Action]) -> Action | None:
    return next(found, None)


def _source(text: str) -> str:
    """Whom a wait is for, as `YLD for …` names it."""
    text = re.sub(r"\A(?:the\s+)(?=user|meeting|agent)", "", text.strip(), flags=re.IGNORECASE)
    return text.strip().strip('"')


def _jump(text: str) -> Action:
    found = _TARGET_LINE.match(text)
    if found is None:
        return Free(Prose(text), "it goes to a line that is not named")
    if found[2] is None:
        return Jump(found[1])
    return Jump(found[1], _condition(found[3]), unless=found[2].lower() in ("unless", "until"))


def _return(text: str) -> tuple[Meaning, ...]:
    if not text:
        return (Return(),)
    clauses = _clauses(text)
    if len(clauses) > 1 and re.search(r"\breturn\b", text, re.IGNORECASE):
        *before, last = clauses
        returned = re.fullmatch(r"return\b\s*(.*?)\.?", last, re.IGNORECASE | re.DOTALL)
        if returned is not None:
            return (*_actions("; ".join(before)), *_return(returned[1]))
        return (*_actions(text), Return())
    if _said(text) is not None:
        return (*_actions(text), Return())
    called = _called(text)
    exact = read_expression(text)
    if isinstance(called, Call) and exact is None:
        return (_into_given(called), Return(_exact(f"${GIVEN}")))
    return (Return(exact or Prose(text)),)


# -- control


def _control(step: Step) -> Meaning:
    text = step.text.strip()
    loops = step.op is Op.LOP or any(
        child.op is Op.JMP and (found := _TARGET_LINE.match(child.text)) and found[1] == step.line
        for child in step.children
    )
    loop = _loop(text) if not _BRANCH.match(text) or loops else None
    if loop is not None:
        return loop
    branch = _BRANCH.match(text)
    if branch is None:
        if step.op is Op.LOP:
            endless = re.fullmatch(r"(?:forever|endlessly|always|again and again)\s*:?", text, re.IGNORECASE)
            return Loop(LoopKind.WHILE, _exact("True") if endless else _condition(text))
        if step.op is Op.ELS:
            return Condition(Side.ELSE, None)
        return Condition(Side.IF, _condition(text))
    word = " ".join(branch[1].lower().replace(",", " ").split())
    rest = text[branch.end() :].rstrip(" :")
    if word in ("else", "otherwise"):
        return Condition(Side.ELSE, None)
    otherwise = step.op is Op.ELS or word.startswith(("else", "elif", "otherwise"))
    side = Side.ELSE_IF if otherwise else Side.IF
    if loops:
        return Loop(LoopKind.WHILE, _condition(rest))
    if not step.children:
        return Free(Prose(text), "it is a condition whose consequence stands in the same sentence")
    if word == "unless":
        return Condition(side, _negated(_condition(rest)))
    return Condition(side, _condition(rest))


def _negated(test: Operand) -> Operand:
    if isinstance(test, Prose):
        return Prose(f"it is not so that {test.text}")
    return read_condition(f"not ({test.source})") or Prose(f"it is not so that {test.source}")


def _loop(text: str) -> Loop | None:
    """A loop by its words; None for a line that is none."""
    limit = _LIMIT.search(text)
    at_most = None
    if times := _TIMES.match(text):
        word = times[1].lower()
        return Loop(LoopKind.TIMES, _exact(str(_NUMBERS.get(word, word))))
    if limit:
        at_most = _NUMBERS.get(limit[1].lower()) or int(limit[1])
        text = (text[: limit.start()] + text[limit.end() :]).strip()
    if each := _EACH.match(text):
        return Loop(LoopKind.EACH, _operand(each[2]), variable_of(each[1]), at_most)
    found = _WHILE.match(text)
    if found is None:
        return None
    word, rest = found[1].lower(), text[found.end() :].rstrip(" :")
    if not rest:
        return Loop(LoopKind.WHILE, _exact("True"), None, at_most)
    kind = LoopKind.UNTIL if "until" in word else LoopKind.WHILE
    later = (
        re.search(r"\b(until|while)\s+(.+)\Z", rest, re.IGNORECASE | re.DOTALL) if word in ("repeat", "loop") else None
    )
    if later:
        return Loop(LoopKind(later[1].lower()), _condition(later[2]), None, at_most, body_first=True)
    return Loop(kind, _condition(rest), None, at_most, body_first=word.startswith(("repeat", "do", "keep", "loop")))


def _condition(text: str) -> Operand:
    text = text.strip().rstrip(".:")
    return read_condition(text) or Prose(text)


def variable_of(text: str) -> Variable:
    """`$x`, `$x:int`, `$x.y[0]`."""
    found = _VARIABLE.match(text.strip())
    assert found is not None, text
    path: list[str | Expression] = []
    for field, index in _PATH.findall(text.strip()[found.end() :]):
        path.append(field or read_expression(index) or index)
    return Variable(found[1], found[2] or "", tuple(path))


# -- text


def _clauses(text: str) -> list[str]:
    """What stands between the semicolons of a step, outside of quotes and brackets."""
    return [part.strip() for part in _split(text, ";") if part.strip()]


def _split(text: str, mark: str) -> list[str]:
    parts, at = [], 0
    for end in _outside(text, mark):
        parts.append(text[at:end])
        at = end + 1
    return [*parts, text[at:]]


def _outside(text: str, mark: str) -> Iterator[int]:
    """Where `mark` stands outside of quotes and brackets."""
    depth, quote = 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char == '"' or (char == "'" and not text[at - 1 : at].isalnum() and "'" in text[at + 1 :]):
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth = max(0, depth - 1)
        elif char == mark and depth == 0:
            yield at


def _inside(text: str, start: int, *, lenient: bool = False) -> str | None:
    """What stands in the bracket that opens at `start`; None where it is never closed."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char == '"' or (char == "'" and not text[at - 1 : at].isalnum() and "'" in text[at + 1 :]):
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : at]
    return text[start + 1 :].rstrip(")") if lenient else None
