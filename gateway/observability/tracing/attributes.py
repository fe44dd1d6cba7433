"""The attributes of a frame's span, taken from the frame's events."""

from __future__ import annotations

from gateway.observability.tracing import names
from runtime.events.frames import FrameAbout


def title_of(about: FrameAbout) -> str:
    """The name of a frame's span: `Agent.Playbook`."""
    playbook = about.playbook
    return playbook if about.kind == "remote" else f"{about.agent}.{playbook}"


def whose(about: FrameAbout) -> dict[str, str]:
    """The attributes of every span."""
    told: dict[str, str | None] = {names.SESSION: about.session_id, names.CONVERSATION: about.conversation}
    told |= {names.USER: about.participant_id, names.MEETING: about.meeting_id}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: FrameAbout) -> dict[str, str]:
    """The attributes of the working agent."""
    return {names.AGENT_NAME: about.agent, names.AGENT_ID: str(about.agent_id)}


def attributes_of(about: FrameAbout) -> dict[str, str]:
    """The attributes of a frame's span."""
    found = whose(about) | agent_of(about) | {names.FRAME: about.frame}
    if about.kind == "llm":
        return found | {names.OPERATION: names.INVOKE_AGENT, names.SPAN_KIND: "CHAIN"}
    found |= {names.OPERATION: names.EXECUTE_TOOL, names.SPAN_KIND: "TOOL", names.TOOL_NAME: title_of(about)}
    return found | {
        names.TOOL_TYPE: "extension" if about.kind == "remote" else "function",
        names.CALL_ID: about.frame,
    }
