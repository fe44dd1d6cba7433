"""The channels by which the agents and people of a session reach each other."""

from __future__ import annotations

from runtime.agents.registry import AgentRegistry
from runtime.channels.acknowledgements import Acknowledgements
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.channels.registry import Channels
from runtime.core.ids import MeetingId
from runtime.execution.speech.targets import Target
from runtime.meetings.showing import OpenToPeople
from runtime.tape.journal import Journal


class SessionChannels:
    """The channels of one session, each made when it is first needed."""

    def __init__(
        self, journal: Journal, agents: AgentRegistry, channels: Channels, open_to_people: OpenToPeople
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._channels = channels
        self._open_to_people = open_to_people

    @property
    def acknowledgements(self) -> Acknowledgements:
        """The acknowledgements in the channels."""
        return self._channels.acknowledgements

    def queue(self, agent: str) -> MessageQueue:
        """The queue from which the playbooks of an agent read."""
        return self._agents.get(agent).queue

    def channel(self, agent: str, target: Target) -> Channel:
        """The channel by which `agent` reaches `target`."""
        return self.direct(agent, str(target.recipient)) if target.meeting is None else self.meeting(target.meeting)

    def direct(self, one: str, other: str) -> Channel:
        """The channel of two of the agents and people."""
        return self._channels.direct(self._agents.participant(one), self._agents.participant(other))

    def meeting(self, meeting: str) -> Channel:
        """The channel of the meeting of this id: in it is who has joined, and where people look on, their display."""
        known = self._journal.state.meetings[meeting]
        present = [self._agents.participant(who) for who in known.joined]
        present += [self._agents.human] if not known.people and self._open_to_people(known) else []
        channel = self._channels.meeting(MeetingId(known.id), present)
        here = {participant.id for participant in present}
        for participant in channel.participants:
            if participant.id not in here:
                channel.remove_participant(participant.id)
        return channel
