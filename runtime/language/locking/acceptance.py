"""Whether a model's reading of a free step is what its author wrote: nothing lost, nothing invented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtime.core.errors import CompileError
from runtime.language.instructions.decode import decode
from runtime.language.instructions.fence import names_playbook
from runtime.language.instructions.model import Free
from runtime.language.instructions.speaking_of import speaks_of_ending
from runtime.language.lowering import phrases
from runtime.language.lowering.checks.lost_words import lost_clauses
from runtime.language.lowering.checks.source_check import lost_names
from runtime.language.lowering.lowerer import Unclassified
from runtime.language.lowering.read_back import read_lowered
from runtime.language.pbasm.notation import write_agent
from runtime.language.program import AgentSpec, Op, Step
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from runtime.language.vocabulary.phrase import PhrasePattern, phrase

_WAITED_FOR = re.compile(r"\bYLD for agent (\w+)")
_SAID_TO = re.compile(r"\bSay\(\s*(\$?\w+)\s*,")
_EVERYWHERE = phrases.RESULTLESS | {"Sleep"}
_SPEAKS = phrase("reason to speak")
_REASONS: Mapping[Op, PhrasePattern] = {
    Op.TNK: phrase("reason to think"),
    Op.RET: phrase("reason to return"),
    Op.JMP: phrase("reason to jump"),
    Op.CND: phrase("reason for a condition"),
}
"""Words that give a reason for a code."""


def with_reading(
    spec: AgentSpec, note: Unclassified, steps: Sequence[Step], source: ParsedAgent, program: ParsedProgram
) -> AgentSpec | None:
    """The agent with a model's steps in place of a free one; None if they are not what its author wrote."""
    playbook = spec.playbook(note.playbook)
    old = playbook.step(note.line) if playbook else None
    if playbook is None or old is None or len(steps) != 1 or not _names_are_known(steps[0], note, source, program):
        return None
    if (old.children and steps[0].children) or not _has_reasons(steps[0], note.text):
        return None
    new = replace(steps[0], span=old.span, children=steps[0].children or old.children)
    changed = replace(playbook, steps=tuple(_with(step, new) for step in playbook.steps))
    agent = replace(spec, playbooks=tuple(changed if one is playbook else one for one in spec.playbooks))
    rows = [f"{inner.op} {inner.text}" for inner in new.walk()]
    stays_free = new.op is Op.EXE or (new.op is not Op.CHK and isinstance(decode(new).head, Free))
    if stays_free or lost_clauses(note.text, rows) or lost_names(note.text, "\n".join(rows)):
        return None
    try:
        return read_lowered(write_agent(agent), source)
    except CompileError:
        return None


def _with(step: Step, new: Step) -> Step:
    if step.line == new.line:
        return new
    return replace(step, children=tuple(_with(child, new) for child in step.children))


def _names_are_known(step: Step, note: Unclassified, source: ParsedAgent, program: ParsedProgram) -> bool:
    """Whether steps call and address only names that the program has."""
    text = "\n".join(inner.text for inner in step.walk())
    people = {"user", "meeting", *program.names}
    heard = {*_SAID_TO.findall(text), *_WAITED_FOR.findall(text)}
    if any(name not in people and not (name.startswith("$") and name in note.text) for name in heard):
        return False
    own = {playbook.name for playbook in source.playbooks if names_playbook(note.text, playbook.name)}
    return all(
        name in own or name in _EVERYWHERE or f"{name}(" in note.text or _is_named(name, note.text, program)
        for name in phrases.CALLED.findall(re.sub(r"Say\([^)]*\)", "Say()", text))
    )


def _is_named(name: str, text: str, program: ParsedProgram) -> bool:
    """Whether a step names a playbook of another agent, and the program has it."""
    return program.has_playbook(*_split(name)) and names_playbook(text, _split(name)[1])


def _has_reasons(step: Step, text: str) -> bool:
    """Whether the author's words give a reason for the model's version: losing no word is not enough."""
    back_round = (Op.JMP, step.line)
    return all((one.op, one.text.strip()) == back_round or _has_reason(one, text) for one in step.walk())


def _has_reason(step: Step, text: str) -> bool:
    reason = _SPEAKS if _SAID_TO.search(step.text) else _REASONS.get(step.op)
    ends = "YLD for exit" in f"{step.op} {step.text}" and not speaks_of_ending(text, ())
    return not ends and (reason is None or reason.inside(text) is not None)


def _split(name: str) -> tuple[str, str]:
    agent, _, playbook = name.rpartition(".")
    return agent, playbook
