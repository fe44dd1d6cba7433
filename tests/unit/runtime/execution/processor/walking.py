"""Programs as their authors write them, walked with the replies of a model that a test gives."""

import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from runtime.core.errors import LLMError
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.sandbox.executor import Sandbox
from tests.fakes.people.talk import Model, Reply, Talk, talking

_compiled: dict[str, Program] = {}


async def compiled(text: str) -> Program:
    """The program that a text is, by the rules."""
    text = textwrap.dedent(text).strip() + "\n"
    if text not in _compiled:
        _compiled[text] = (await compile_parsed(parse(read_text(text, "test.pb")), lowerer=RulesLowerer())).program
    return _compiled[text]


def main(*steps: str, code: str = "", more: str = "", head: str = "# Host") -> str:
    """A program of one agent: the steps of the playbook that begins, with their dashes, and its Python."""
    fence = f"```python\n{textwrap.dedent(code).strip()}\n```\n" if code else ""
    lines = "\n".join(steps)
    return f"{head}\n{fence}\n## Main\n### Triggers\n- At the beginning\n### Steps\n{lines}\n\n{textwrap.dedent(more)}"


def chosen(answer: str) -> str:
    """What a small model answers to a question that is asked alone."""
    return f'{{"answer": "{answer}"}}'


@dataclass
class Walk:
    """A running talk with a walked program."""

    talk: Talk
    model: Model

    async def say(self, text: str, **more: Any) -> list[str]:
        """A person says something; what people see when all is quiet, since then."""
        return await self.talk.say(text, **more)

    @property
    def called(self) -> list[tuple[str, dict[str, Any]]]:
        """The playbooks that were called on the way, each with its arguments, in their order."""
        started = [data for data in self.talk.facts("start") if isinstance(data, Mapping)]
        return [(data["pb"], data["kwargs"]) for data in started if data.get("up")]

    @property
    def values(self) -> dict[str, Any]:
        """What the variables have come to."""
        done = [data for data in self.talk.facts("res") if isinstance(data, Mapping)]
        return {name: value for data in done for name, value in (data.get("set") or {}).items()}

    @property
    def steps(self) -> list[str]:
        """The lines that control came to, in their order."""
        return [data["at"] for data in self.talk.facts("step") if isinstance(data, Mapping)]

    def asked(self, index: int = -1) -> str:
        """The last message of a request."""
        return self.model.told(index)


@asynccontextmanager
async def walking(
    text: str, *replies: str | Reply | LLMError, sandbox: Sandbox | None = None, **more: Any
) -> AsyncIterator[Walk]:
    """Walk a program. `more` are fields of the surroundings."""
    model = Model(*(Reply(one) if isinstance(one, str) else one for one in replies))
    async with talking(await compiled(text), model, sandbox, **more) as talk:
        yield Walk(talk, model)


async def answers(text: str, *replies: str | Reply | LLMError, to: str = "hi", **more: Any) -> list[str]:
    """What people see of a walked program when one thing is said to it."""
    async with walking(text, *replies, **more) as walk:
        return await walk.say(to)
