"""The assembly of one session in memory: its parts, each made complete, in the order of dependency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from anyio.abc import TaskGroup

from runtime.agents.attendance import SessionAttendance
from runtime.agents.continuity import Continuity
from runtime.agents.dispatcher import Dispatcher
from runtime.agents.human_attendees import HumanAttendees
from runtime.agents.invitations import Invitations
from runtime.agents.library import Library
from runtime.agents.loops import AgentLoops
from runtime.agents.meeting_host import MeetingHost
from runtime.agents.registry import AgentRegistry
from runtime.agents.session_channels import SessionChannels
from runtime.channels.acknowledgements import Acknowledgements
from runtime.channels.participant import Participant
from runtime.channels.registry import Channels
from runtime.core.address import session_of
from runtime.execution.calls.agents import AgentCalls
from runtime.execution.calls.artifacts import ArtifactCalls
from runtime.execution.calls.ask import Questions
from runtime.execution.calls.builtins import Builtins
from runtime.execution.calls.describing import DescribeCalls
from runtime.execution.calls.files import FileCalls, ProgramFiles
from runtime.execution.calls.meetings import MeetingCalls
from runtime.execution.calls.publishing import LogCalls, PublishCalls
from runtime.execution.calls.reminders import Reminders, Times, ZoneOf
from runtime.execution.calls.tasks import TaskCalls
from runtime.execution.calls.telling import TellCalls
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.events import FrameEvents
from runtime.execution.frames.signatures import calls_of
from runtime.execution.frames.step_watcher import StepWatcher, Watched
from runtime.execution.host import Host, Triggers
from runtime.execution.prompt.with_files import WithFiles
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.delivery import SpeechDelivery
from runtime.execution.speech.pages import Pages
from runtime.execution.speech.receipts import note_delivered
from runtime.execution.speech.utterances import Utterances
from runtime.execution.triggers.kinds import times_of
from runtime.execution.triggers.triggers import CallTriggers, Handlers, VariableRules
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.llm.reading_ahead import ReadingAhead
from runtime.meetings.meetings import Meetings
from runtime.sessions.commands.alter import Alterations
from runtime.sessions.commands.fork import Forks
from runtime.sessions.commands.meeting_commands import MeetingCommands
from runtime.sessions.commands.merge import Merge
from runtime.sessions.commands.session_commands import SessionCommands
from runtime.sessions.commands.undo import Undo, Undoing
from runtime.sessions.features import KeepsZones, SessionPart, SessionParts
from runtime.sessions.inbound.binding import Binding
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.inbound.open_questions import OpenQuestions
from runtime.sessions.inbound.participants import Participants
from runtime.sessions.inbound.received_files import ReceivedFiles
from runtime.sessions.inbound.spoken_words import SpokenWords
from runtime.sessions.meetings.places import MeetingPlaces
from runtime.sessions.meetings.reports import MeetingReports
from runtime.sessions.node_context import NodeContext
from runtime.sessions.own_events import OwnEvents
from runtime.sessions.published import PublishedEvents
from runtime.sessions.spoken_answers import SpokenAnswers
from runtime.sessions.tasks.orders import TaskOrders
from runtime.sessions.tasks.questions import QuestionThreads, TaskQuestions
from runtime.sessions.tasks.work import TaskWork
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.journal import Journal


class Posts(Protocol):
    """Brings what is owed to others, in the background."""

    def start(self, tasks: TaskGroup) -> None: ...

    async def all_posted(self) -> None:
        """Return when nothing is owed any more. Needs `start`."""
        ...


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts that a session itself turns to."""

    pages: Pages
    loops: AgentLoops
    invitations: Invitations
    builtins: Builtins
    questions: Questions
    event_handler: EventHandler
    binding: Binding
    received_files: ReceivedFiles
    commands: SessionCommands
    reminders: Reminders
    features: Sequence[SessionPart]
    continuity: Continuity
    undo: Undo
    forks: Forks
    places: MeetingPlaces
    meeting_reports: MeetingReports
    own_events: OwnEvents
    watcher: StepWatcher | None
    logs: LogCalls
    posts: Sequence[Posts]
    """What brings to people, tasks, programs that begin and stores what they are to have."""

    def start_posting(self, tasks: TaskGroup) -> None:
        for posts in self.posts:
            posts.start(tasks)

    async def all_posted(self) -> None:
        """Return when they have it, and people have heard what is to be spoken."""
        for posts in self.posts:
            await posts.all_posted()

    def take(self, event: InboxEvent) -> None:
        """Note what features make of an event in the commit that takes it."""
        for feature in self.features:
            feature.take(event)

    async def take_back(self, undoing: Undoing) -> None:
        """Take back what came of exchanges."""
        await self.undo.withdraw(undoing)
        for feature in self.features:
            feature.undoing(undoing.seq)

    async def close(self) -> None:
        """End what features have under way: the session ends, or another goes on in its place."""
        for feature in self.features:
            await feature.close()

    async def turned_away(self, event: InboxEvent) -> bool:
        """Whether what was done in a place is no business of the session; then it was answered there."""
        below_question = await self.own_events.questions.threads.turned_away(event)
        return await self.places.turned_away(event) if below_question is None else below_question


