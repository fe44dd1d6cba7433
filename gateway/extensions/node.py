"""Extensions in a process that serves conversations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from anyio.abc import TaskGroup

from gateway.extensions.extension import LoadedExtensions
from runtime.bus import Bus
from runtime.channels.channel import ChannelRegistry
from runtime.channels.extensions import ExtendedChannels
from runtime.channels.participant import Participant
from runtime.execution.calls.remote import ExtensionCall
from runtime.execution.speech.receipts import note_delivered
from runtime.sessions.features import NodePart
from runtime.tape.journal import Journal


class NodeExtensions(NodePart):
    """What extensions let programs call, and follow in the channels of sessions; None where they follow none."""

    def __init__(self, calls: Mapping[str, ExtensionCall], followed: ExtendedChannels | None) -> None:
        self.outside = calls
        self._followed = followed

    @property
    def alone(self) -> NodeExtensions:
        return NodeExtensions(self.outside, None)

    def guests(self, channels: ChannelRegistry, journal: Journal, /) -> Mapping[str, Participant]:
        if self._followed is None:
            return {}
        self._followed.attach(channels)
        return self._followed.guests(partial(note_delivered, journal))


def extending(extensions: LoadedExtensions, bus: Bus, tasks: TaskGroup) -> NodeExtensions:
    """What extensions do in sessions, in `tasks`."""
    followed = ExtendedChannels(extensions.channels, bus)
    tasks.start_soon(followed.run)
    return NodeExtensions(extensions.calls, followed)
