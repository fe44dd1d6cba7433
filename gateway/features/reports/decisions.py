"""Takes failures that nobody caught. Similar ones share a report, and owners hear of each report once.

Trying again from where a failure's exchange began: the conversation continues from there and hears it again.

Reports on the bus: `GET /bus/v1/reports`, what owners decide about them, and how often a program has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from anyio.abc import TaskGroup
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.access.people import OwnerNotices, Role
from gateway.clients.requests import BusClient, answer, page_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.database import GatewayDatabase
from gateway.feature import EntrancePart, FeatureGround, ServingGround
from gateway.features.reports.account import Accounts, can_go_on
from gateway.features.reports.inquiry import PROGRAM, DebugTasks
from gateway.features.reports.redis import RedisReports, Report, ReportStore
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.observability.watching import SecretMasking
from gateway.settings.tree import secrets
from runtime.bus import Bus
from runtime.core.background import OnDemand
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, ContentLocked, StorageError, StorageUnavailable
from runtime.core.ids import SessionId
from runtime.core.markup import MarkdownPart
from runtime.core.message import Choice
from runtime.core.plain_text import whole_number
from runtime.core.texts import Texts
from runtime.events.service import ReportOpened
from runtime.events.sessions import ReportFailed
from runtime.language.program import Program, Step
from runtime.sessions.commands.fork import ForkOrigin
from runtime.sessions.failures import ReportReference, SessionFailure
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import FORK, Inbox, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ExchangeBegun
from runtime.tape.tape import TapeReader

CHOICES = "report."

AGAIN = f"{CHOICES}again."
"""The prefix of the choice that tries again; the report's number follows."""

LEAVE = f"{CHOICES}leave."

TOLD_LATE = 10
"""How many reports from before there was an owner to tell are told; `parley debug list` has the others."""

_INSTRUCTION_CHARS = 300
Outcome = Literal["again", "gone", "left", "done"]
"""What has become of a report: it is tried again; there is nothing to try again; it was left; it was decided before."""

_MOST = 50
"""The places of failures that are listed."""


class ReportNotices:
    def __init__(
        self, store: ReportStore, accounts: Accounts, owners: OwnerNotices, texts: Texts, data_dir: Path
    ) -> None:
        here = Path(".parley")
        self._option = f" --data-dir {here}" if data_dir == here.absolute() else ""  # else commands find it alone
        self.store = store
        self.accounts = accounts
        self._owners = owners
        self._texts = texts
        self._late = OnDemand(self._tell_late)

    def start(self, tasks: TaskGroup) -> None:
        """From now on, tell of what nobody could be told as soon as an owner has a place for it."""
        self._late.start(tasks)
        self._owners.came.subscribe(lambda _: self._late.wake())

    async def _tell_late(self) -> None:
        try:
            untold = [report for report in await self.store.all() if not report.told and not report.decided]
            for number, report in enumerate(reversed(untold)):
                if number >= TOLD_LATE or await self.tell(report):
                    await self.store.tell(report.number)
        except StorageUnavailable:
            return  # they are told with the next owner, or the next failure

    async def tell(self, report: Report) -> bool:
        """Whether an owner was told. Raises StorageUnavailable."""
        account = await self.accounts.of(report, executed=False)
        what = report.error_type if await self.accounts.hides(report) else account.what
        again = can_go_on(report)
        key = "debug.told_schedule" if report.kind == "schedule" else "debug.told" if again else "debug.told_alone"
        choices = (
            Choice(f"{AGAIN}{report.number}", self._texts("debug.again")),
            Choice(f"{LEAVE}{report.number}", self._texts("debug.leave")),
        )
        return await self._owners.tell(
            f"report.{report.number}",
            key,
            choices if again else (),
            among="debug.told_among" if key == "debug.told" else "",
            number=report.number,
            data_dir=MarkdownPart(self._option),
            conversation=report.conversation,
            where=account.where,
            what=what,
            cause=account.cause,
            advice=account.advice,
        )


