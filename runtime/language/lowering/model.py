"""The lowerer that asks a language model and checks its answers."""

from __future__ import annotations

import hashlib
import re

from runtime.core.errors import CompileError
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart
from runtime.events.happening import Tell, unheard
from runtime.language.diagnostics import ProgramRejected
from runtime.language.lowering.checks.source_check import compare
from runtime.language.lowering.checks.step_check import unfaithful
from runtime.language.lowering.lowerer import Lowered
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import coded_trigger, read, signature
from runtime.language.pbasm.step_lines import given_steps
from runtime.language.problems import Problems
from runtime.language.program import AgentKind
from runtime.language.syntax.nodes import ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, Usage

_VERSION = 2
_ATTEMPTS = 3
_MAX_CHARS = 400_000

CODES = """\
Codes
- QUE  call something: `QUE Say(user, what to say)`, `QUE $x:float = GetRate(country=$country)`, \
`QUE Say(OtherAgent, what to ask)`. `Say` takes the author's words, not finished text: they are turned into speech \
when the step is executed.
- YLD  give up control and wait: `YLD for user`, `YLD for call`, `YLD for agent Name`, `YLD for meeting`, \
`YLD for exit` (the program ends).
- CND  a condition or a loop; what depends on it stands below it. `CND If …`, `CND Otherwise`, `CND While …`, \
`CND For each …`. The last line below a loop is a JMP to the line of the loop.
- JMP  go to a line: `JMP 03`.
- RET  return from the playbook: `RET $total`, or `RET` alone.
- CHK  apply a note: `CHK N1`.
- TNK  think about something before going on.
- EXE  do anything else: `EXE $total:float = $price * $count`.

How to combine them
- A question needs an answer. It stays on the line of the question: `QUE Say(user, Ask for the $age:int); YLD for \
user; done when the user gave $age`.
- A call needs its result: `QUE $x:str = Find(query=$q); YLD for call`.
- A variable gets its type where it is first set: `$name:str`; types are str, int, float, bool, list, dict.
- In a meeting playbook (`meeting: true`) people are addressed with `Say(meeting, …)` and `YLD for meeting`, unless \
the author says "privately".

"""
"""The explanation of PBAsm's lines for a model."""

_INSTRUCTIONS = f"""\
You are the compiler of a language in which people write programs for language models. You are given one agent of a \
program as Markdown. Write the same agent as PBAsm: the same playbooks in the same order, with every trigger and every \
step turned into one coded line. Another model will execute your lines one by one, and the runtime will refuse any \
step that is not among them, so nothing may be lost, added, merged, reordered or made vaguer.

What to write
- The heading of the agent, its metadata and description, its python fences copied byte for byte, then each playbook \
with its heading exactly as listed under "Signatures", metadata, description, and the sections it has.
- Triggers: `- T1:BGN text`, numbered from T1 in each playbook. BGN: the program starts. CND: a condition on variables \
or on the state of things. EVT: something a person or an agent does. The text is the author's.
- Steps: `- 01:CODE text`. Each top-level step of the author is exactly one top-level line: 01, 02, 03, … Steps nested \
below it are 02.01, 02.02, …, indented by two blanks for each level. The text keeps every detail the author gave, \
every $variable and every call.
- Notes: `- N1 text`, numbered from N1.

{CODES}Answer with the PBAsm text alone: no fence around it, no remarks.
"""

_EXAMPLE_SOURCE = """\
Signatures
Main()

# Ferry Desk
Sells tickets for the island ferry.

## Main
### Triggers
- When program starts
### Steps
- Ask how many people travel
- While $people is not between 1 and 9
  - Say that a group has 1 to 9 people and ask again
- Get the price from QuoteFare
- If there is a child among them
  - Offer the family ticket
- otherwise just tell the price
- End program
### Notes
- Prices are in euro.
"""

_EXAMPLE_PBASM = """\
# FerryDesk
Sells tickets for the island ferry.

## Main()
### Triggers
- T1:BGN When program starts
### Steps
- 01:QUE Say(user, Ask how many $people:int travel); YLD for user; done when the user gave a number
- 02:CND While $people is not between 1 and 9
  - 02.01:QUE Say(user, Say that a group has 1 to 9 people and ask again for $people); YLD for user; done when the \
user gave a number
  - 02.02:JMP 02
- 03:QUE $price:float = QuoteFare(people=$people); YLD for call
- 04:CND If there is a child among them
  - 04.01:QUE Say(user, Offer the family ticket); YLD for user; done when the user answered
- 05:CND Otherwise
  - 05.01:QUE Say(user, Tell the $price)
- 06:YLD for exit
### Notes
- N1 Prices are in euro.
"""

_PROMPT = (
    ChatMessage("system", _INSTRUCTIONS),
    ChatMessage("user", _EXAMPLE_SOURCE),
    ChatMessage("assistant", _EXAMPLE_PBASM, cacheable=True),
)
_WRAPPER = re.compile(r"\A\s*(`{3,}|~{3,})[\w.]*\n(#.*\n)\1\s*\Z", re.DOTALL)


