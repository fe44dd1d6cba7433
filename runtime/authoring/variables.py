"""Variables that are read and that nothing can set."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runtime.authoring.findings import Finding, did_you_mean, nodes_of, python_of
from runtime.language.diagnostics import Span
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Ask, Call, Free, Loop, Set
from runtime.language.instructions.text import KEYWORD, assignment
from runtime.language.instructions.uses import reads, sets
from runtime.language.placeholders import placeholders, plain_names
from runtime.language.program import AgentSpec, OpCode, PlaybookSpec, Program, Step, TriggerKind
from runtime.language.syntax.signature import parse_python
from runtime.language.vocabulary.phrase import phrase
from runtime.language.vocabulary.word_list import WORD

_NAME = re.compile(r"(?<![\w$\\])\$([^\W\d]\w*)(:(?=[A-Za-z]))?")
_MAKING = ("CreateAgent(", "IdleAgent(", "CallAgent(")
_DIGITS = "0123456789"
_NEAR = 0.6
"""How near the name of a variable that nothing reads is to one that nothing sets, where it is surely meant."""

_BUILT_IN = frozenset({"startup_message"})


class _Use(Struct, frozen=True):
    """An occurrence of a variable: `reads` when it can be nothing else. `playbook` is "" in the agent's own prose."""

    name: str
    span: Span
    reads: bool
    playbook: str = ""


class VariableLint:
    """The variables of each agent of a program."""

    def __init__(self, program: Program) -> None:
        self._made_with = set(_made_with(program))

    def in_agent(self, agent: AgentSpec) -> Iterator[Finding]:
        """Variables of which each occurrence reads, and names that are another's with two letters swapped."""
        uses = list(_uses(agent))
        if not uses:
            return
        also_set = {one.name for playbook in agent.playbooks for one in playbook.params}
        also_set |= self._made_with.union(_named_in(nodes_of(agent)))
        yield from _unread(agent, uses, also_set)
        yield from _only_added_to(agent, also_set)
        words, free = _words_that_may_set(agent), _free_steps(agent)
        maybe_set = {use.name for use in uses if not use.reads} | also_set
        maybe_set |= {name for step in _steps(agent) for name in _set_by(step)}
        counts = Counter(use.name for use in uses)
        set_from_itself = {name for step in _steps(agent) for name in sets(decode(step))}
        reported = set(_BUILT_IN)
        for use in uses:
            name = use.name
            if name in reported or name.startswith("_"):
                continue
            if name not in maybe_set and not set(name.casefold().split("_")) <= words:
                others = {one for one in maybe_set if not (_is_form(one, name) or _is_form(name, one))}
                near = did_you_mean(name, others, sign="$")
                may_follow = any(playbook != use.playbook or line < use.span.line for line, playbook in free)
                if near or not may_follow:
                    reported.add(name)
                    never_read = {one for one in maybe_set if counts[one] == 1}
                    hint = near or did_you_mean(name, never_read, cutoff=_NEAR, sign="$")
                    what = "before it is set" if name in set_from_itself else "and never set"
                    hint = hint or "Set it in a step before, or ask for it."
                    yield Finding(use.span, f"${name} is read {what}", hint, f"${name}")
            elif name not in also_set and (other := _swapped(name, counts)) in maybe_set:
                reported.add(name)
                message = f"${name} is used once, beside ${other}"
                yield Finding(use.span, message, f"Did you mean ${other}?", f"${name}")


def _unread(agent: AgentSpec, uses: Sequence[_Use], elsewhere: Collection[str]) -> Iterator[Finding]:
    """Variables that are named once, where they are set, and of which no words speak. A step in prose may read all."""
    if any(map(_is_free, _steps(agent))):
        return
    counts = Counter(use.name for use in uses)
    for step in _steps(agent):
        spoken = {word.casefold() for other in _steps(agent) if other is not step for word in WORD.findall(other.text)}
        for name in sorted(sets(decode(step)) - {*elsewhere, *_BUILT_IN}):
            if counts[name] == 1 and not name.startswith("_") and not {*name.casefold().split("_")} & spoken:
                yield Finding(step.span, f"${name} is set and never read", word=f"${name}", severity="note")


def _only_added_to(agent: AgentSpec, elsewhere: Collection[str]) -> Iterator[Finding]:
    """Variables without a first value that may be lists: texts that are added to nothing become one text."""
    steps = [(step, decode(step).parts) for step in _steps(agent)]
    adds = [(step, part) for step, parts in steps for part in parts if isinstance(part, Set) and part.operator == "+"]
    setting = (step for step, parts in steps if any(isinstance(part, Ask | Call | Free | Loop | Set) for part in parts))
    added = {id(step) for step, _ in adds}
    given = {*elsewhere, *(name for step in setting if id(step) not in added for name, _ in _NAME.findall(step.text))}
    for step, part in adds:
        name = part.variables[0].name
        if name not in given and (step.text[:6].lower() == "append" or '"' in step.text or "list" in name.casefold()):
            given.add(name)
            hint = f"Set it in a step before: `Set ${name} to []` makes it a list."
            yield Finding(step.span, f"${name} is only added to, and may be a list or a text", hint, f"${name}")


def _is_free(step: Step) -> bool:
    """Whether a model carries a step out, or a part of it."""
    return any(isinstance(part, Free) for part in decode(step).parts)


def _steps(agent: AgentSpec) -> list[Step]:
    return [step for playbook in agent.playbooks for step in playbook.walk_steps()]


