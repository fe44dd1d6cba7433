"""The attributes of a frame's span, taken from the frame's events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.observability.tracing import names


def title_of(about: Mapping[str, Any]) -> str:
    """The name of a frame's span: `Agent.Playbook`."""
    playbook = str(about["playbook"])
    return playbook if about["kind"] == "remote" else f"{about['agent']}.{playbook}"


def whose(about: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of every span."""
    told = {names.SESSION: about["session_id"], names.CONVERSATION: about["conversation"]}
    told |= {names.USER: about["participant_id"], names.MEETING: about["meeting_id"]}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of the working agent."""
    return {names.AGENT_NAME: str(about["agent"]), names.AGENT_ID: str(about["agent_id"])}


def attributes_of(about: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of a frame's span."""
    found = whose(about) | agent_of(about) | {names.FRAME: str(about["frame"])}
    if about["kind"] == "llm":
        return found | {names.OPERATION: names.INVOKE_AGENT, names.SPAN_KIND: "CHAIN"}
    found |= {names.OPERATION: names.EXECUTE_TOOL, names.SPAN_KIND: "TOOL", names.TOOL_NAME: title_of(about)}
    return found | {
        names.TOOL_TYPE: "extension" if about["kind"] == "remote" else "function",
        names.CALL_ID: about["frame"],
    }