class ModelLowerer:
    """Lowers with a language model. An answer that differs from the source goes back with the differences, twice."""

    def __init__(self, llm: LLMClient, tell: Tell = unheard) -> None:
        """`tell` is told what each answer costs."""
        self._llm = llm
        self._costs = tell

    @property
    def fingerprint(self) -> str:
        """A text that changes with the prompt and the model."""
        prompt = "\0".join(message.content for message in _PROMPT)
        return f"model-{_VERSION} {self._llm.model} {hashlib.sha256(prompt.encode()).hexdigest()}"

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> Lowered:
        """The PBAsm of `source`. Raises CompileError after three answers that are not it, and what the model raises.

        An agent that has nothing in prose to lower (its Python, people, PBAsm) is lowered without the model.
        """
        if not any(_has_prose(playbook) for playbook in source.playbooks):
            return await RulesLowerer().lower(source, program)
        messages: tuple[ChatMessage, ...] = (*_PROMPT, ChatMessage("user", _task(source, program)))
        problem = ""
        for _ in range(_ATTEMPTS):
            answer = await answer_of(self._llm, messages, program.name, source.name, self._costs)
            text = _agent_text(answer)
            problem = _problem(text, source)
            if not problem:
                return Lowered(text)
            complaint = f"This is not the agent you were given:\n{problem}\n\nWrite the whole PBAsm again, corrected."
            messages = (*messages, ChatMessage("assistant", answer or "(nothing)"), ChatMessage("user", complaint))
        raise CompileError(
            f"{source.span}: {self._llm.model} could not compile {source.name} in {_ATTEMPTS} attempts:\n{problem}\n"
            "Reword the steps it stumbles over, or compile with the rules."
        )


async def answer_of(llm: LLMClient, messages: tuple[ChatMessage, ...], program: str, agent: str, tell: Tell) -> str:
    """The model's answer about an agent of a program, "" for all of them. What it costs is told, also of a part.

    Raises CompileError if it does not end, and the model's exceptions.
    """
    pieces: list[str] = []
    size = 0
    kind: type[LLMAnswered] = LLMAnsweredInPart
    async with llm.stream(CompletionRequest(messages, purpose="compile")) as completion:
        try:
            async for piece in completion:
                pieces.append(piece)
                size += len(piece)
                if size > _MAX_CHARS:
                    raise CompileError(f"{llm.model} does not stop writing; {size:,} characters were read")
            kind = LLMAnswered
        finally:
            usage = completion.usage
            if kind is LLMAnswered or usage.input_tokens or usage.output_tokens:
                tell(_answered(kind, "".join(pieces), usage, (program, agent, llm.model)))
    return "".join(pieces)


def _answered(kind: type[LLMAnswered], reply: str, usage: Usage, names: tuple[str, str, str]) -> LLMAnswered:
    program, agent, model = names
    return kind(
        *("", "", "", "", usage.model or model, "compile"),
        reply=reply,
        seconds=0.0,
        first_text_s=None,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        tokens_cached=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        conversation="",
        participant_id=None,
        program=program,
        agent=agent,
        estimated=usage.estimated,
    )


def _has_prose(playbook: ParsedPlaybook) -> bool:
    """Whether a playbook has steps or triggers without codes."""
    if playbook.kind != "llm":
        return False
    steps = bool(playbook.steps) and given_steps(playbook.steps, Problems()) is None
    return steps or any(coded_trigger(item) is None for item in playbook.triggers)


def _task(source: ParsedAgent, program: ParsedProgram) -> str:
    """The prompt before the agent's own text: its signatures and the names that it can call."""
    own = [_announced(playbook) for playbook in source.playbooks]
    rows = ["Signatures", *own]
    others = [agent for agent in program.agents if agent is not source]
    if others:
        rows.append("\nOther agents")
    for agent in others:
        public = [_announced(p) for p in agent.playbooks if p.metadata.get("public") or p.metadata.get("export")]
        human = " (a person)" if agent.kind is AgentKind.HUMAN else ""
        rows.append(f"{agent.name}{human}: {', '.join(public) or 'only by Say'}")
    return "\n".join(rows) + "\n\n" + source.source


def _announced(playbook: ParsedPlaybook) -> str:
    kind = " (python, in the fence: no heading of its own)" if playbook.kind == "python" else ""
    return signature(playbook) + kind


def _agent_text(answer: str) -> str:
    """The PBAsm in an answer, without a fence around all of it."""
    wrapped = _WRAPPER.match(answer)
    text = wrapped[2] if wrapped else answer
    return text.strip() + "\n"


def _problem(text: str, source: ParsedAgent) -> str:
    """The error in the text as the PBAsm of this agent; empty if it has none."""
    try:
        program = read(text, f"{source.name}.pbasm")
    except ProgramRejected as error:
        return str(error)
    return "\n".join(compare(source, program.agents) or unfaithful(source, program.agents[0]))
