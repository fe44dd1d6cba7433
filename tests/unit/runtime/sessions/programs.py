"""Small programs for tests, made without a compiler."""

from msgspec.structs import replace

from runtime.language.compiler import compile_parsed
from runtime.language.diagnostics import Span
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import (
    AgentKind,
    AgentSpec,
    OpCode,
    Param,
    PlaybookSpec,
    Program,
    PythonFence,
    Step,
    Trigger,
    TriggerKind,
)
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

SPAN = Span("test.pb", 1)


async def compiled(text: str) -> Program:
    """A program as people write it, compiled by rules."""
    return (await compile_parsed(parse(read_text(text, "test.pb")), lowerer=RulesLowerer())).program


def steps(*lines: str) -> tuple[Step, ...]:
    """`01:QUE text` for each step."""
    made = []
    for line in lines:
        number, _, rest = line.partition(":")
        made.append(Step(number, OpCode(rest[:3]), rest[4:], SPAN))
    return tuple(made)


def triggers(*texts: str) -> tuple[Trigger, ...]:
    """`BGN When …` for each trigger."""
    return tuple(Trigger(f"T{n}", TriggerKind(t[:3]), t[4:], SPAN) for n, t in enumerate(texts, 1))


def llm(
    name: str, *lines: str, begins: bool = False, params: tuple[str, ...] = (), public: bool = False
) -> PlaybookSpec:
    """A playbook in natural language that a model executes with statements; the lines are for its orientation."""
    return PlaybookSpec(
        name,
        "llm",
        SPAN,
        params=tuple(Param(p) for p in params),
        metadata={"public": public, "execution_mode": "react"},
        triggers=triggers("BGN When program starts") if begins else (),
        steps=steps(*lines),
    )


def exits(line: str) -> tuple[str, str]:
    """The statements of a model that comes to the end of its program at this line."""
    return f'await Step("{line}")', 'await Yld("exit")'


def walked(
    name: str,
    *lines: str,
    begins: bool = False,
    returns: str | None = None,
    params: tuple[Param, ...] = (),
    **metadata: object,
) -> PlaybookSpec:
    """A playbook in natural language whose steps the runtime walks; `01.02:QUE text` is below `01`."""
    trigger = metadata.pop("trigger", "BGN When program starts" if begins else None)
    return PlaybookSpec(
        name,
        "llm",
        SPAN,
        params=params,
        metadata=metadata,
        triggers=triggers(str(trigger)) if trigger else (),
        steps=_below("", steps(*lines)),
        returns=returns,
    )


def _below(parent: str, made: tuple[Step, ...]) -> tuple[Step, ...]:
    own = [step for step in made if step.line.rpartition(".")[0] == parent]
    return tuple(replace(step, children=_below(step.line, made)) for step in own)


def python(name: str, *params: str, trigger: str | None = None, **metadata: object) -> PlaybookSpec:
    """A playbook in Python."""
    return PlaybookSpec(
        name,
        "python",
        SPAN,
        params=tuple(Param(p) for p in params),
        metadata=metadata,
        triggers=triggers(trigger) if trigger else (),
    )


MAIN = python("Main", trigger="BGN When program starts")
"""The playbook in Python with which a program begins."""


def agent(name: str, *playbooks: PlaybookSpec, code: str = "") -> AgentSpec:
    """An agent with the given playbooks."""
    fences = (PythonFence(code, SPAN),) if code else ()
    return AgentSpec(name, AgentKind.AI, SPAN, playbooks=playbooks, fences=fences)


def program(*agents: AgentSpec, digest: str = "1") -> Program:
    """A program of these agents."""
    return Program("test", agents, "", digest)


DOES = """
async def Main():
    await Do(variables.get("startup_message") or "-")
    await Listen()

async def Listen():
    for message in await WaitForMessage("user"):
        await Do(message["text"])
    return Again()
"""
"""Does what is said to it: `Do` is for the test to write."""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
"""
"""Stays in a meeting until its end."""