class FailureDesk(Struct, frozen=True):
    """Implements `runtime.sessions.failures.ReportDesk`. Acts by nothing but telling."""

    _notices: ReportNotices
    _programs: Mapping[str, Program]
    _clock: Clock
    _bus: Bus
    _debugging: DebugTasks | None = None
    """Has a model look into reports as well, in a task."""
    _telling: set[int] = field(default_factory=set)

    async def take(self, failure: SessionFailure, /) -> ReportReference:
        """Count a failure to its report; the owners hear of a new one. What else than the storage fails in that, or in
        looking into a failure, begins no other report: the log has it."""
        if failure.program == PROGRAM:
            self._bus.publish(ReportFailed(failure.session, failure.error_type))
            return ReportReference(0, 0)
        try:
            return await self._take(failure)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - a report that fails must not fail what it is about
            self._bus.publish(ReportFailed(failure.session, repr(error)))
            return ReportReference(0, 0)

    async def _take(self, failure: SessionFailure) -> ReportReference:
        report = await self._notices.store.add(self._report(failure))
        if not report.told and report.number not in self._telling:
            self._telling.add(report.number)
            try:
                if report.count == 1:
                    key = failure.address.key
                    self._bus.publish(ReportOpened(report.number, key, report.place, report.error_type))
                told = await self._notices.tell(report)
                if self._debugging is not None and report.session and not await self._notices.accounts.hides(report):
                    await self._debugging.order(report)
                if told:
                    await self._notices.store.tell(report.number)
            finally:
                self._telling.discard(report.number)
        return ReportReference(report.number, report.count)

    def _report(self, failure: SessionFailure) -> Report:
        now_s, own = self._clock.now().timestamp(), failure
        return Report(
            *(own.kind, own.session, own.seq, own.address.key, own.program, own.version, own.agent, own.playbook),
            *(own.step, own.error_type, own.mark, now_s, now_s),
            *self._instruction(own),
        )

    def _instruction(self, failure: SessionFailure) -> tuple[str, str]:
        """The text of the step in the program, and its place; of a playbook without steps its place alone."""
        program = self._programs.get(failure.program)
        agent = None if program is None else program.agent(failure.agent)
        spec = None if agent is None else agent.playbook(failure.playbook)
        if spec is None:
            return "", ""
        steps: dict[str, Step] = {step.line: step for top in spec.steps for step in top.walk()}
        step = steps.get(failure.step.partition(":")[2].rpartition(":")[0])
        place = spec.span if step is None else step.span
        text = "" if step is None else " ".join(step.text.split())[:_INSTRUCTION_CHARS]
        return text, f"{place.file.rpartition('/')[2]}:{place.line}"


def notices_in(ground: FeatureGround, serving: ServingGround) -> ReportNotices:
    accounts = accounts_in(ground, serving.masking)
    store = RedisReports(ground.connection)
    return ReportNotices(store, accounts, serving.owners, ground.texts, ground.settings.data_dir)


def accounts_in(ground: FeatureGround, masking: SecretMasking) -> Accounts:
    return Accounts(ground.database.tapes, masking, ground.texts, private=ground.settings.console.private)


