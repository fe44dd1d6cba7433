"""A model that answers as one did in a conversation, by its tape: the words, the values and the statements of then."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from gateway.talks.staging.script import Pieces, first_question, wants_a_value
from runtime.core.errors import Divergence, LLMRefused
from runtime.language.program import Program
from runtime.llm.client import CompletionRequest
from runtime.tape.facts.calls import CallReturned
from runtime.tape.facts.content import Content
from runtime.tape.facts.frames import StatementAccepted
from runtime.tape.facts.pages import PageFinished
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply_fact
from runtime.tape.journal import digest_of
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

_ALONE = re.compile(r"Answer with (\w+) alone: ")
_EXECUTES = re.compile(r"^You execute ", re.MULTILINE)
_THINKS = re.compile(r"\bThink about this step\b")
_SAYS_TO = re.compile(r"\bSay\(\s*([^,()]+?)\s*,")


class AnswerMemory:
    """The answers of a conversation's model, for each agent in its order."""

    def __init__(self, program: Program, facts: Sequence[Fact]) -> None:
        self.words: dict[str, deque[str]] = {}
        self.values: dict[str, deque[Any]] = {}
        self.statements: dict[str, deque[str]] = {}
        said_to = {
            target for agent in program.agents for one in agent.playbooks for target in _targets(one.walk_steps())
        }
        self._targets = {"user", "human", "meeting", *said_to, *(agent.name for agent in program.agents)}
        self._state = SessionState()
        self._turn: tuple[str, int] = ("", 0)
        for fact in facts:
            content = content_of(fact.kind, fact.data)
            self._note(fact, content)
            try:
                apply_fact(self._state, fact)
            except (Divergence, LookupError):
                break

    def _note(self, fact: Fact, content: Content) -> None:
        frame = self._state.frames.get(content.frame_id() or "")
        if frame is None:
            return
        agent = self._state.agents[frame.agent].klass
        match content:
            case CallReturned(name="Answer"):
                self.values.setdefault(agent, deque()).append(content.value)
            case StatementAccepted():
                self._statement(fact, frame.id, agent, content)
            case PageFinished(name="Say") | CallReturned(name="Say") if self._worded(content):
                self.words.setdefault(agent, deque()).append(content.text or "")
            case _:
                pass

    def _statement(self, fact: Fact, frame: str, agent: str, content: StatementAccepted) -> None:
        """Statements of one frame without another turn between them are one reply."""
        turn = (frame, len(self._state.frames[frame].transcript))
        source = "\n".join([*content.remarks, content.source])
        known = self.statements.setdefault(agent, deque())
        if known and turn == self._turn:
            known[-1] += f"\n{source}"
        else:
            known.append(source)
        self._turn = turn

    def _worded(self, said: PageFinished | CallReturned) -> bool:
        """Whether a model worded what was said: the digest of such a call knows nothing of the words."""
        frame = self._state.frames[said.frame or ""]
        if not frame.version.startswith("llm.walked") or not str(said.pos).isdigit():
            return False
        targets = {*self._targets, said.to or ""}
        return all(said.digest != digest_of("Say", (target, said.text), {}) for target in targets)


def _targets(steps: Any) -> set[str]:
    return {target for step in steps for target in _SAYS_TO.findall(step.text)}


class MemoryAnswers:
    """Answers by a memory. A question that it has nothing for is a fault."""

    model = "remembered"

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self.asker: Callable[[CompletionRequest], str] = lambda _: ""
        self.on_fault: Callable[[str], None] = lambda _: None

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Pieces]:
        question = first_question(request.messages[-1].content)
        answer = self._answer(self.asker(request), question)
        if answer is None:
            fault = f"the tape has no answer to this any more:\n{question}"
            self.on_fault(fault)
            raise LLMRefused(fault)
        yield Pieces(answer)

    def _answer(self, agent: str, question: str) -> str | None:
        if _EXECUTES.search(question):
            return _next(self._memory.statements.get(agent))
        if not wants_a_value(question) and not _THINKS.search(question):
            return _next(self._memory.words.get(agent))
        values = self._memory.values.get(agent)
        return written(values.popleft(), question) if values else None


def _next(some: deque[str] | None) -> str | None:
    return some.popleft() if some else None


def written(value: Any, question: str) -> str:
    """An answer of the tape as a model writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "does" in value:
        values = value.get("values") or {}
        if value["does"] != "answer":
            return f"instead: {value['does']}" + (f" {json.dumps(values, ensure_ascii=False)}" if values else "")
        return _values(values, question) if values else "answer"
    return _values(value, question) if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)


def _values(values: Mapping[str, Any], question: str) -> str:
    alone = _ALONE.search(question)
    if alone is not None and len(values) == 1:
        [value] = values.values()
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(values, ensure_ascii=False)
