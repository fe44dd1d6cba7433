"""The channels by which the agents and people of a session reach each other."""

from __future__ import annotations

from runtime.agents.registry import AgentRegistry
from runtime.channels.channel import Channel, Channels
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Acknowledgements
from runtime.core.ids import ANYONE, AgentId, MeetingId, ParticipantId
from runtime.execution.speech.targets import Target
from runtime.meetings.showing import OpenToPeople
from runtime.tape.facts.meetings import MeetingCreated
from runtime.tape.facts.registry import hears
from runtime.tape.journal import Journal


class SessionChannels:
    """The channels of one session: each created when first needed, that of a meeting with the meeting."""

    def __init__(
        self, journal: Journal, agents: AgentRegistry, channels: Channels, open_to_people: OpenToPeople
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._channels = channels
        self._open_to_people = open_to_people

    @property
    def acknowledgements(self) -> Acknowledgements:
        return self._channels.acknowledgements

    def queue(self, agent: AgentId) -> MessageQueue:
        """The queue from which an agent's playbooks read."""
        return self._agents.get(agent).queue

    def channel(self, agent: AgentId, target: Target) -> Channel:
        """The channel from `agent` to `target`."""
        return (
            self.direct(agent, target.recipient or ANYONE) if target.meeting is None else self.meeting(target.meeting)
        )

    @hears(MeetingCreated)
    def noted(self, fact: MeetingCreated) -> None:
        """A meeting has its channel from its beginning, before anybody is invited."""
        self.meeting(fact.id)

    def direct(self, one: ParticipantId, other: ParticipantId) -> Channel:
        """The channel between two agents or people."""
        return self._channels.direct(self._agents.participant(one), self._agents.participant(other))

    def meeting(self, meeting: str) -> Channel:
        """The channel of a meeting. It includes those who have joined and, where people look on, their display."""
        known = self._journal.state.meetings[meeting]
        present = [self._agents.participant(who) for who in known.joined]
        present += [self._agents.human] if not known.people and self._open_to_people(known) else []
        channel = self._channels.meeting(MeetingId(known.id), present)
        here = {participant.id for participant in present}
        for participant in channel.participants:
            if participant.id not in here:
                channel.remove_participant(participant.id)
        return channel
