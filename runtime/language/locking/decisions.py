"""The model's readings of all free steps of a program, asked for in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.core.errors import CompileError
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart
from runtime.events.happening import Tell
from runtime.language.diagnostics import DiagnosticList, Span
from runtime.language.lowering.lowerer import UnclassifiedStep
from runtime.language.pbasm.notation import read_steps
from runtime.language.program import OpCode, Step, coded
from runtime.language.syntax.nodes import ListItem, ParsedProgram
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient

_MAX_CHARS = 400_000
_ALLOWED = frozenset(OpCode) - {OpCode.LOP, OpCode.ELS}
_CODES = """\
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
_INSTRUCTIONS = f"""\
You are the compiler of a language in which people write programs for language models. Rules have compiled a program \
to PBAsm, apart from some steps that they are not sure of. Decide these.

{_CODES}
Answer with lines of PBAsm alone, for each of the steps below, and for no other one. A line begins as its step does \
below, with agent, playbook and number; a colon, the code and the text follow: \
`AGENT.PLAYBOOK:03:QUE Say(user, Greet the guest)`. What belongs below a step has the number of the step in front: \
`AGENT.PLAYBOOK:03.01:EXE …`. Keep the author's words, every number, every $variable and \
every call: what you leave out is lost. Call and speak to nobody who is not named below. Leave out a step that is none \
of these: it is then executed as its author wrote it.
"""


Decisions = Mapping[tuple[str, str, str], tuple[Step, ...]]
"""The steps of an answer by agent, playbook and line."""


async def decisions_on(
    free: Sequence[tuple[str, UnclassifiedStep]], program: ParsedProgram, llm: LLMClient, tell: Tell
) -> Decisions:
    """The model's reading of steps that stay free, each with the name of its agent. `tell` hears what the answer costs.
    Raises CompileError for an answer that does not end, and the model's exceptions."""
    rows = [f"{agent}.{note.playbook}:{note.line} {note.text}" for agent, note in free]
    text = "\n\n".join(agent.source.strip() for agent in program.agents)
    task = f"The program\n\n{text}\n\nDecide these steps\n\n" + "\n".join(rows)
    messages = (ChatMessage("system", _INSTRUCTIONS, cacheable=True), ChatMessage("user", task))
    return _read(await answer_of(llm, messages, program.name, tell))


def _read(answer: str) -> Decisions:
    """The steps of an answer, each at the top of its own tree; rows in another form are ignored."""
    items: dict[tuple[str, str, str], list[ListItem]] = {}
    top: tuple[str, str, str] | None = None
    for row in answer.splitlines():
        name, _, said = row.lstrip("*`- \t").rstrip("` ").partition(":")
        agent, _, playbook = name.partition(".")
        step = coded(said)
        if step is None or step[1] not in _ALLOWED:
            continue
        line, code, text = step
        inside = top is not None and top[:2] == (agent, playbook) and line.startswith(f"{top[2]}.")
        if top is None or not inside:
            top = (agent, playbook, line)
        items.setdefault(top, []).append(ListItem(f"{line}:{code} {text}", Span("answer", 1)))
    return {at: read_steps(rows, DiagnosticList()) for at, rows in items.items()}


async def answer_of(llm: LLMClient, messages: tuple[ChatMessage, ...], program: str, tell: Tell) -> str:
    """The model's answer. What it costs is told, also of a part. Raises CompileError if it does not end."""
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
                answered = kind(
                    *("", "", "", "", usage.model or llm.model, "compile"),
                    reply="".join(pieces),
                    seconds=0.0,
                    first_text_s=None,
                    tokens_in=usage.input_tokens,
                    tokens_out=usage.output_tokens,
                    tokens_cached=usage.cached_tokens,
                    cost_usd=usage.cost_usd,
                    conversation="",
                    participant_id=None,
                    program=program,
                    estimated=usage.estimated,
                )
                tell(answered)
    return "".join(pieces)
