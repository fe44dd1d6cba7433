"""The text around a question to a model: its role, the script, the past and the known values; the stable part first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.message import Message
from runtime.core.prompt_forms import LineForm, foreign_line, foreign_lines
from runtime.execution.prompt.message_text import exchanged, heard_content, heard_line, past_lines
from runtime.execution.prompt.situation import named_value, node_context
from runtime.execution.prompt.step_words import script_lines
from runtime.execution.prompt.with_files import file_mention
from runtime.language.program import NOTE, AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.signature import spaced
from runtime.llm.client import ChatMessage
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import SessionState

_ROLE = """\
You are {name}.{description}
You take part in a chat. What happens is decided by a program; you are asked for one piece at a time: the words of one \
message, a value, or a decision. Give exactly that piece, and nothing before or after it. Speak as yourself to the \
person, in their language. Take no other steps, promise none, and invent no facts.\
"""


def system_text(
    program: Program, agent: AgentSpec, playbook: PlaybookSpec, described: str, *, with_script: bool = True
) -> str:
    """The part that all questions of a playbook share. `described` is its description."""
    about = f" {agent.description}" if agent.description else ""
    lines = [_ROLE.format(name=spaced(agent.name), description=about)]
    others = [other.name for other in program.agents if other.name != agent.name and other.name in _text(playbook)]
    if others:
        lines.append(f"{LineForm.OTHERS_PART} {', '.join(others)}.")
    if described:
        lines.append(f"\n{LineForm.ABOUT} {described}")
    if playbook.steps and with_script:
        lines.append(f"\n{LineForm.SCRIPT}{spaced(playbook.name)}), for orientation:")
        lines += [line for step in playbook.steps for line in script_lines(step, 0)]
    if playbook.notes:
        lines.append(f"\n{LineForm.NOTES}")
        lines += [f"- {NOTE.sub('', note, count=1).lstrip()}" for note in playbook.notes]
    return "\n".join(lines)


def _text(playbook: PlaybookSpec) -> str:
    return "\n".join(step.text for step in playbook.walk_steps())


def heard_text(state: SessionState, messages: list[Message]) -> str:
    """Messages in words for a model. In a private chat, the only person is quoted without a name."""
    return "\n".join(_heard(state, message) for message in messages)


def _heard(state: SessionState, message: Message) -> str:
    files = "".join(f"\n{file_mention(file)}" for file in message.attachments)
    alone = state.private and len(state.people) <= 1 and len(state.agents) == 1
    if alone and message.from_human and message.type == "direct":
        return "\n".join([*past_lines(message.past), heard_content(message)]) + files
    return heard_line(message) + files


def build_prompt(
    system: str, state: SessionState, frame: FrameState, names: Mapping[str, Any], asked: str
) -> tuple[ChatMessage, ...]:
    messages = [ChatMessage("system", system, cacheable=True)]
    for past in frame.transcript:
        messages += exchanged(past)
    if frame.transcript:
        messages[-1] = ChatMessage(messages[-1].role, messages[-1].content, cacheable=True)
    heard = "\n".join(text for text in (frame.heard, *frame.notes) if text)
    if heard:
        messages.append(ChatMessage("user", heard))
    if frame.said:
        messages.append(ChatMessage("assistant", foreign_lines("\n\n".join(frame.said))))
    messages.append(ChatMessage("user", f"{LineForm.FROM_PROGRAM}\n{_known(state, frame, names)}{asked}"))
    return tuple(messages)


def _known(state: SessionState, frame: FrameState, names: Mapping[str, Any]) -> str:
    agent = state.agents[frame.agent]
    lines = []
    shown = [(name, value) for name, value in names.items() if not name.startswith("_") and name != "startup_message"]
    if shown:
        values = (f"${foreign_line(name)} = {named_value(agent, name, value)}" for name, value in shown)
        lines.append(f"{LineForm.KNOWN} " + "; ".join(values))
    lines += node_context(state, frame)
    return "\n".join([*lines, ""]) if lines else ""