def _is_form(form: str, name: str) -> bool:
    """Whether a name differs from another one by no more than its number or an ending."""
    stem = name.rstrip(_DIGITS)
    return form.rstrip(_DIGITS) == stem or form in ("" if stem.endswith("s") else f"{stem}s", f"{stem}es")


def _free_steps(agent: AgentSpec) -> list[tuple[int, str]]:
    """The steps in prose, by line number and playbook: a model executes them and may set unnamed variables."""
    steps = ((step, playbook.name) for playbook in agent.playbooks for step in playbook.walk_steps())
    return [(step.span.line, name) for step, name in steps if step.op is OpCode.EXE and _is_free(step)]


def _swapped(name: str, counts: Mapping[str, int]) -> str:
    """The variable whose name differs by two neighbouring letters swapped, if this name is used only once."""
    if counts[name] != 1 or any(char.isdigit() for char in name):
        return ""
    made = (name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1))
    return next((other for other in made if other != name and counts.get(other)), "")


def _uses(agent: AgentSpec) -> Iterator[_Use]:
    yield from _prose(agent.description, agent.span)
    for playbook in agent.playbooks:
        yield from (replace(use, playbook=playbook.name) for use in _in_playbook(playbook))


def _in_playbook(playbook: PlaybookSpec) -> Iterator[_Use]:
    yield from _prose(playbook.description, playbook.span)
    for trigger in playbook.triggers:
        reads = trigger.kind is TriggerKind.CND and not phrase("of people").inside(trigger.text)
        yield from _named(trigger.text, trigger.span, reads=reads)
    for step in playbook.walk_steps():
        set_here = _set_by(step)
        yield from (replace(use, reads=use.reads and use.name not in set_here) for use in _step(step))
    for note in playbook.notes:
        yield from _prose(note, playbook.span)


def _prose(text: str, span: Span) -> Iterator[_Use]:
    """Record the placeholders as read; a model may set any other variable in prose."""
    rest = text
    for found in reversed(placeholders(text)):
        yield from (_Use(name, span, reads=bool(found.code)) for name in found.variables)
        rest = rest[: found.start] + rest[found.end :]
    yield from _named(rest, span, reads=False)


def _named(text: str, span: Span, *, reads: bool) -> Iterator[_Use]:
    """The variables of a text; one with its type is declared there."""
    for match in _NAME.finditer(text):
        yield _Use(match[1], span, reads=reads and not match[2])


def _step(step: Step) -> Iterator[_Use]:
    text = step.text
    assigned = assignment(text)
    loop = phrase("each of a list").inside(text)
    if assigned and step.op in (OpCode.EXE, OpCode.QUE, OpCode.TNK):
        name = assigned[0][1:].partition(":")[0]
        yield _Use(name, step.span, reads=name in _read_by(step))
        yield from _named(assigned[1], step.span, reads=_is_exact(assigned[1]))
    elif loop:
        yield _Use(loop["name"], step.span, reads=False)
        yield from _named(text[: loop.start()], step.span, reads=False)
        yield from _named(text[loop.end() :], step.span, reads=not phrase("of people").inside(text))
    elif _reads(step):
        yield from _named(text, step.span, reads=True)
    else:
        read = _read_by(step)
        yield from (replace(use, reads=use.reads or use.name in read) for use in _prose(text, step.span))


def _read_by(step: Step) -> Collection[str]:
    """The variables that the runtime reads in a step before it sets them there."""
    found, read, known = decode(step), set[str](), set[str]()
    if any(isinstance(part, Free) or (isinstance(part, Set) and part.operator) for part in found.parts):
        return ()
    for part in found.parts:
        alone = replace(found, parts=(part,))
        later = isinstance(part, Ask) or (isinstance(part, Loop) and part.body_first)
        read |= reads(alone) - (sets(found) if later else known)
        known |= sets(alone)
    return read


def _set_by(step: Step) -> Collection[str]:
    """The variables that a step sets, and has not read before."""
    return sets(decode(step)) - {*_read_by(step)}


def _reads(step: Step) -> bool:
    """Whether a step without an assignment sets no variable."""
    match step.op:
        case OpCode.QUE if step.text.startswith("Say("):
            return not (phrase("waits for somebody").inside(step.text) or phrase("invents").inside(step.text))
        case OpCode.QUE | OpCode.RET:
            return not phrase("waits for somebody").inside(step.text) and _is_exact(step.text)
        case OpCode.CND | OpCode.LOP | OpCode.ELS:
            return not phrase("of people").inside(step.text) and not phrase("waits for somebody").inside(step.text)
    return False


def _is_exact(text: str) -> bool:
    """Whether a text is a Python expression."""
    code = plain_names(text.partition("; YLD for ")[0]).strip()
    try:
        body = parse_python(f"({code})").body
    except SyntaxError:
        return False
    return bool(code) and len(body) == 1


def _words_that_may_set(agent: AgentSpec) -> set[str]:
    """The words of steps that may set something: `Ask the user for their name` may set `$name`."""
    steps = (step for step in _steps(agent) if not (_reads(step) or assignment(step.text)))
    return {word.casefold() for step in steps for word in WORD.findall(_NAME.sub(" ", step.text))}


def _made_with(program: Program) -> Iterator[str]:
    """The arguments of calls that create agents, which are variables there."""
    for agent in program.agents:
        for step in _steps(agent):
            if _makes(step.text):
                yield from KEYWORD.findall(step.text)
        for fence, tree in python_of(agent):
            if _makes(fence.source):
                yield from _named_in(ast.walk(tree))


def _makes(text: str) -> bool:
    return any(call in text for call in _MAKING)


def _named_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names in Python, and the texts that may be some."""
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name
