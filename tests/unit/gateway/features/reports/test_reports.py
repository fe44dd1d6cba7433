"""Failures that nobody catches: one report for those that are alike, one message, and another try on demand. Likely
causes of failures: by the type of the error, else by its text.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from gateway.access.people import OwnerNotices
from gateway.features.reports.account import _OF_TYPE, _TEXTS, UNKNOWN, Accounts, cause_of
from gateway.features.reports.decisions import AGAIN, LEAVE, TOLD_LATE, Decisions, FailureDesk, ReportNotices, row_of
from gateway.features.reports.inquiry import AskedModel, DebugTasks, task_of
from gateway.features.reports.redis import Report
from gateway.observability.watching import SecretMasking
from runtime.bus import Bus
from runtime.core.address import Address, address_of
from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.language.program import OpCode, Program, Step
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.failures import ReportReference, SessionFailure
from runtime.stores.inbox import NOTICE, InboxEvent, shard_of
from runtime.tape.tape import Fact, TapeReader
from tests.fakes.crashes.world import World
from tests.fakes.memory.catalog import MemorySessionCatalog
from tests.fakes.memory.reports import MemoryReports
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.sleepers import Sleepers
from tests.unit.runtime.sessions.programs import DOES, MAIN, SPAN, agent, program, python

OWNER = Address("test", "owner")
SECRET = "sk-very-secret-key"


def worker(broken: Path | None = None) -> Program:
    """Fails while a file is there, or at the word "fail"."""
    code = f"""
import os
{DOES}
async def Do(text):
    if "fail" in text or os.path.exists({str(broken or "/nowhere/at/all")!r}):
        raise ValueError("no such cake, {SECRET}")
    await Say("user", "done: " + text)
