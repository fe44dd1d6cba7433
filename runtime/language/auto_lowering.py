"""The lowerer that works by rules and asks a language model only for the steps that stay free."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from runtime.core.errors import CompileError, ParleyError
from runtime.events.happening import Tell, unheard
from runtime.language.compiler import read_lowered
from runtime.language.diagnostics import Span
from runtime.language.instructions.decode import decode
from runtime.language.instructions.fence import names_playbook
from runtime.language.instructions.model import Free
from runtime.language.instructions.wording import speaks_of_ending
from runtime.language.lowering import phrases
from runtime.language.lowering.checks.lost_words import lost_clauses
from runtime.language.lowering.checks.source_check import lost_names
from runtime.language.lowering.lowerer import Lowered, LoweringReport, Unclassified
from runtime.language.lowering.model import CODES, answer_of
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import write_agent
from runtime.language.pbasm.step_lines import read_steps
from runtime.language.problems import Problems
from runtime.language.program import AgentKind, AgentSpec, Op, Step
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedProgram
from runtime.llm.client import ChatMessage, LLMClient

_LINE = re.compile(r"^[\s*`-]*(\w+)\.(\w+):(\d+(?:\.\d+)*):([A-Z]{3})\b\s*(.*?)`*\s*$")
_WAITED_FOR = re.compile(r"\bYLD for agent (\w+)")
_SAID_TO = re.compile(r"\bSay\(\s*(\$?\w+)\s*,")
_EVERYWHERE = phrases.RESULTLESS | {"Sleep"}
_SPEAKS = re.compile(
    r"\b(?:user|customer|client|guest|visitor|caller|player|patient|person|people|human|them|they|every(?:one|body)"
    r"|some(?:one|body)|all|others?|group|team|meeting|tell|say|ask|explain|greet|welcome|thank|apologi[sz]e|repl(?:y|ies)"
    r"|answer|inform|announce|show|offer|suggest|remind|warn|read out|present|introduce|describe|mention|confirm)s?\b"
    r"|\$\w+|@\w+",
    re.IGNORECASE,
)
_REASONS: Mapping[Op, re.Pattern[str]] = {
    Op.TNK: re.compile(
        r"\b(?:think|consider|reflect|plan|decide|reason|ponder|weigh|judge|assess|work out|figure)", re.IGNORECASE
    ),
    Op.RET: re.compile(r"\b(?:return|give|hand|answer|result|report|pass)", re.IGNORECASE),
    Op.JMP: re.compile(r"\b(?:go|back|again|repeat|restart|start over|continue|step|line|jump|until|while)\b", re.I),
    Op.CND: re.compile(
        r"\b(?:if|when\w*|unless|while|until|each|every|all|once|otherwise|else|in case|as long as|repeat|times|switch"
        r"|depending|whether|for)\b",
        re.IGNORECASE,
    ),
}
"""Words that give a reason for a code."""
_ALLOWED = frozenset(Op) - {Op.LOP, Op.ELS}
_INSTRUCTIONS = f"""\
You are the compiler of a language in which people write programs for language models. Rules have compiled a program \
to PBAsm, apart from some steps that they are not sure of. Decide these.

{CODES}
Answer with lines of PBAsm alone, for each of the steps below, and for no other one. A line begins as its step does \
below, with agent, playbook and number; a colon, the code and the text follow: \
`AGENT.PLAYBOOK:03:QUE Say(user, Greet the guest)`. What belongs below a step has the number of the step in front: \
`AGENT.PLAYBOOK:03.01:EXE …`. Keep the author's words, every number, every $variable and \
every call: what you leave out is lost. Call and speak to nobody who is not named below. Leave out a step that is none \
of these: it is then executed as its author wrote it.
"""

_UNASKED = "{why}, and the model could not be asked"
_Decisions = dict[tuple[str, str, str], tuple[Step, ...]]


class AutoLowerer:
    """Lowers by rules.

    With `llm`, a model decides the steps that stay free, in one request for a program. A step stays free if the model's
    answer loses, invents or misreads something, or if the model cannot be asked.
    """

    def __init__(self, llm: LLMClient | None, tell: Tell = unheard) -> None:
        """`tell` is told what each answer costs."""
        self._llm = llm
        self._costs = tell
        self._rules = RulesLowerer()
        self._asking = anyio.Lock()
        self._answered: tuple[ParsedProgram, _Decisions | None] | None = None

    @property
    def fingerprint(self) -> str:
        """Changes with the rules, the prompt and the model."""
        model = self._llm.model if self._llm is not None else "none"
        return f"auto {self._rules.fingerprint} {model} {hashlib.sha256(_INSTRUCTIONS.encode()).hexdigest()[:16]}"

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> Lowered:
        """The PBAsm of `source`, with the steps that are still free. Raises ProgramRejected."""
        lowered = await self._rules.lower(source, program)
        if self._llm is None or not lowered.report.unclassified:
            return lowered
        async with self._asking:
            if self._answered is None or self._answered[0] is not program:
                self._answered = (program, await self._decided(self._llm, program))
            decisions = self._answered[1]
        if decisions is None:
            notes = (replace(note, reason=_UNASKED.format(why=note.reason)) for note in lowered.report.unclassified)
            return replace(lowered, report=LoweringReport(tuple(notes)), final=False)
        spec = read_lowered(lowered.pbasm, source)
        free: list[Unclassified] = []
        decided: list[Unclassified] = []
        for note in lowered.report.unclassified:
            steps = decisions.get((source.name, note.playbook, note.line))
            taken = _taken(spec, note, steps, source, program) if steps else None
            spec = taken or spec
            (decided if taken else free).append(note)
        return Lowered(write_agent(spec), LoweringReport(tuple(free), tuple(decided)))

    async def _decided(self, llm: LLMClient, program: ParsedProgram) -> _Decisions | None:
        """The model's decision on all free steps of a program; None when it cannot be asked."""
        rows = []
        for agent in program.agents:
            if agent.kind is AgentKind.AI and not agent.compiled:
                notes = (await self._rules.lower(agent, program)).report.unclassified
                rows += [f"{agent.name}.{note.playbook}:{note.line} {note.text}" for note in notes]
        task = f"The program\n\n{_text(program)}\n\nDecide these steps\n\n" + "\n".join(rows)
        messages = (ChatMessage("system", _INSTRUCTIONS, cacheable=True), ChatMessage("user", task))
        try:
            return _read(await answer_of(llm, messages, program.name, "", self._costs))
        except ParleyError:
            return None


def _text(program: ParsedProgram) -> str:
    return "\n\n".join(agent.source.strip() for agent in program.agents)


def _read(answer: str) -> _Decisions:
    """The steps of an answer, each at the top of its own tree; rows in another form are ignored."""
    items: dict[tuple[str, str, str], list[ListItem]] = {}
    top: tuple[str, str, str] | None = None
    for row in answer.splitlines():
        match = _LINE.match(row)
        if match is None or match[4] not in _ALLOWED:
            continue
        agent, playbook, line = match[1], match[2], match[3]
        inside = top is not None and top[:2] == (agent, playbook) and line.startswith(f"{top[2]}.")
        if top is None or not inside:
            top = (agent, playbook, line)
        items.setdefault(top, []).append(ListItem(f"{line}:{match[4]} {match[5]}", Span("answer", 1)))
    return {at: read_steps(rows, Problems()) for at, rows in items.items()}


def _taken(
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
    return not ends and (reason is None or reason.search(text) is not None)


def _split(name: str) -> tuple[str, str]:
    agent, _, playbook = name.rpartition(".")
    return agent, playbook
