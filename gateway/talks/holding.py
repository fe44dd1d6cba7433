"""A talk that is held: a real session in memory, with people who speak when the agents have nothing more to say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeAlias

import anyio
from msgspec import Struct

from gateway.capabilities import tried
from gateway.extensions.node import extending
from gateway.feature import TriedGround
from gateway.talks import talk as forms
from gateway.talks.checks import fits
from gateway.talks.staging.answers import judged
from gateway.talks.staging.record import BeatRecord, EventTasks, SeenCall, SeenMessage, TalkScreen, orders_of, waits_in
from gateway.talks.staging.script import AnswerSource
from gateway.talks.staging.stage import (
    StoppingModel,
    StoppingSandbox,
    TalkClock,
    TalkFiles,
    TalkSeats,
    TalkStage,
    TalkStore,
    settle,
)
from gateway.talks.staging.tools import KeptTools, ReplayedServers
from runtime.bus import Bus
from runtime.core.address import Address, address_of
from runtime.core.errors import LLMError
from runtime.core.ids import SessionId
from runtime.events.frames import FrameOpened, LLMFailed, LLMRequested, SandboxFailed, StepExecuted
from runtime.events.sessions import PlaybookFailed, SessionFailed
from runtime.execution.calls.remote import with_calls
from runtime.language.program import Program
from runtime.language.remote import participant_of
from runtime.sessions.conversation import ConversationTask
from runtime.sessions.idle import RestingSessions
from runtime.sessions.node_context import NodeContext, ProgramHabits
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import PARTICIPANT, SESSION_COMMANDS, TASK, InboxEvent, shard_of
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Lease, LeaseHolder
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

HERE = Address("talk", "conversation")
SILENCE_S = 10.0
"""Before somebody speaks, nothing was said for so long."""

_MOST_MESSAGES = 200
"""A program that says more than this in one beat does not come to rest."""
_MOST_PASSED_S = 600.0
"""Nor does one that goes on by itself for so long, by the clock of the talk."""

_MOMENT_S = 0.02
_FOR_EVER_S = 1e12

_Failure: TypeAlias = PlaybookFailed | SessionFailed | LLMFailed | SandboxFailed
_FAILURES: Sequence[type[_Failure]] = (PlaybookFailed, SessionFailed, LLMFailed, SandboxFailed)


class Holding:
    def __init__(
        self,
        program: Program,
        talk: forms.TalkScript,
        head: forms.TalkHead,
        stage: TalkStage,
        answers: AnswerSource,
        tools: KeptTools | None = None,
    ) -> None:
        """`tools` are those of servers as they answered once; None: the servers themselves."""
        self._program = program
        self._talk = talk
        self._head = head
        self._stage = stage
        self._answers = answers
        self._tools = None if tools is None else ReplayedServers(tools, self._fault)
        self._clock = TalkClock(head.start)
        self._leases = MemoryLeaseStore(self._clock)
        self._inbox = MemoryInbox(self._leases)
        self._store = TalkStore(self._leases, self._inbox)
        self._bus = Bus(self._clock)
        self._beat = BeatRecord()
        self._private = len(talk.people) <= 1 and not head.group
        self._conversations: dict[str, _Here] = {}
        self._begun = EventTasks(self._store)
        self._sent = 0
        self._asker = ""
        self._agents: dict[str, str] = {}
        self._state = SessionState()
        self._folded: tuple[SessionId | None, int] = (None, 0)
        self.files = TalkFiles()
        self._played = {participant_of(spec): spec.name for spec in program.agents}
        self._seats = TalkSeats(lambda who, text: self._beat.letters.append((self._played.get(who, who), text)))
        for kind in _FAILURES:
            self._bus.hear(kind, self._note_failure)
        self._bus.hear(FrameOpened, self._note_call)
        self._bus.hear(StepExecuted, self._note_step)
        self._bus.hear(LLMRequested, self._note_question)
        self._bus.subscribe("*", lambda _: self._store.stir())
        answers.attach(lambda _: self._asker, self._fault)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        async with anyio.create_task_group() as self._tasks:
            self._screen = TalkScreen(self._note_message, tasks=self._tasks)
            self._around = self._context()
            await self._conversation(HERE)
            yield self
            self._tasks.cancel_scope.cancel()

    def _context(self) -> NodeContext:
        """The context of the talk's sessions."""
        stage, clock, bus, tasks = self._stage, self._clock, self._bus, self._tasks
        program, model = with_calls(self._program, stage.extensions.calls), StoppingModel(self._answers, clock)
        servers = tasks if self._tools is None else None
        tools = () if self._tools is None else (self._tools,)
        around = TriedGround(stage.settings, program, clock, model, bus, stage.texts, self.files, servers)
        return NodeContext(
            {program.name: program},
            self._store,
            self._screen,
            StoppingSandbox(stage.sandbox, clock),
            model,
            bus,
            resting=RestingSessions(idle_s=float("inf")),
            features=[*tried(around), self._seats, *tools, extending(stage.extensions, bus, tasks)],
            texts=stage.texts,
            habits=ProgramHabits(transcript_chars=stage.settings.limits.transcript_chars, alone=self._answers.alone),
        )

    async def hold(self, beat: forms.TalkTurn, record: BeatRecord, *, silence_s: float = SILENCE_S) -> None:
        """Do what a beat says; return when the agents have nothing more to say, not within `silence_s` either."""
        self._beat, self._store.ended = record, False
        self._answers.begin(beat.replies)
        act = beat.act
        match act:
            case None:
                await self._send("", kind="start")
            case forms.PersonLine():
                await self._say(act)
            case forms.PressedChoice():
                await self._press(act)
            case forms.TimePassed():
                await self._pass(act)
            case forms.PlayedAnswer():
                await self._play(act)
            case forms.ArrivingEvent():
                await self._arrive(act)
            case forms.ProgramAnswer():
                await self._answer(act)
        await self._rest(silence_s)
        record.seen.sort(key=lambda seen: seen.place)
        record.ended = self._store.ended
        state = await self._folded_state()
        variables: dict[str, dict[str, Any]] = {}
        for agent in state.agents.values():
            variables.setdefault(agent.klass, {}).update(agent.variables)
        record.variables = variables
        record.waits = waits_in(state, self._clock.now())
        record.results = await self._begun.results()
        if self._answers.judges and not record.fault:
            await self._judge(beat, record)

    async def _judge(self, beat: forms.TalkTurn, record: BeatRecord) -> None:
        said = [] if beat.act is None else [str(beat.act)]
        transcript = said + [f"{seen.who}: {seen.text}" for seen in record.seen]
        for fact in beat.expected:
            if isinstance(fact, forms.JudgedSentence):
                if fact.exact is not None and any(fits(fact.exact, seen) for seen in record.seen):
                    continue
                try:
                    record.verdicts[fact.line] = await judged(self._answers, fact.words, transcript)
                except LLMError as error:
                    record.verdicts[fact.line] = f"the judge could not be asked: {error}"

    # -- what people do

    async def _say(self, said: forms.PersonLine) -> None:
        command, _, argument = said.text.removeprefix("/").partition(" ")
        if said.text.startswith("/") and command in SESSION_COMMANDS:
            await self._send(argument.strip(), who=said.who, kind=command)
        else:
            await self._send(said.text, who=said.who, files=said.files)

    async def _press(self, pressed: forms.PressedChoice) -> None:
        offered = self._screen.offered
        found = next((seen for seen in reversed(offered) if pressed.label in seen.choices), None)
        if found is None:
            labels = ", ".join(offered[-1].choices) if offered else ""
            more = f"; offered are: {labels}" if labels else ": no question with choices was asked"
            self._fault(f"nobody offers “{pressed.label}”{more}")
            return
        await self._send(pressed.label, who=pressed.who, kind="choice", choice=found.choices[pressed.label])

    async def _pass(self, waited: forms.TimePassed) -> None:
        until_s = self._clock.monotonic() + (waited.seconds if waited.until is None else self._until(waited.until))
        while self._beat.fault == "" and (next_s := self._clock.next_s(within_s=until_s - self._clock.monotonic())):
            await self._clock.pass_to(next_s)
            await self._rest()
        await self._clock.pass_to(until_s)

    def _until(self, due: datetime) -> float:
        """The seconds until a time; one of the year 1 is a time of the day."""
        now = self._clock.now()
        if due.year == 1:
            due = now.replace(hour=due.hour, minute=due.minute, second=due.second, microsecond=0)
            due += timedelta(days=due <= now)
        left_s = (due - now).total_seconds()
        if left_s < 0:
            self._fault(f"{due:%Y-%m-%d %H:%M} has been: it is {now:%Y-%m-%d %H:%M:%S} already")
        return max(0.0, left_s)

    async def _play(self, played: forms.PlayedAnswer) -> None:
        name = next((participant for participant, agent in self._played.items() if agent == played.who), None)
        acts = self._seats.answered(name or "", played.text, f"{self._sent}")
        if not acts:
            self._fault(f"{played.who} has heard nothing yet that it could answer")
        for act in acts:
            await self._send(str(act), kind=PARTICIPANT)

    async def _arrive(self, arrived: forms.ArrivingEvent) -> None:
        """Have executed what begins on an event, each in a session of its own, as a gateway does."""
        now, limits = self._clock.now(), TaskLimits()
        orders = orders_of(self._program, arrived, f"{self._sent + 1}", now, limits.within_s)
        for task, order in orders:
            self._begun.sources[task] = arrived.source
            await self._send(str(order), kind=TASK, at=address_of(task))

    async def _answer(self, answered: forms.ProgramAnswer) -> None:
        asking = await self._begun.asking(answered.source)
        if asking is None:
            self._fault("nothing that an event began asks anything" + f" of {answered.source}" * bool(answered.source))
            return
        task, question, who = asking
        await self._send(answered.text, who=who, choice=f"{question}.", at=address_of(task))

    async def _send(
        self,
        text: str,
        *,
        who: str = "",
        kind: str = "message",
        choice: str | None = None,
        files: Sequence[Path] = (),
        at: Address = HERE,
    ) -> None:
        self._sent += 1
        name = who or (self._talk.people or ("Ada",))[0]
        event = InboxEvent(
            str(self._sent),
            at,
            self._head.people.get(name) or f"talk:{name}",
            name,
            text,
            self._clock.now(),
            kind=kind,
            attachments=tuple([await self.files.sent(file) for file in files]),
            message_id=f"m{self._sent}",
            choice=choice,
            private=self._private,
            program=self._program.name,
        )
        await self._inbox.add(event)
        here = await self._conversation(at)
        for entry in await self._inbox.read({here.lease.shard: here.read}, wait_s=0):
            here.read = entry.entry_id
            if entry.event.address == at:
                here.conversation.backlog.put(entry)
        if not here.lives:
            here.lives = True
            self._tasks.start_soon(self._live, here)
        await settle()

    async def _conversation(self, at: Address) -> _Here:
        """The conversation of an address, which begins when it is first asked for."""
        here = self._conversations.get(at.key)
        if here is None:
            shard = shard_of(at.key)
            lease = next((one.lease for one in self._conversations.values() if one.lease.shard == shard), None)
            if lease is None:
                token = await self._leases.acquire(f"shard:{shard}", LeaseHolder("talk", ttl_s=_FOR_EVER_S))
                assert token is not None  # nobody else has this store
                lease = Lease(shard, token)
            conversation = ConversationTask(shard, at.key, lambda: lease, self._around, self._inbox)
            here = self._conversations[at.key] = _Here(conversation, lease)
        return here

    async def _live(self, here: _Here) -> None:
        """A conversation, until nothing is going on in it and nothing can come by itself."""
        await here.conversation.run(None)
        here.lives = False
        self._store.stir()

    # -- until nobody has more to say

    async def _rest(self, silence_s: float = 0.0) -> None:
        """Return when nothing goes on, and nothing would within `silence_s`."""
        began_s = self._clock.monotonic()
        while not self._beat.fault:
            stirred = self._store.stirred
            if len(self._beat.seen) > _MOST_MESSAGES:
                self._fault(f"it does not come to rest: more than {_MOST_MESSAGES} messages")
            elif not all(here.conversation.quiet for here in self._conversations.values()):
                await self._work(stirred)
            elif silence_s and (next_s := self._clock.next_short_s(within_s=silence_s)) is not None:
                if next_s - began_s > _MOST_PASSED_S:
                    self._fault(f"it does not come to rest within {_MOST_PASSED_S / 60:g} minutes of the talk's time")
                    return
                await self._clock.pass_to(next_s)
            else:
                return

    async def _work(self, stirred: anyio.Event) -> None:
        """Let work go on. Where nothing happens for a moment, it waits for a short time, as talk in a meeting does."""
        with anyio.move_on_after(_MOMENT_S):
            await stirred.wait()
        await self._clock.runs()
        next_s = self._clock.next_short_s(within_s=SILENCE_S)
        if stirred.is_set() or next_s is None:
            await stirred.wait()
            await settle()
        else:
            await self._clock.pass_to(next_s)

    async def facts(self) -> AsyncIterator[Fact]:
        if self._store.latest is not None:
            async for fact in self._store.read_session(self._store.latest):
                yield fact

    async def _folded_state(self) -> SessionState:
        session, seq = self._folded
        if self._store.latest != session:
            self._state, session, seq = SessionState(), self._store.latest, 0
        if session is not None:
            async for fact in self._store.read_session(session, after=seq):
                apply_fact(self._state, fact)
                seq = fact.seq
        self._folded = session, seq
        return self._state

    # -- what happens

    def _fault(self, text: str) -> None:
        """What must not be in a test has happened: the beat is over."""
        self._beat.fault = self._beat.fault or text
        self._store.stir()

    def _note_message(self, seen: SeenMessage) -> None:
        self._beat.seen.append(seen)
        if len(self._beat.seen) > _MOST_MESSAGES:
            self._store.stir()

    def _note_call(self, what: FrameOpened, _at: datetime) -> None:
        self._agents[what.about.frame] = what.about.agent
        self._beat.calls.append(SeenCall(what.about.agent, what.about.playbook, self._named(what)))

    def _named(self, what: FrameOpened) -> dict[str, Any]:
        """The arguments of a call by name."""
        given, about = what.arguments, what.about
        if isinstance(given, Mapping):
            return dict(given)
        spec = self._program.agent(about.agent)
        playbook = None if spec is None else spec.playbook(about.playbook)
        if playbook is None:
            return {str(number): value for number, value in enumerate(given)}
        with suppress(ValueError):
            return {param.name: value for param, value in zip(playbook.params, given, strict=False)}
        return {}

    def _note_step(self, what: StepExecuted, _at: datetime) -> None:
        playbook, found, rest = (what.step or "").partition(":")
        if found:
            self._beat.steps.append((self._agents.get(what.frame, ""), playbook, rest.partition(":")[0]))

    def _note_question(self, what: LLMRequested, _at: datetime) -> None:
        self._asker = self._agents.get(what.frame, "")

    def _note_failure(self, what: _Failure, _at: datetime) -> None:
        self._beat.failures.append(what.error)
        if not isinstance(what, PlaybookFailed):
            self._store.stir()


class _Here(Struct):
    """A conversation of the talk: people's, or that of what an event began. `read` is the last entry of its inbox."""

    conversation: ConversationTask
    lease: Lease
    read: str = "0"
    lives: bool = False
