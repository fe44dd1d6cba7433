"""The channels of one session, each made when it is first needed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

from anyio.abc import TaskGroup

from runtime.bus import Bus
from runtime.channels.acknowledgements import Acknowledgements
from runtime.channels.channel import Channel
from runtime.channels.participant import Participant
from runtime.core.clock import SystemClock
from runtime.core.ids import ChannelId, MeetingId, direct_channel_id, meeting_channel_id
from runtime.events.channels import ChannelCreated, WatcherFailed

OnCreated = Callable[[Channel], Awaitable[None] | None]

OPENING_LIMIT_S = 5.0
"""The time for which the callbacks for a new channel may delay its first message."""


class Channels:
    """One channel for any two, whoever speaks first, and one for each meeting.

    The callbacks of `on_created` get each channel once, before anything is said in it; what they raise is counted in
    `failures` and stops nobody. What an async one returns is awaited in `tasks`, and who speaks waits for it
    in `Channel.opened`.
    """

    def __init__(
        self, bus: Bus, acknowledgements: Acknowledgements | None = None, tasks: TaskGroup | None = None
    ) -> None:
        self._bus = bus
        self._tasks = tasks
        self.acknowledgements = acknowledgements or Acknowledgements(SystemClock())
        self._channels: dict[ChannelId, Channel] = {}
        self._on_created: list[OnCreated] = []
        self.failures = 0

    def on_created(self, callback: OnCreated) -> None:
        """Call `callback` with each channel that is created from now on. Adding it twice changes nothing."""
        if callback not in self._on_created:
            self._on_created.append(callback)

    def get(self, channel_id: ChannelId) -> Channel | None:
        """The channel with that id; None if there is none yet."""
        return self._channels.get(channel_id)

    def direct(self, one: Participant, other: Participant) -> Channel:
        """The channel between two participants, which may be the same one twice."""
        channel_id = direct_channel_id(one.id, other.id)
        return self._channels.get(channel_id) or self._create(channel_id, (one, other))

    def meeting(self, meeting_id: MeetingId, participants: Sequence[Participant]) -> Channel:
        """The channel of a meeting. `participants` who are not in it yet are added."""
        channel_id = meeting_channel_id(meeting_id)
        channel = self._channels.get(channel_id)
        if channel is None:
            return self._create(channel_id, participants)
        for participant in participants:
            channel.add_participant(participant)
        return channel

    def _create(self, channel_id: ChannelId, participants: Sequence[Participant]) -> Channel:
        channel = self._channels[channel_id] = Channel(channel_id, participants, self._bus, self.acknowledgements)
        for callback in tuple(self._on_created):
            try:
                self._prepare(channel, callback(channel))
            except Exception as error:  # noqa: BLE001 - who watches must not harm who speaks
                self.failures += 1
                self._bus.publish(WatcherFailed(f"{type(error).__name__}: {error}", channel_id))
        self._bus.publish(ChannelCreated(channel_id, len(channel.participants)))
        return channel

    def _prepare(self, channel: Channel, preparation: Awaitable[None] | None) -> None:
        if not inspect.isawaitable(preparation):
            return
        if self._tasks is None:
            raise RuntimeError("an async callback needs the task group of its session")
        self._tasks.start_soon(channel.prepare, preparation, channel.hold(), OPENING_LIMIT_S)
