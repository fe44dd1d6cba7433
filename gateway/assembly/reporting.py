"""Consequences of failures: reports and notices to owners."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from anyio.abc import TaskGroup

from gateway.access.owner_notices import OwnerNotices
from gateway.assembly.foundation import Foundation
from gateway.assembly.stores import decisions_of, keeping_of
from gateway.models.kept_calls import CallKeeper
from gateway.models.owners import KINDS, ModelTroubles
from gateway.programs.served import AsItIsNow
from gateway.reports.account import Accounts
from gateway.reports.again import Decisions
from gateway.reports.asked_model import AskedModel
from gateway.reports.desk import FailureDesk
from gateway.reports.inquiry import Inquiry
from gateway.reports.task import Calls, DebugTasks, calls_of
from gateway.settings.programs.models import leads_to
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.model_calls import RedisModelCalls
from runtime.storage.redis.operation.reports import RedisReports
from runtime.storage.redis.sessions.store import RedisSessionStore


@dataclass(frozen=True, slots=True)
class Reporting:
    """The owners' notices, the desk for failures that nobody catches, and what owners decide about them."""

    owners: OwnerNotices
    desk: FailureDesk
    decisions: Decisions
    calls: Calls


def reporting_of(foundation: Foundation, owners: OwnerNotices, tasks: TaskGroup) -> Reporting:
    """What failures come to, and troubles of models."""
    _follow_models(foundation, owners, tasks)
    desk, calls = _failure_desk(foundation, owners)
    desk.start(tasks)
    decisions = decisions_of(keeping_of(foundation.settings, foundation.connection, foundation.archive))
    return Reporting(owners, desk, decisions, calls)


def _follow_models(foundation: Foundation, owners: OwnerNotices, tasks: TaskGroup) -> None:
    troubles = ModelTroubles(owners, foundation.clock)
    tasks.start_soon(CallKeeper(RedisModelCalls(foundation.connection)).follow, foundation.bus)
    for kind in KINDS:
        tasks.start_soon(troubles.follow, foundation.bus, kind.name)


def _failure_desk(foundation: Foundation, owners: OwnerNotices) -> tuple[FailureDesk, Calls]:
    """The desk, and the calls of the tasks that look into failures."""
    own, wanted, connection = foundation, foundation.settings.reports, foundation.connection
    tapes, store = RedisSessionStore(connection, own.archive), RedisReports(connection)
    accounts = Accounts(tapes, own.masking, own.texts, private=own.settings.console.private)
    models = partial(leads_to, own.settings.models, model=own.settings.model or "")
    routed = AsItIsNow(lambda: own.routes.models)
    asked = AskedModel(wanted.ask_model, own.programs, routed, tapes, models)
    debugging = DebugTasks(RedisInbox(connection), own.clock, wanted.within_s, asked) if wanted.ask_model else None
    llm = own.engine.llm if wanted.ask_model and own.engine is not None else None
    publish = own.bus.publish
    inquiry = None if llm is None else Inquiry(llm, store, accounts, tapes, own.programs, wanted, asked, publish)
    desk = FailureDesk(store, own.programs, accounts, owners, own.texts, own.clock, own.bus, debugging)
    return desk, calls_of(inquiry, owners, wanted.within_s)
