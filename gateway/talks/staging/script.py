"""A model whose answers stand in the talk; and one that answers as one did in a conversation, by its tape: the words,
the values and the statements of then.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from anyio.lowlevel import checkpoint

from gateway.talks.talk import ScriptedReply
from runtime.core.errors import Divergence, LLMRefused
from runtime.language.program import Program
from runtime.llm.client import CompletionRequest, LLMClient, Usage
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import CallReturned, StatementAccepted
from runtime.tape.facts.people import PageFinished
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply_fact
from runtime.tape.journal import digest_of
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

_LABEL = re.compile(r"^\[\d+\] ", re.MULTILINE)
_WANTS_A_VALUE = re.compile(r"\bAnswer with |\bwrite only `instead:`|\bWrite nothing for this")
_PIECE_CHARS = 40
_SHOWN_CHARS = 400

_ALONE = re.compile(r"Answer with (\w+) alone: ")
_EXECUTES = re.compile(r"^You execute ", re.MULTILINE)
_THINKS = re.compile(r"\bThink about this step\b")
_SAYS_TO = re.compile(r"\bSay\(\s*([^,()]+?)\s*,")


Asker: TypeAlias = Callable[[CompletionRequest], str]


class AnswerSource(LLMClient):
    """The model of a talk. `judges`: sentences of the talk can be judged as well. `alone`: each question is asked
    alone, as for small models."""

    judges = True
    alone = False

    def attach(self, _asker: Asker, _on_fault: Callable[[str], None], /) -> None:
        """A talk begins. `asker` names the agent of a request; `on_fault` is told what must not be in a test."""

    def begin(self, _replies: Sequence[ScriptedReply], /) -> None:
        """A beat begins, in which the talk has these answers."""

    def unused(self) -> Sequence[ScriptedReply]:
        """Answers of the beat that nobody asked for."""
        return ()


class KnownAnswers(AnswerSource):
    """Answers that are known before anybody asks. A question without one is a fault, and the request is refused."""

    def __init__(self) -> None:
        self._asker: Asker = lambda _: ""
        self._on_fault: Callable[[str], None] = lambda _: None

    def attach(self, asker: Asker, on_fault: Callable[[str], None], /) -> None:
        self._asker, self._on_fault = asker, on_fault

    @abstractmethod
    def answer(self, agent: str, question: str, request: CompletionRequest) -> str | None:
        """The answer to the first question of an agent's request, None without one."""

    @abstractmethod
    def missing(self, agent: str, question: str) -> str:
        """What is said where there is no answer."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[AnswerPieces]:
        agent, question = self._asker(request), first_question(request.messages[-1].content)
        answer = self.answer(agent, question, request)
        if answer is None:
            fault = self.missing(agent, question)
            self._on_fault(fault)
            raise LLMRefused(fault)
        yield AnswerPieces(answer)


class ReplyScript(KnownAnswers):
    """Answers each question with the first reply of the beat that fits it, once.

    Of the questions of one request it answers the first alone, whatever else is asked ahead: so the order of the
    replies is that of the program. A question without a reply is a fault, and the request is refused.
    """

    model = "scripted"
    judges = False

    def __init__(self) -> None:
        super().__init__()
        self._left: list[ScriptedReply] = []
        self._standing: list[ScriptedReply] = []

    def begin(self, replies: Sequence[ScriptedReply], /) -> None:
        self._left = [reply for reply in replies if not reply.always]
        self._standing = [*(reply for reply in replies if reply.always), *self._standing]

    def unused(self) -> Sequence[ScriptedReply]:
        return self._left

    def answer(self, agent: str, question: str, request: CompletionRequest) -> str | None:
        """The first reply that fits, once; else a standing one."""
        told = "\n".join(message.content for message in request.messages[1:])
        for reply in (*self._left, *self._standing):
            if fits(reply, agent, question) and has_words(told, reply.after):
                if not reply.always:
                    self._left.remove(reply)
                return reply.text
        return None

    def missing(self, agent: str, question: str) -> str:
        return f"{agent or 'An agent'} asked the model what no line here answers:\n{last_part(question)}"


def last_part(question: str) -> str:
    """As much of a question as is shown."""
    return question if len(question) <= _SHOWN_CHARS else f"…{question[-_SHOWN_CHARS:]}"


def fits(reply: ScriptedReply, agent: str, question: str) -> bool:
    """Whether a reply may answer this question of an agent."""
    if reply.by not in ("", agent) or not has_words(question, reply.to):
        return False
    return not (reply.words and wants_a_value(question))


def wants_a_value(question: str) -> bool:
    """Whether a question is for a value or a choice, and not for words."""
    return _WANTS_A_VALUE.search(question) is not None


def has_words(question: str, words: str) -> bool:
    """Whether the words occur in a question, in any case; "age" does not in "message"."""
    spaced = r"\s+".join(map(re.escape, words.split()))
    return re.search(rf"(?<!\w){spaced}(?!\w)" if spaced else "", question, re.IGNORECASE) is not None


def first_question(asked: str) -> str:
    """The first question of a request, without those that are asked ahead together with it."""
    labels = list(_LABEL.finditer(asked))
    if not labels:
        return asked
    return asked[labels[0].end() : labels[1].start() if len(labels) > 1 else len(asked)].strip()


class AnswerPieces:
    usage = Usage(cost_usd=0.0)

    def __init__(self, text: str) -> None:
        self.text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for start in range(0, len(self.text), _PIECE_CHARS):
            await checkpoint()
            yield self.text[start : start + _PIECE_CHARS]


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

    def _note(self, fact: Fact, content: FactContent) -> None:
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


class MemoryAnswers(KnownAnswers):
    model = "remembered"

    def __init__(self, memory: AnswerMemory) -> None:
        super().__init__()
        self._memory = memory

    def missing(self, _agent: str, question: str) -> str:
        return f"the tape has no answer to this any more:\n{question}"

    def answer(self, agent: str, question: str, _request: CompletionRequest) -> str | None:
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
