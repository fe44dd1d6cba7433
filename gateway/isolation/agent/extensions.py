"""The calls of extensions as a task's process has them: its node makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from gateway.isolation.forms import CalledExtension
from gateway.isolation.peer import Peer
from runtime.execution.calls.extensions import ExtensionCall
from runtime.execution.frames.outcomes import RaisedByPlaybook

_LONGER_S = 60.0
"""How much longer than its node the process waits, which knows the time limit of a call."""


def node_calls(peer: Peer, calls: Sequence[CalledExtension]) -> dict[str, ExtensionCall]:
    """The calls by name."""
    return {
        call.spec.name: ExtensionCall(
            call.spec, _made(peer, call.spec.name), call.repeatable, call.timeout_s + _LONGER_S, call.only_reads
        )
        for call in calls
    }


def _made(peer: Peer, name: str) -> Callable[..., Awaitable[Any]]:
    async def make(**arguments: Any) -> Any:
        answer: Mapping[str, Any] = await peer.call("call_extension", [name, arguments])
        if "error" in answer:
            kind, text = answer["error"]
            raise RaisedByPlaybook(str(kind), str(text))
        return answer["value"]

    return make
