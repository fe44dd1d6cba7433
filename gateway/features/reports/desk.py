"""Takes failures that nobody caught. Similar ones share a report, and owners hear of each report once."""

from __future__ import annotations

from collections.abc import Mapping

from anyio.abc import TaskGroup

from gateway.access.people import OwnerNotices
from gateway.feature import FeatureGround, ServingGround
from gateway.features.reports.account import Accounts, can_go_on, inert
from gateway.features.reports.inquiry import PROGRAM, DebugTasks
from gateway.features.reports.redis import RedisReports, Report, ReportStore
from runtime.bus import Bus
from runtime.core.background import OnDemand
from runtime.core.clock import Clock
from runtime.core.errors import StorageError, StorageUnavailable
from runtime.core.message import Choice
from runtime.core.texts import Texts
from runtime.events.service import ReportOpened
from runtime.events.sessions import ReportFailed
from runtime.language.program import Program, Step
from runtime.sessions.failures import ReportReference, SessionFailure

CHOICES = "report."

AGAIN = f"{CHOICES}again."
"""The prefix of the choice that tries again; the report's number follows."""

LEAVE = f"{CHOICES}leave."

TOLD_LATE = 10
"""How many reports from before there was an owner to tell are told; `parley debug list` has the others."""

_INSTRUCTION_CHARS = 300


class ReportNotices:
    def __init__(self, store: ReportStore, accounts: Accounts, owners: OwnerNotices, texts: Texts) -> None:
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
        account = await self.accounts.of(report)
        what = report.error_type if await self.accounts.hides(report) else inert(account.what)
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
            conversation=report.conversation,
            where=account.where,
            what=what,
            cause=account.cause,
            advice=account.advice,
        )


class FailureDesk:
    """Implements `runtime.sessions.failures.ReportDesk`. Acts by nothing but telling."""

    def __init__(
        self,
        notices: ReportNotices,
        programs: Mapping[str, Program],
        clock: Clock,
        bus: Bus,
        debugging: DebugTasks | None = None,
    ) -> None:
        """With `debugging` a model looks into reports as well, in a task."""
        self._notices = notices
        self._store = notices.store
        self._accounts = notices.accounts
        self._programs = programs
        self._clock = clock
        self._bus = bus
        self._debugging = debugging
        self._telling: set[int] = set()

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
        report = await self._store.add(self._report(failure))
        if not report.told and report.number not in self._telling:
            self._telling.add(report.number)
            try:
                if report.count == 1:
                    key = failure.address.key
                    self._bus.publish(ReportOpened(report.number, key, report.place, report.error_type))
                told = await self._notices.tell(report)
                if self._debugging is not None and report.session and not await self._accounts.hides(report):
                    await self._debugging.order(report)
                if told:
                    await self._store.tell(report.number)
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
    accounts = Accounts(ground.database.tapes, serving.masking, ground.texts, private=ground.settings.console.private)
    return ReportNotices(RedisReports(ground.connection), accounts, serving.owners, ground.texts)
