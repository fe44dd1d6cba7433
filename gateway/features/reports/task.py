"""A model looks into a failure: a task with a program of its own, which can look and suppose, and nothing else.

Every look is a call on the task's tape, so a restart goes on from the last one. The tape has what was looked for, and
what the model supposes; what it was shown is read again each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from gateway.access.owner_notices import OwnerNotices
from gateway.features.reports.account import inert
from gateway.features.reports.inquiry import MAX_LOOKS, PROGRAM, AskedModel, Inquiry
from gateway.features.reports.store import Report
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.execution.calls.extensions import ExtensionCall, call_of, with_calls
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec, Param, PlaybookSpec, Program, PythonFence
from runtime.stores.inbox import TASK, Inbox, InboxEvent
from runtime.stores.orders import Order
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.tape import TapeReader

Calls = Mapping[str, ExtensionCall]

_AGENT, _PLAYBOOK = "Debugger", "Explain"
_GRACE_S = 60.0
"""The time that a task may take beyond what its model may."""

_CODE = f'''\
async def {_PLAYBOOK}(report: int):
    """Has a model look for the cause of a failure, and tells the owners what it supposes."""
    looks = []
    while len(looks) < {MAX_LOOKS}:
        answer = await LookIntoFailure(report, looks)
        if answer["guess"]:
            await TellOwners(report, answer["guess"])
        if answer["guess"] is not None:
            return answer["guess"]
        looks = looks + [answer["look"]]
    return ""
'''
_SPAN = Span("debug.pb", 1)


def task_of(report: int) -> SessionId:
    """The task that looks into a report's failure."""
    return SessionId(hashlib.sha256(f"{PROGRAM}\0{report}".encode()).hexdigest()[:32])


async def guess_of(tapes: TapeReader, report: int) -> str:
    """What a model has supposed of a report; "" where none has. Raises StorageUnavailable."""
    guess = ""
    async for fact in tapes.read_session(task_of(report)):
        over = read_as(fact, OrderOver)
        guess = guess if over is None else str(over.value or "")
    return guess


class DebugTasks:
    """Orders them: one for each report, so one for alike failures of an hour."""

    def __init__(self, inbox: Inbox, clock: Clock, within_s: float, asked: AskedModel) -> None:
        self._asked = asked
        self._inbox = inbox
        self._clock = clock
        self._within_s = within_s

    async def order(self, failure: Report) -> None:
        """Have a failure looked into, where a model is asked; once, however often it is ordered. Raises
        StorageUnavailable."""
        if await self._asked.of(failure) is None:
            return
        report = failure.number
        task, now, here = task_of(report), self._clock.now(), address_data(Address(CLIENT, PROGRAM))
        due = now.timestamp() + self._within_s + _GRACE_S
        order = Order(0, SessionId(""), _AGENT, _PLAYBOOK, {"report": report}, due, 1, here, here, task)
        event = InboxEvent(
            task, address_of(task), f"{CLIENT}:{PROGRAM}", PROGRAM, str(order), now, kind=TASK, program=PROGRAM
        )
        with suppress(InboxFull):  # the owners have what was computed
            await self._inbox.add(event)


def calls_of(inquiry: Inquiry, owners: OwnerNotices, within_s: float) -> Calls:
    """What the program can call. Either call does no harm when it is made twice."""

    async def look_into_failure(report: int, looks: list[str]) -> dict[str, str | None]:
        """Asks the model what it wants to see next, after these looks, or what it supposes."""
        answer = await inquiry.next(report, looks)
        return {"look": answer.look, "guess": answer.guess}

    async def tell_owners(report: int, guess: str) -> None:
        """Tells the owners what the model supposes."""
        await owners.tell(f"report.{report}.guess", "debug.guessed", number=report, guess=inert(guess))

    return {
        "LookIntoFailure": call_of("LookIntoFailure", look_into_failure, repeatable=True, timeout_s=within_s),
        "TellOwners": call_of("TellOwners", tell_owners, repeatable=True),
    }


def programs_of(calls: Calls) -> Mapping[str, Program]:
    """The program by its name, where it can call something. Its playbook is not public: nobody else can order it."""
    if not calls:
        return {}
    playbook = PlaybookSpec(_PLAYBOOK, "python", _SPAN, params=(Param("report", type="int"),))
    agent = AgentSpec(_AGENT, AgentKind.AI, _SPAN, playbooks=(playbook,), fences=(PythonFence(_CODE, _SPAN),))
    digest = hashlib.sha256(_CODE.encode()).hexdigest()[:16]
    return {PROGRAM: with_calls(Program(PROGRAM, (agent,), _CODE, digest), calls)}
