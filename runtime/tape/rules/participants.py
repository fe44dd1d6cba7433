"""The fold's rules about acknowledgements and about agents that are played in another process. See `fold`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.tape.acks import AckState
from runtime.tape.frame_state import WaitState
from runtime.tape.rules.frames import call_key, note_addressed, take_messages
from runtime.tape.state import SessionState

Data = Mapping[str, Any]


def _acks(state: SessionState, seq: int, data: Data) -> None:
    """A text needs an acknowledgement: its call waits."""
    key = call_key(data["f"], data["pos"])
    if data["f"] not in state.frames:
        return
    note_addressed(state.agents[state.frames[data["f"]].agent], data.get("to"))
    state.acks[key] = AckState(data["message"], list(data["who"]), data.get("page"))
    state.waits[key] = WaitState(data["f"], data["pos"], data["name"], data["dig"], None, data["due"], seq)


def _posted(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    queue = {message.id for message in agent.queue}
    agent.posted += [message for message in data["mids"] if message in queue and message not in agent.posted]


def _fetched(state: SessionState, _: int, data: Data) -> None:
    take_messages(state, data["agent"], list(data["mids"]))


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "acks": _acks,
    "posted": _posted,
    "fetched": _fetched,
}
