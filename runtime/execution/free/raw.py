"""Playbooks in the mode `raw`: one question to the model, whose answer is the value."""

from __future__ import annotations

import json
import re
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.core.prompt_forms import LineForm
from runtime.execution.frames.frame import Frame, shortened
from runtime.execution.model_calls import ModelCalls
from runtime.execution.prompt.situation import shown_value
from runtime.execution.questions.answers import unfenced
from runtime.execution.questions.form import KINDS
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.language.value_types import coerced, fits
from runtime.llm.client import ChatMessage, CompletionRequest
from runtime.tape.facts.frames import EndReached
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState

_VALUE_ALONE = "Answer with the value alone."


def raw_prompt(agent: AgentSpec, playbook: PlaybookSpec, frame: FrameState) -> tuple[ChatMessage, ...]:
    """The agent's role, then the description with its values, then the arguments that the description does not name."""
    question = frame.description if frame.description is not None else playbook.description
    rest = {name: value for name, value in frame.kwargs.items() if not _names(playbook.description, name)}
    parts = [question, *playbook.notes]
    if rest:
        parts.append("\n".join(f"{name}: {shown_value(value, 20_000)}" for name, value in rest.items()))
    system = f"You are {agent.name}. {agent.description}".strip()
    return ChatMessage("system", system, cacheable=True), ChatMessage("user", "\n\n".join(parts))


def _names(description: str, name: str) -> bool:
    return re.search(rf"\{{[^}}]*\b{re.escape(name)}\b", description) is not None


async def answer_raw(
    calls: ModelCalls, journal: Journal, frame: Frame, agent: AgentSpec, playbook: PlaybookSpec
) -> None:
    """Ask, unless that has been done. Raises LLMError."""
    if frame.state.ending is not None:
        return
    prompt, declared = raw_prompt(agent, playbook, frame.state), playbook.returns
    text = await calls.text(CompletionRequest(prompt))
    value = value_of(text, declared)
    if declared is not None and not fits(value, declared):
        again = ChatMessage(
            "user", f"{LineForm.WRONG_ANSWER} it is not {KINDS.get(declared, declared)}. {_VALUE_ALONE}"
        )
        text = await calls.text(CompletionRequest((*prompt, ChatMessage("assistant", text), again)))
        value = value_of(text, declared)
    if declared is not None and not fits(value, declared):
        span, shown = playbook.span, shortened(repr(value))
        raise PlaybookError(f"{playbook.name} (line {span.line}) returns {declared}, and the model answered {shown}")
    journal.note(EndReached(frame.id, "return", value=value))
    await journal.commit()


def value_of(text: str, declared: str | None) -> Any:
    """An answer as the declared result, if it says exactly that; else the text."""
    text = text.strip()
    if declared is None or declared == "str":
        return text
    bare = unfenced(text)
    try:
        if declared.partition("[")[0] in ("list", "dict"):
            return coerced(json.loads(bare), declared)
        return coerced(bare, declared)
    except ValueError:
        return text
