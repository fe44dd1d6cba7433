"""The assembly of one session in memory: its parts, each made complete, in the order of dependency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.agents.invitations import HumanAttendees, SessionInvitations
from runtime.agents.library import PlaybookLibrary
from runtime.agents.loops import AgentLoops, VersionContinuity
from runtime.agents.meeting_host import MeetingHost, SessionAttendance
from runtime.agents.registry import AgentRegistry, MessageDispatcher, SessionChannels
from runtime.channels.channel import ChannelRegistry
from runtime.channels.mailbox import NoMailboxes
from runtime.channels.participant import MessageAcknowledgements
from runtime.execution.calls.agents import AgentCalls
from runtime.execution.calls.artifacts import ArtifactCalls, ProgramFiles
from runtime.execution.calls.ask import SessionQuestions
from runtime.execution.calls.builtins import BuiltinCalls, LogCalls
from runtime.execution.calls.meetings import MeetingCalls
from runtime.execution.calls.reminders import SessionReminders, Times, ZoneOf
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.outcomes import FrameEvents
from runtime.execution.frames.signatures import calls_of
from runtime.execution.host import SessionHost
from runtime.execution.prompt.with_files import FileContents, WithFiles
from runtime.execution.session_context import SessionContext, StepWatcher, WatchedSession
from runtime.execution.speech.delivery import SpeechDelivery
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.receipts import SpeechReceipts
from runtime.execution.speech.utterances import SessionUtterances
from runtime.execution.triggers.kinds import times_of
from runtime.execution.triggers.triggers import CallTriggers, TriggerHandlers, VariableRules
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.llm.models import ReadingAhead
from runtime.meetings.meetings import SessionMeetings
from runtime.sessions.commands.alter import SessionAlterations
from runtime.sessions.commands.fork import SessionForks
from runtime.sessions.commands.meeting_commands import MeetingCommands
from runtime.sessions.commands.session_commands import SessionCommands
from runtime.sessions.commands.undo import SessionUndo, UndoneExchanges
from runtime.sessions.features import SessionPart, SessionParts
from runtime.sessions.inbound.arrivals import HumanBinding, SessionArrivals
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.inbound.open_questions import OpenQuestions
from runtime.sessions.inbound.participants import SessionParticipants
from runtime.sessions.meetings.places import MeetingPlaces, MeetingReports
from runtime.sessions.node_context import NodeContext
from runtime.sessions.succession import SessionSuccession
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import TIMER, SessionRecord
from runtime.tape.journal import Journal


class Assembly(Struct, frozen=True):
    """The parts that a session itself turns to."""

    pages: SessionPages
    loops: AgentLoops
    builtins: BuiltinCalls
    questions: SessionQuestions
    event_handler: EventHandler
    arrivals: SessionArrivals
    commands: SessionCommands
    parts: Sequence[SessionPart]
    """What features do in the session, and those of the core that take part in the same way."""
    continuity: VersionContinuity
    undo: SessionUndo
    forks: SessionForks
    watcher: StepWatcher | None
    going_on: Sequence[Callable[[TaskGroup], None]]
    """What begins what goes on by itself, where the program can."""

    def start(self, tasks: TaskGroup) -> None:
        """Begin what goes on beside the session, in `tasks`."""
        for part in self.parts:
            part.start(tasks)

    async def restored(self, succession: SessionSuccession | None) -> None:
        """The tapes were read."""
        for part in self.parts:
            await part.restored(succession)

    async def settle(self) -> None:
        """Return when others have what they are to have, and people have heard what is to be spoken."""
        for part in self.parts:
            await part.all_posted()
        for part in self.parts:
            await part.settled()

    async def concerned(self, event: InboxEvent) -> SessionPart | None:
        """Who takes an event that is for no agent."""
        for part in self.parts:
            if await part.concerns(event):
                return part
        return None

    def is_own(self, event: InboxEvent) -> bool:
        """Whether nobody has done an event: a time has come, or it is of another session."""
        return any(event.kind in part.kinds for part in self.parts)

    def take(self, event: InboxEvent) -> None:
        """Note what is made of an event in the commit that takes it."""
        for part in self.parts:
            part.take(event)

    async def take_back(self, undoing: UndoneExchanges) -> None:
        """Take back what came of exchanges."""
        await self.undo.withdraw(undoing)
        for part in self.parts:
            part.undoing(undoing.seq)

    async def close(self) -> None:
        """End what is under way: the session ends, or another goes on in its place."""
        for part in self.parts:
            await part.close()

    async def turned_away(self, event: InboxEvent) -> bool:
        """Whether what was done in a place is no business of the session; then it was answered there."""
        for part in self.parts:
            if (away := await part.turned_away(event)) is not None:
                return away
        return False


class _TimesThatCome(SessionPart):
    """Takes their events: what waits for a time knows it by the tape."""

    kinds = frozenset({TIMER})


def assembled(  # noqa: PLR0913 - the parts of a session
    record: SessionRecord,
    program: Program,
    journal: Journal,
    tasks: TaskGroup,
    around: NodeContext,
    inbox: Inbox,
    broken: Callable[[], str | None],
) -> Assembly:
    """All parts of a session, before any agent lives. `broken` says why its program cannot go on."""
    watcher = None if around.debugger is None else around.debugger(WatchedSession(record.address.key, program, journal))
    session = SessionContext(program, journal, tasks, around.clock, around.bus, watcher)

    # What people see, and who is there.
    pages = SessionPages(session, around.outbox, record.address, around.texts, around.task_places)
    meeting_reports = MeetingReports(program, journal, pages, around.texts, around.habits.meetings)
    channels = ChannelRegistry(around.bus, MessageAcknowledgements(around.clock), tasks)
    guests = {name: one for feature in around.features for name, one in feature.guests(channels, journal).items()}
    agents = AgentRegistry(program, journal, guests)
    mailboxes = next((feature.mailboxes for feature in around.features if feature.mailboxes is not None), NoMailboxes())
    dispatcher = MessageDispatcher(journal, around.bus, agents, channels, pages, mailboxes)
    conduits = SessionChannels(journal, agents, channels, meeting_reports.open_to_people)

    # What programs say and wait for.
    specs = {spec.name: spec for spec in program.agents}
    variables = VariableRules(specs, journal, TriggerHandlers(journal, around.bus))
    delivery = SpeechDelivery(session, pages, agents)
    receipts = SpeechReceipts(journal, pages.presence, channels.acknowledgements, around.clock)
    utterances = SessionUtterances(journal, around.bus, pages, conduits, agents, delivery, receipts)
    frame_events = FrameEvents(journal, around.bus, conversation=record.address.key, program=record.program)
    builtins = BuiltinCalls(session, pages, conduits, utterances, variables, frame_events)
    reminders = SessionReminders(journal, dispatcher.deliver, around.clock, _times(program), _zone_of(record, around))
    given = SessionParts(
        *(record, program, journal, tasks, around, inbox, pages, reminders, builtins, agents, dispatcher),
        lambda klass, playbook: library.find(klass, playbook),
        broken,
    )
    questions = SessionQuestions(journal, pages, builtins)
    attendance = SessionAttendance(program, journal, agents, dispatcher, pages, meeting_reports.open_to_people)
    meetings = SessionMeetings(journal, attendance, around.clock, around.bus)
    human_attendees = HumanAttendees(journal, meetings, conduits, pages, questions)
    invitations = SessionInvitations(session, agents, conduits, dispatcher, meetings, human_attendees)
    places = MeetingPlaces(given)
    meeting_host = MeetingHost(journal, agents, pages, places.open, meetings, invitations)

    # What executes playbooks.
    features = [one.session(given) for one in around.features]
    busy = around.habits.busy.get(record.program)
    contents = next((feature.contents for feature in features if feature.contents is not None), None)
    context = ExecutionContext(
        *(program, journal, tasks, around.clock, around.bus, watcher, builtins, pages, around.sandbox),
        _model(around, journal, contents, around.llm if watcher is None else ReadingAhead(around.llm, tasks)),
        may_ask=partial(_refusal, features),
        steers=busy == "steer",
        servers=around.tools.servers,
        tool_rules=around.tools.rules,
        transcript_chars=around.habits.transcript_chars,
        alone=around.habits.alone,
        contents=contents,
        model=around.habits.models.get(record.program, ""),
        calls={name: call for feature in around.features for name, call in feature.outside.items()},
        told=next((feature.told for feature in features if feature.told is not None), None),
    )
    library = PlaybookLibrary(context, agents, meeting_host)
    calls = calls_of(
        *(builtins, utterances, questions, reminders, LogCalls(journal, around.bus, record.program)),
        AgentCalls(journal, agents, variables.types, pages.all_shown),
        *(call for feature in features for call in feature.calls),
        *(ArtifactCalls(variables), ProgramFiles(program), MeetingCalls(journal, meetings, meeting_host.invite)),
    )
    host = SessionHost(
        session,
        pages,
        library.callee,
        calls,
        CallTriggers(specs, variables.handlers),
        variables,
        frame_events,
    )

    # Those who live, and those who turn to them.
    loops = AgentLoops(context, agents, dispatcher, library, host, meeting_host)
    open_questions, forks = OpenQuestions(given, questions), SessionForks(given)
    event_handler = EventHandler(
        *(journal, dispatcher, human_attendees, pages, open_questions),
        loops if busy == "interrupt" else None,
    )
    binding = HumanBinding(journal, agents.humans, agents.classes(), around.clock, pages.tell)
    parts = [
        *(*features, open_questions, forks),
        *(SessionParticipants(given, conduits, meetings, delivery), places, meeting_reports),
        *(MeetingCommands(given, meeting_host, human_attendees), SessionAlterations(given), _TimesThatCome(given)),
    ]
    journal.noted.subscribe(
        *(conduits.noted, loops.noted, frame_events.noted, pages.signs.noted, event_handler.noted),
        *(receipts.noted, delivery.noted),
        *(places.noted, questions.noted, meeting_reports.noted, reminders.noted),
        *(() if watcher is None else (watcher.noted,)),
        open_questions.noted,
        *(listener for feature in features for listener in feature.listeners),
    )
    return Assembly(
        pages,
        loops,
        builtins,
        questions,
        event_handler,
        SessionArrivals(journal, pages, around.past, binding, parts),
        SessionCommands(context, loops, event_handler, binding, parts),
        parts,
        VersionContinuity(context, library, host, loops, meeting_host),
        SessionUndo(given, loops, event_handler, places),
        forks,
        watcher,
        (reminders.start, invitations.start),
    )


def _model(around: NodeContext, journal: Journal, contents: FileContents | None, llm: LLMClient) -> LLMClient:
    """The model, which is given the files that its prompts name."""
    return llm if contents is None else WithFiles(llm, journal, contents, around.habits.transcript_chars)


async def _refusal(features: Sequence[SessionPart], person: str | None) -> str | None:
    for one in features:
        if (why := await one.may_ask(person)) is not None:
            return why
    return None


def _times(program: Program) -> Times:
    """The triggers at times, by agent class."""
    return {spec.name: planned for spec in program.agents if (planned := times_of(spec))}


def _zone_of(record: SessionRecord, around: NodeContext) -> ZoneOf | None:
    zones = (one.zone_of(record.address) for one in around.features)
    return next((zone for zone in zones if zone is not None), None)