def assembled(
    record: SessionRecord, program: Program, journal: Journal, tasks: TaskGroup, around: NodeContext, inbox: Inbox
) -> Assembly:
    """All parts of a session, before any agent lives."""
    watcher = None if around.debugger is None else around.debugger(Watched(record.address.key, program, journal))
    session = SessionContext(program, journal, tasks, around.clock, around.bus, watcher)

    # What people see, and who is there.
    pages = Pages(session, around.outbox, record.address, around.texts, around.task_places)
    places = MeetingPlaces(record, journal, pages, around, inbox)
    meeting_reports = MeetingReports(program, journal, pages, around.texts, around.meetings)
    channels = Channels(around.bus, Acknowledgements(around.clock), tasks)
    agents = AgentRegistry(program, journal, pages, _guests(channels, around, journal))
    dispatcher = Dispatcher(session, agents, channels, pages, around.mailboxes)
    conduits = SessionChannels(journal, agents, channels, meeting_reports.open_to_people)

    # What programs say and wait for.
    specs = {spec.name: spec for spec in program.agents}
    variables = VariableRules(specs, journal, Handlers(journal, around.bus))
    delivery = SpeechDelivery(session, pages, agents)
    utterances = Utterances(session, pages, conduits, agents, delivery)
    frame_events = FrameEvents(journal, around.bus, conversation=record.address.key, program=record.program)
    builtins = Builtins(session, pages, conduits, utterances, variables, frame_events)
    questions = Questions(journal, pages, builtins)
    attendance = SessionAttendance(program, journal, agents, dispatcher, pages, meeting_reports.open_to_people)
    meetings = Meetings(journal, attendance, around.clock, around.bus)
    human_attendees = HumanAttendees(journal, meetings, conduits, pages, questions)
    invitations = Invitations(session, agents, conduits, dispatcher, meetings, human_attendees)
    meeting_host = MeetingHost(journal, agents, pages, places, meetings, invitations)

    # What executes playbooks.
    reminders = Reminders(journal, dispatcher.deliver, around.clock, _times(program), _zone_of(record, around))
    features = [one.session(SessionParts(record, program, journal, tasks, pages, reminders)) for one in around.features]
    context = ExecutionContext(
        *(program, journal, tasks, around.clock, around.bus, watcher, builtins, pages, around.sandbox),
        _model(around, journal, around.llm if watcher is None else ReadingAhead(around.llm, tasks)),
        may_ask=lambda person: task_work.budget.may_ask(person, record.address),
        steers=around.busy_of(record.program) == "steer",
        servers=around.servers,
        tool_rules=around.tool_rules,
        transcript_chars=around.transcript_chars,
        alone=around.questions_alone,
        contents=around.intake,
        model=around.models.get(record.program, ""),
        calls=around.calls,
        told=next((feature.told for feature in features if feature.told is not None), None),
    )
    library = Library(context, agents, meeting_host)
    logs = LogCalls(journal, around.bus, record.program)
    task_calls = TaskCalls(session, builtins, record, around.tasks, around.task_places)
    calls = calls_of(
        journal,
        *(
            builtins,
            utterances,
            questions,
            reminders,
            logs,
            AgentCalls(journal, agents, program, pages.all_shown),
            task_calls,
            TellCalls(journal, task_calls, is_task=session_of(record.address) is not None),
        ),
        *(call for feature in features for call in feature.calls),
        *(ArtifactCalls(journal, variables), ProgramFiles(program)),
        PublishCalls(journal, record.program, around.events),
        MeetingCalls(journal, meetings, meeting_host.invite),
        *(() if around.files is None else (FileCalls(journal, pages, record.address, around.files),)),
        *(
            ()
            if around.intake is None
            else (DescribeCalls(journal, record.id, record.address, around.describer, around.intake),)
        ),
    )
    host = Host(
        session,
        pages,
        library.callee,
        calls,
        Triggers(CallTriggers(specs, variables.handlers).run, variables.fired_by),
        frame_events,
    )

    # Those who live, and those who turn to them.
    loops = AgentLoops(context, agents, dispatcher, library, host, meeting_host)
    open_questions = OpenQuestions(record, journal, pages, questions, around.places)
    event_handler = EventHandler(
        *(journal, dispatcher, human_attendees, pages, open_questions),
        loops if around.busy_of(record.program) == "interrupt" else None,
    )
    binding = Binding(journal, agents.humans, agents.classes(), around.clock, pages.tell)
    spoken_answers = SpokenAnswers(record, program, journal, pages, around.speaker, around.files)
    task_orders = TaskOrders(record, journal, around, inbox, dispatcher)
    published = PublishedEvents(record, journal, around.events, around.clock)
    task_work = TaskWork(session, agents, library, builtins, around, inbox)
    task_questions = TaskQuestions(journal, around, inbox, QuestionThreads(record, journal, pages, around, inbox))
    journal.noted.subscribe(
        *(conduits.noted, loops.noted, frame_events.noted, pages.signs.noted, event_handler.noted),
        *(utterances.receipts.noted, delivery.noted),
        *(places.noted, questions.noted, meeting_reports.noted, reminders.noted),
        *(() if watcher is None else (watcher.noted,)),
        *(task_calls.noted, task_orders.noted, task_orders.words.noted, task_work.noted, task_questions.noted),
        *(spoken_answers.noted, open_questions.noted, published.noted),
        *(listener for feature in features for listener in feature.listeners),
    )
    return Assembly(
        pages,
        loops,
        invitations,
        builtins,
        questions,
        event_handler,
        binding,
        ReceivedFiles(
            *(record.id, journal, around.past, pages, around.intake, around.describer, binding),
            SpokenWords(record.id, journal, pages, around.listener, around.texts),
            spoken_answers,
        ),
        SessionCommands(
            *(context, loops, event_handler, binding),
            {
                **MeetingCommands(session, agents, meeting_host, human_attendees, pages).table(),
                **{kind: carry for feature in features for kind, carry in feature.commands.items()},
                **Alterations(record, program, journal, pages).table(),
            },
        ),
        reminders,
        features,
        Continuity(context, library, host, loops, meeting_host),
        Undo(record, journal, loops, pages, event_handler, around),
        Forks(record, journal, around, inbox),
        places,
        meeting_reports,
        OwnEvents(
            pages,
            Merge(record, journal, around, inbox),
            Participants(session, agents, conduits, meetings, pages, delivery),
            task_orders,
            task_work,
            task_questions,
        ),
        watcher,
        logs,
        (spoken_answers, task_orders, *features, published, open_questions),
    )


def _model(around: NodeContext, journal: Journal, llm: LLMClient) -> LLMClient:
    """The model, which is given the files that its prompts name."""
    if around.intake is None:
        return llm
    return WithFiles(llm, journal, around.intake, around.sight, around.transcript_chars)


def _times(program: Program) -> Times:
    """The triggers at times, by agent class."""
    return {spec.name: planned for spec in program.agents if (planned := times_of(spec))}


def _zone_of(record: SessionRecord, around: NodeContext) -> ZoneOf | None:
    return next((one.zone_of(record.address) for one in around.features if isinstance(one, KeepsZones)), None)


def _guests(channels: Channels, around: NodeContext, journal: Journal) -> Mapping[str, Participant]:
    """The participants that extensions add, which follow the channels from now on."""
    if around.extended is None:
        return {}
    around.extended.attach(channels)
    return around.extended.guests(partial(note_delivered, journal))