class Decisions:
    """Decisions of owners about reports. Raises InboxFull and StorageUnavailable.

    Done again, after a crash or by two owners, it comes to the same: the events have the report's number.
    """

    def __init__(
        self, store: ReportStore, catalog: SessionCatalog, tapes: TapeReader, inbox: Inbox, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._tapes = tapes
        self._inbox = inbox
        self._clock = clock

    async def chosen(self, given: GivenCommand) -> CommandAnswer:
        chosen = given.event.choice or ""
        number = whole_number(chosen.rpartition(".")[2])
        if given.role is not Role.OWNER or number is None:
            return CommandAnswer(given.texts("debug.owners_only"))
        decided = await (self.again if chosen.startswith(AGAIN) else self.leave)(number)
        return CommandAnswer(given.texts(f"debug.is_{decided}", number=number))

    async def leave(self, number: int) -> Outcome:
        report = await self._store.get(number)
        if report is None:
            return "gone"
        if report.decided == "again":
            return "done"
        await self._store.decide(number, "left")
        return "left"

    async def again(self, number: int) -> Outcome:
        """Have the conversation continue from before the exchange that failed, and hear its words again."""
        report = await self._store.get(number)
        found = None if report is None or not report.session else await self._catalog.find(SessionId(report.session))
        if report is None or found is None:
            return "gone"
        if report.decided == "again":
            return "done"
        seq, words = await self._beginning(report)
        if words is None:
            return "gone"
        for event in self._events(report, found.record, seq, words):
            await self._inbox.add(event)
        await self._store.decide(number, "again")
        return "again"

    async def _beginning(self, report: Report) -> tuple[int, MessageHeard | None]:
        """The last fact before the exchange, and what was said first in it; None where that cannot be read."""
        words: MessageHeard | None = None
        with suppress(ArchiveUnavailable, ContentLocked):
            async for fact in self._tapes.read_back(SessionId(report.session), before=report.seq):
                words = read_as(fact, MessageHeard) or words
                if (begun := read_as(fact, ExchangeBegun)) is not None:
                    return begun.seq, words
        return 0, None

    def _events(self, report: Report, record: SessionRecord, seq: int, words: MessageHeard) -> list[InboxEvent]:
        id_, about = f"again.{report.number}", (record.address, words.person, words.name)
        now = self._clock.now()
        said = InboxEvent(id_, *about, words.text, now, private=words.private, program=record.program)
        if not seq:
            return [replace(said, id=f"{id_}.new", kind="new")]
        origin = ForkOrigin(record.at(seq), record.address)
        return [replace(said, id=f"{id_}.{FORK}", kind=FORK, text=str(origin)), said]


def decisions_in(database: GatewayDatabase, clock: Clock) -> Decisions:
    return Decisions(RedisReports(database.connection), database.catalog, database.tapes, database.inbox, clock)


class ReportRoutes(GatewayView, frozen=True):
    store: ReportStore
    decisions: Decisions
    accounts: Accounts

    @looks("/reports")
    async def reports(self, request: Request, client: BusClient) -> Response:
        """The reports about failures, the latest first; with `open=1` those that nobody has decided."""
        found = [*await self.store.all()][::-1]
        if request.query_params.get("open") == "1":
            found = [report for report in found if not report.decided]
        rows, next_ = page_of(request, found, lambda report: str(report.number), lambda report: report)
        return answer(
            {"reports": [await row_of(report, self.accounts, client.scopes.content) for report in rows], "next": next_}
        )

    @acts("/reports/{report}/again")
    async def again(self, request: Request, _: BusClient) -> Response:
        return await self._decided(request, self.decisions.again)

    @acts("/reports/{report}/leave")
    async def leave(self, request: Request, _: BusClient) -> Response:
        return await self._decided(request, self.decisions.leave)

    async def _decided(self, request: Request, decide: Callable[[int], Awaitable[Outcome]]) -> Response:
        number = str(request.path_params["report"])
        outcome = await decide(whole_number(number) or 0)
        if outcome == "gone":
            raise HTTPException(404, "There is nothing to try again: the report or its conversation is gone.")
        return answer({"report": int(number), "outcome": outcome})


async def row_of(report: Report, accounts: Accounts, content: bool) -> dict[str, Any]:
    """A report with the line that raised it, and the text of its error where `content` may be read."""
    account = await accounts.of(report, executed=False)
    hidden = not content or await accounts.hides(report)
    return {
        "error": "" if hidden else account.error,
        "source": account.source,
        "report": report.number,
        "kind": report.kind,
        "session": report.session or None,
        "seq": report.seq,
        "conversation": report.conversation,
        "program": report.program,
        "place": report.place,
        "error_type": report.error_type,
        "instruction": report.instruction,
        "count": report.count,
        "first_at": _time(report.first_s),
        "last_at": _time(report.last_s),
        "decided": report.decided or None,
    }


def entrance(ground: FeatureGround, serving: ServingGround) -> EntrancePart:
    notices_in(ground, serving).start(serving.tasks)
    return EntrancePart(choices={CHOICES: decisions_in(ground.database, ground.clock).chosen})


def report_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    decisions = decisions_in(ground.database, ground.clock)
    accounts = accounts_in(ground, SecretMasking(secrets(ground.settings)))
    return ReportRoutes(door, RedisReports(ground.connection), decisions, accounts).routes()


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    reports = await RedisReports(ground.connection).all()
    return {"decisions": {"reports": sum(not report.decided for report in reports)}}


async def practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    """What nobody caught in a program, by step and error, the most frequent first. Raises StorageUnavailable."""
    counts: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str, str], Report] = {}
    for report in await RedisReports(ground.connection).all():
        if report.program == program:
            key = report.place, report.error_type
            counts[key] += report.count
            if key not in latest or latest[key].last_s < report.last_s:
                latest[key] = report
    failures = [
        {
            "place": place,
            "instruction": latest[place, error_type].instruction,
            "error_type": error_type,
            "count": count,
            "last_at": _time(latest[place, error_type].last_s),
            "session": latest[place, error_type].session,
            "seq": latest[place, error_type].seq,
        }
        for (place, error_type), count in counts.most_common(_MOST)
    ]
    return {"failures": failures}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
