"""The assembly of one session in memory: its parts, made and connected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anyio.abc import TaskGroup

from runtime.agents.continuity import Continuity
from runtime.agents.delivery_handlers import DeliveryHandlers
from runtime.agents.library import Library
from runtime.agents.supervisor import Supervisor
from runtime.execution.calls.agents import Company
from runtime.execution.calls.artifacts import ArtifactCalls
from runtime.execution.calls.ask import Questions
from runtime.execution.calls.builtins import Builtins
from runtime.execution.calls.files import FileCalls
from runtime.execution.calls.log import LogCalls
from runtime.execution.calls.program_files import ProgramFiles
from runtime.execution.calls.reminders import Reminders
from runtime.execution.calls.shared import SharedCalls
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.events import FrameEvents
from runtime.execution.frames.step_watcher import StepWatcher, Watched
from runtime.execution.host import Host
from runtime.execution.speech.pages import Pages
from runtime.execution.triggers.kinds import times_of
from runtime.execution.triggers.triggers import CallTriggers, Handlers, VariableRules
from runtime.language.program import Program
from runtime.llm.reading_ahead import ReadingAhead
from runtime.sessions.commands.fork import Forks
from runtime.sessions.commands.merge import Merge
from runtime.sessions.commands.session_commands import SessionCommands
from runtime.sessions.commands.undo import Undo
from runtime.sessions.inbound.binding import Binding
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.inbound.participants import Participants
from runtime.sessions.meetings.lost_places import LostPlaces
from runtime.sessions.meetings.places import MeetingPlaces
from runtime.sessions.meetings.reports import MeetingReports
from runtime.sessions.node_context import NodeContext
from runtime.sessions.own_events import OwnEvents
from runtime.sessions.tasks.parts import SessionTasks
from runtime.stores.inbox import Inbox
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.content import Content
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts that a session itself turns to."""

    pages: Pages
    supervisor: Supervisor
    builtins: Builtins
    questions: Questions
    intake: EventHandler
    commands: SessionCommands
    tasks: SessionTasks
    own_events: OwnEvents
    reminders: Reminders
    continuity: Continuity
    undo: Undo
    forks: Forks
    places: MeetingPlaces
    minutes: MeetingReports
    watcher: StepWatcher | None
    logs: LogCalls


Hearer = Callable[[Content], None]
"""A listener to every fact."""


def assembled(
    record: SessionRecord, program: Program, journal: Journal, tasks: TaskGroup, around: NodeContext, inbox: Inbox
) -> Assembly:
    """All parts of a session, before any agent lives."""
    pages = Pages(journal, around.outbox, record.address, tasks, around.bus, around.texts)
    supervisor = Supervisor(program, journal, pages, tasks, around.clock, around.bus)
    supervisor.connect(around.mailboxes, around.extended)
    builtins = Builtins(journal, pages, supervisor, supervisor, around.clock, around.bus)
    questions = Questions(journal, pages, builtins)
    busy = around.busy.get(record.program, "queue")
    intake = EventHandler(
        *(journal, supervisor, pages, questions),
        binding=Binding(journal, supervisor.humans, supervisor.classes(), around.clock),
        busy=busy,
    )
    pages.moves = LostPlaces(journal, pages, questions, around.bus).moves
    places = MeetingPlaces(record, journal, pages, around, inbox)
    minutes = MeetingReports(program, journal, pages, around.texts, around.meetings)
    watcher = None if around.debugger is None else around.debugger(Watched(record.address.key, program, journal))

    frames = builtins.events = FrameEvents(journal, around.bus, conversation=record.address.key, program=record.program)
    session_tasks = SessionTasks(record, program, journal, supervisor, builtins, around).connected(inbox)
    hearers: list[Hearer] = [frames.noted, intake.noted, builtins.utterances.receipts.noted]
    hearers += [builtins.utterances.delivery.noted, lambda _: places.noted(), minutes.noted]
    hearers += [lambda fact: reminders.noted(fact), *([] if watcher is None else [watcher.noted]), session_tasks.noted]
    journal.watch = _telling(hearers)
    times = {spec.name: planned for spec in program.agents if (planned := times_of(spec))}
    reminders = Reminders(journal, supervisor.remind, around.clock, times)
    company = Company(journal, supervisor, program)
    artifacts = ArtifactCalls(journal)
    calls = {
        **builtins.table(),
        **questions.table(),
        **reminders.table(),
        **supervisor.meeting_host.calls(),
        **company.table(),
    }
    logs = LogCalls(journal, around.bus, record.program)
    tables = (SharedCalls(journal), artifacts, ProgramFiles(program, journal), logs, session_tasks.calls)
    calls |= {name: builtin for table in tables for name, builtin in table.table().items()}
    if around.files is not None:
        calls |= FileCalls(journal, pages, record.address, around.files).table()
    host = Host(journal, pages, supervisor, tasks, calls, builtins.at_once())
    host.events, host.watcher = frames, watcher
    company.equip(host)
    journal.busy = host.busy
    machine = ExecutionContext(
        program,
        journal,
        host,
        builtins,
        pages,
        around.sandbox,
        around.llm if watcher is None else ReadingAhead(around.llm, tasks),
        around.clock,
        around.bus,
        may_ask=lambda person: around.allowance(session_tasks.payer, person),
        steers=busy == "steer",
        servers=around.servers,
        transcript_chars=around.transcript_chars,
        watcher=watcher,
        alone=around.questions_alone,
        calls=around.calls,
    )
    library = Library(program, machine, supervisor.meeting_host)
    supervisor.equip(library, host)
    builtins.utterances.delivery.handlers = DeliveryHandlers(program, library, host, supervisor)
    supervisor.meeting_host.equip(library, questions, places, minutes.open_to_people, host)
    handlers = Handlers(journal, host, supervisor, around.bus)
    builtins.on_trigger = handlers.due
    _connect_triggers(program, journal, handlers, builtins, artifacts, host)
    return Assembly(
        pages,
        supervisor,
        builtins,
        questions,
        intake,
        SessionCommands(program, journal, supervisor, pages, intake, around),
        session_tasks,
        OwnEvents(
            pages,
            Merge(record, journal, around, inbox),
            Participants(journal, supervisor, pages, builtins.utterances.delivery, around.clock),
            session_tasks,
        ),
        reminders,
        Continuity(program, library, supervisor, journal),
        Undo(record, journal, supervisor, pages, intake, around),
        Forks(record, journal, around, inbox),
        places,
        minutes,
        watcher,
        logs,
    )


def _telling(hearers: Sequence[Hearer]) -> Hearer:
    def tell(fact: Content) -> None:
        for hear in hearers:
            hear(fact)

    return tell


def _connect_triggers(
    program: Program, journal: Journal, handlers: Handlers, builtins: Builtins, artifacts: ArtifactCalls, host: Host
) -> None:
    """Have variables and calls looked at for what they start, wherever they come from."""
    agents = {spec.name: spec for spec in program.agents}
    variables = VariableRules(agents, journal, handlers)
    builtins.on_variable = variables.update
    artifacts.equip(variables)
    host.fired_by = variables.fired_by
    host.around = CallTriggers(agents, handlers).run