"""
    return program(agent("Worker", MAIN, python("Listen"), python("Do", "text"), code=code))


class Office:
    """Processes whose failures come to a desk, and an owner who has written in private."""

    def __init__(
        self,
        sandbox: MontySandbox,
        own: Program | None = None,
        world: World | None = None,
        debugging: bool | Literal["auto"] = False,
        data_dir: Path = Path("/state"),
    ) -> None:
        made = own or worker()
        self.deaths = 0
        self.sleepers = sleepers = Sleepers(made, sandbox, world or World(()))
        self.store = MemoryReports()
        self.bus = Bus(sleepers.clock)
        self.happened: list[str] = []
        self.bus.subscribe("*", lambda event: self.happened.append(event.name))
        self.accounts = Accounts(sleepers.store, SecretMasking([SECRET]), english())
        self.owners = OwnerNotices(MemoryRecords(), _everybody, sleepers.inbox, {"test": english()}, sleepers.clock)
        self.programs = {made.name: made}
        self.asked = AskedModel(debugging, self.programs, dict, sleepers.store, lambda _: ())
        tasks = DebugTasks(sleepers.inbox, sleepers.clock, 60.0, self.asked) if debugging else None
        told = ReportNotices(self.store, self.accounts, self.owners, english(), data_dir)
        self.late = told
        self.desk = FailureDesk(told, self.programs, sleepers.clock, self.bus, tasks)
        sleepers.reports = self.desk

    async def open(self, *, alone: bool = True) -> None:
        await self.owners.seen("test:owner", OWNER, alone=alone)

    async def fail(self) -> None:
        """The work fails once, and the owner is told."""
        await self.sleepers.post("1", "fail")
        await self.settled(1)

    async def settled(self, count: int) -> None:
        """Every failure so far is in a report, of which the owner was told, or which could not be made."""

        def reported() -> bool:
            reports = self.store._kept.values()
            told = all(report.told for report in reports) or "report.failed" in self.happened
            return told and sum(report.count for report in reports) >= count

        while not await self.sleepers.live(reported):
            pass
        while not await self.sleepers.live(lambda: True):
            pass

    async def notices(self) -> list[InboxEvent]:
        entries = await self.sleepers.inbox.read({shard_of(OWNER.key): "0"}, wait_s=0)
        return [entry.event for entry in entries if entry.event.kind == NOTICE]


async def _everybody(_person: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("data_dir", "option"), [(Path("/state"), ""), (Path.cwd() / ".parley", " --data-dir .parley")]
)
async def test_an_owner_is_told_the_command_that_works_where_the_state_is(
    data_dir: Path, option: str, sandbox: MontySandbox
) -> None:
    office = Office(sandbox, data_dir=data_dir)
    await office.open()
    await office.fail()
    (notice,) = await office.notices()
    assert f"`parley debug show 1{option}`" in notice.text


async def test_a_row_of_the_console_names_the_error_and_the_line_that_raised_it(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    await office.open()
    await office.fail()
    (report,) = await office.store.all()
    row = await row_of(report, office.accounts, True)
    assert row["error"] == "no such cake, ********"
    assert (await row_of(report, office.accounts, False))["error"] == ""
    assert row["source"].rpartition(":")[2] != report.source.rpartition(":")[2]
    where = (await office.accounts.of(report)).where
    assert where.endswith(f", {row['source']} in Do")


async def test_a_failure_becomes_a_report_that_names_the_place_and_leads_to_the_fact(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    await office.open()
    await office.fail()
    (report,) = await office.store.all()
    assert (report.agent, report.playbook, report.error_type, report.count) == ("Worker", "Do", "ValueError", 1)
    account = await office.accounts.of(report)
    assert account.what == "ValueError: no such cake, ********"
    assert account.where.startswith("Worker: Do, ")
    assert account.command == "parley debug again 1"
    assert any("fail" in fact for fact in account.facts)
    assert not any("{" in fact for fact in account.facts), "raw data"
    assert SECRET not in "\n".join(account.lines())
    assert "failure.reported" in office.happened


class WatchedTapes:
    """The tapes of a store, of which only facts after `readable` can be read; `read` are those that were."""

    def __init__(self, store: TapeReader) -> None:
        self._store = store
        self.readable = 0
        self.read: list[int] = []

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        if after < self.readable:
            raise ContentLocked("a key is missing")
        async for fact in self._store.read_session(session, after=after, until=until):
            self.read.append(fact.seq)
            yield fact

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def one_failed(sandbox: MontySandbox) -> tuple[Office, WatchedTapes, Report]:
    """An office whose tapes are watched, and the report of the one failure in it."""
    office = Office(sandbox)
    tapes = WatchedTapes(office.sleepers.store)
    office.accounts._tapes = tapes
    await office.open()
    await office.fail()
    (report,) = await office.store.all()
    return office, tapes, report


async def test_owners_are_told_of_a_failure_without_a_look_at_all_that_was_done_before(sandbox: MontySandbox) -> None:
    _, tapes, report = await one_failed(sandbox)
    assert tapes.read == [report.seq]


async def test_facts_whose_key_is_gone_hide_what_was_executed_and_not_what_failed(sandbox: MontySandbox) -> None:
    office, tapes, report = await one_failed(sandbox)
    tapes.readable = 3
    account = await office.accounts.of(report)
    assert account.what == "ValueError: no such cake, ********"
    assert account.facts == ()


async def test_ten_alike_failures_are_one_report_and_one_message_with_two_choices(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    await office.open()
    for number in range(10):
        await office.sleepers.post(str(number), "fail")
        await office.settled(number + 1)
    (report,) = await office.store.all()
    assert report.count == 10
    (notice,) = await office.notices()
    assert notice.text.startswith(
        "🐞 Report 1: something failed in test:1.\nWhat: ValueError: no such cake, \\*\\*\\*\\*\\*\\*\\*\\*\n"
    )
    assert [choice["id"] for choice in notice.attachments] == [f"{AGAIN}1", f"{LEAVE}1"]


@pytest.mark.parametrize(
    ("alone", "ways"),
    [(True, '"Try again" goes back'), (False, "`parley debug again 1`, or the console under Decisions")],
)
async def test_a_notice_names_buttons_only_where_it_has_them(sandbox: MontySandbox, alone: bool, ways: str) -> None:
    office = Office(sandbox)
    await office.open(alone=alone)
    await office.fail()
    (notice,) = await office.notices()
    assert ways in notice.text
    assert ("Try again" in notice.text) is alone


async def test_crashes_anywhere_count_a_failure_once_and_tell_it_once(sandbox: MontySandbox) -> None:
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        office = Office(sandbox, world=World((), crashes=[point]))
        await office.open()
        await office.fail()
        assert [report.count for report in await office.store.all()] == [1], f"killed at point {point}"
        assert len(await office.notices()) == 1, f"killed at point {point}"
        deaths += office.sleepers.world.deaths
    assert deaths > 8


async def test_a_program_that_is_not_served_any_more_is_no_failure(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    await office.open()
    await office.sleepers.post("1", "hello")
    await office.sleepers.live(lambda: True)
    office.sleepers.program = replace(worker(), name="another")
    await office.sleepers.post("2", "hello?")
    await office.sleepers.live(lambda: True)
    assert "no longer available here. /new starts another" in office.sleepers.chat[-1]
    assert await office.store.all() == []


async def test_a_report_that_cannot_be_made_fails_nothing_else(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    office.accounts.masking = None  # type: ignore[assignment]
    await office.open()
    await office.fail()
    await office.sleepers.post("2", "work")
    assert await office.sleepers.live(lambda: "done: work" in office.sleepers.chat)
    assert office.happened.count("report.failed") == 1
    assert len(await office.store.all()) == 1


async def test_the_step_s_text_and_its_line_stand_in_the_report(sandbox: MontySandbox) -> None:
    (worker_spec,) = worker().agents
    playbooks = tuple(
        replace(spec, steps=(Step("01", OpCode.EXE, "Weigh  the cake", replace(SPAN, line=7)),))
        if spec.name == "Do"
        else spec
        for spec in worker_spec.playbooks
    )
    office = Office(sandbox, program(replace(worker_spec, playbooks=playbooks)))
    failure = SessionFailure("uncaught", "s", 3, OWNER, "test", "v", "Worker", "Do", "Do:01:EXE", "ValueError", "s:3")
    assert await office.desk.take(failure) == ReportReference(1, 1)
    (report,) = await office.store.all()
    assert (report.instruction, report.source) == ("Weigh the cake", "test.pb:7")
    assert (await office.accounts.of(report)).where == "Worker: Do:01:EXE, “Weigh the cake”, test.pb:7"
    assert (await office.accounts.of(report)).what == "ValueError"


@pytest.mark.parametrize(("room", "what"), [("private-0c1d", "ValueError\n"), ("lobby", "ValueError: no such cake")])
async def test_owners_and_models_learn_no_words_from_a_failure_in_a_private_room(
    sandbox: MontySandbox, room: str, what: str
) -> None:
    office = Office(sandbox, debugging=True)
    await office.open()
    await office.fail()
    (first,) = await office.store.all()
    here, step = Address("web", room), ("Worker", "Do", "Do:01:EXE", "ValueError", "other")
    failure = SessionFailure("uncaught", first.session, first.seq, here, "test", "v", *step)
    assert await office.desk.take(failure) == ReportReference(2, 1)
    assert f"What: {what}" in (await office.notices())[-1].text
    task = task_of(2)
    assert (await office.sleepers.inbox.known(address_of(task), task) is not None) is (room == "lobby")


async def test_what_failed_is_tried_again_from_before_its_words_and_once(sandbox: MontySandbox, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    office = Office(sandbox, worker(broken))
    await office.open()
    sleepers = office.sleepers
    await sleepers.post("1", "hello")
    assert await sleepers.live(lambda: "done: hello" in sleepers.chat)
    broken.touch()
    await sleepers.post("2", "cake")
    await office.settled(1)
    broken.unlink()
    decisions = Decisions(office.store, _catalog(sleepers), sleepers.store, sleepers.inbox, sleepers.clock)
    assert [await decisions.again(1), await decisions.again(1), await decisions.leave(1)] == ["again", "done", "done"]
    assert await decisions.again(2) == "gone"
    assert await sleepers.live(lambda: "done: cake" in sleepers.chat)
    assert sleepers.chat.count("done: cake") == 1
    assert sleepers.chat.count("done: hello") == 1
    assert any(text.startswith("↩️ Something failed here.") for text in sleepers.chat)


async def test_the_first_words_of_a_conversation_are_tried_again_in_a_new_one(
    sandbox: MontySandbox, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    office = Office(sandbox, worker(broken))
    await office.open()
    sleepers = office.sleepers
    await sleepers.post("1", "cake")
    await office.settled(1)
    broken.unlink()
    decisions = Decisions(office.store, _catalog(sleepers), sleepers.store, sleepers.inbox, sleepers.clock)
    assert await decisions.again(1) == "again"
    assert await sleepers.live(lambda: "done: cake" in sleepers.chat)


def _catalog(sleepers: Sleepers) -> MemorySessionCatalog:
    return MemorySessionCatalog(sleepers.store, sleepers.leases)


async def test_reports_from_before_an_owner_wrote_in_private_are_told_then_and_once(sandbox: MontySandbox) -> None:
    office = Office(sandbox)
    steps = [("Worker", "Do", f"Do:{n:02}:EXE", "ValueError", f"m{n}") for n in range(TOLD_LATE + 2)]
    for number, step in enumerate(steps, 1):
        failure = SessionFailure("uncaught", "s", number, Address("test", "1"), "test", "v", *step)
        assert await office.desk.take(failure) == ReportReference(number, 1)
    assert office.happened.count("failure.reported") == len(steps)
    assert await office.notices() == []
    async with anyio.create_task_group() as tasks:
        office.late.start(tasks)
        await office.open()
        while not all(report.told for report in await office.store.all()):
            await anyio.lowlevel.checkpoint()
        await office.owners.seen("test:owner", OWNER)
    assert [notice.id for notice in await office.notices()] == [f"report.{n}" for n in range(len(steps), 2, -1)]


@pytest.mark.parametrize(
    ("error_type", "text", "cause"),
    [
        ("RemoteUnavailable", "Weather does not answer", "tool_down"),
        ("ToolFailed", "no such city", "tool_failed"),
        ("LLMTimeout", "", "late"),
        ("RuntimeError", "Weather.forecast took longer than 30 s and was given up", "late"),
        ("LLMUnavailable", "connection refused", "model_away"),
        ("PlaybookError", "8 tasks are already running, the limit of one orderer", "budget"),
        ("ValueError", "invalid literal for int() with base 10: 'x'", "wrong_type"),
        ("ValueError", "a time in seconds is not a word", "wrong_type"),
        ("PlaybookError", "task 1 (Researcher.Wait) failed: it ran out of time", "late"),
        ("PlaybookError", "there is no agent class 'Cook'", "not_there"),
        ("KeyError", "'city'", "not_there"),
        ("ZeroDivisionError", "division by zero", "arithmetic"),
        ("PlaybookError", "Divide:01:EXE: division by zero", "arithmetic"),
        ("CakeError", "it fell", UNKNOWN),
    ],
)
def test_a_common_error_has_its_cause(error_type: str, text: str, cause: str) -> None:
    assert cause_of(error_type, text) == cause


def test_every_cause_has_its_texts_and_every_text_its_cause() -> None:
    causes = {*_OF_TYPE.values(), *(cause for cause, _ in _TEXTS), UNKNOWN}
    for kind in ("cause", "try"):
        prefix = f"debug.{kind}_"
        assert {key.removeprefix(prefix) for key in english() if key.startswith(prefix)} == causes
