"""Which model is asked about a failure unless the settings say more: the one that has answered the conversation."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from gateway.features.reports.inquiry import AskedModel, DebugTasks, task_of
from gateway.features.reports.redis import Report
from gateway.features.reports.settings import ReportSettings
from gateway.settings.models import leads_to
from gateway.settings.tree import load
from runtime.core.address import address_of
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import shard_of
from runtime.tape.facts.session import ModelAnswered
from runtime.tape.tape import Fact, session_tape
from tests.unit.runtime.sessions.programs import agent, program, python

NOW = datetime(2026, 11, 23, tzinfo=UTC)
SESSION = SessionId("s" * 32)
AUTO = ReportSettings().ask_model


class Tapes:
    """Sessions in which models have answered for these purposes, one a fact."""

    def __init__(self, *purposes: str) -> None:
        self._purposes = purposes

    async def read_session(self, session: SessionId, *, until: int, **_: Any) -> AsyncIterator[Fact]:
        for seq, purpose in enumerate(self._purposes[:until], 1):
            fact = ModelAnswered(purpose, "openai/x")
            yield Fact(session_tape(session), seq, fact.kind, NOW, fact.data())


def naming(**models: str) -> Program:
    made = [agent(name, python("Do"), code="async def Do():\n    pass\n") for name in ("A", "B")]
    return program(*(replace(one, metadata={"model": models[one.name]} if one.name in models else {}) for one in made))


def report(made: Program, seq: int = 9, session: str = SESSION) -> Report:
    more = ("v", "A", "Do", "", "ValueError", "s:9", 0.0, 0.0)
    return Report("uncaught", session, seq, "test:1", made.name, *more, number=1)


def asked(
    made: Program, *purposes: str, wanted: Any = AUTO, route: str = "", leads: Mapping[str, str] | None = None
) -> AskedModel:
    models = leads or {}
    return AskedModel(
        wanted,
        {made.name: made},
        lambda: {made.name: route},
        Tapes(*purposes),  # type: ignore[arg-type]
        lambda name: [models[name]] if name in models else [],
    )


@pytest.mark.parametrize(
    ("models", "route", "name"),
    [
        ({}, "", ""),
        ({}, "cheap", "cheap"),
        ({"A": "own", "B": "own"}, "cheap", "own"),
    ],
    ids=["the default", "the route's", "the program's"],
)
async def test_the_one_model_that_a_program_asks_is_asked(models: dict[str, str], route: str, name: str | None) -> None:
    made = naming(**models)
    assert await asked(made, "execute", route=route).of(report(made)) == name


@pytest.mark.parametrize(
    ("leads", "name"),
    [
        ({"fast": "x", "": "x", "own": "x"}, "fast"),
        ({"": "x", "own": "x"}, ""),
        ({"fast": "y", "": "y", "own": "x", "other": "x"}, "other"),
        ({"fast": "y", "": "y", "own": "y", "other": "y"}, None),
    ],
    ids=["that for choices", "the default", "another", "none of them has answered"],
)
async def test_of_several_models_one_is_asked_that_has_answered_the_conversation(
    leads: dict[str, str], name: str | None
) -> None:
    made = naming(A="own", B="other")
    several = asked(made, "execute", leads={one: f"openai/{model}" for one, model in leads.items()})
    assert await several.of(report(made)) == name


@pytest.mark.parametrize(
    ("name", "leads"),
    [("", {"openai/d"}), ("fast", {"groq/f"}), ("summary", set()), ("own", {"groq/f", "openai/o"})],
)
def test_names_of_the_settings_lead_to_models_as_conversations_write_them_down(name: str, leads: set[str]) -> None:
    written = {"default": {"model": "openai/d"}, "fast": "groq/f", "own": "fast, openai/o"}
    assert leads_to(load(environment={}, flags={"models": written}).models, name, model="") == leads


def test_the_default_of_settings_without_a_table_is_their_model() -> None:
    assert (leads_to({}, "", model="openai/d"), leads_to({}, "", model="")) == ({"openai/d"}, set())


async def test_the_routes_model_is_one_of_several_where_agents_name_none() -> None:
    made = naming(A="own")
    leads = {"own": "openai/y", "cheap": "openai/x"}
    assert await asked(made, "execute", route="cheap", leads=leads).of(report(made)) == "cheap"


async def test_a_conversation_that_no_model_has_answered_is_shown_to_none() -> None:
    made = naming()
    assert await asked(made).of(report(made)) is None
    assert await asked(made, "transcribe", "describe").of(report(made)) is None
    assert await asked(made, "transcribe", "execute").of(report(made, seq=1)) is None
    assert await asked(made, "execute").of(report(made, session="")) is None
    assert await asked(made, "execute").of(replace(report(made), program="gone")) is None


async def test_the_settings_have_every_failure_looked_into_or_none() -> None:
    made = naming(A="own", B="other")
    assert await asked(made, wanted=True).of(report(made)) == ""
    assert await asked(made, "execute", wanted=False).of(report(made)) is None


@pytest.mark.parametrize(("purposes", "count"), [(("execute",), 1), ((), 0)])
async def test_by_default_one_task_is_ordered_where_a_model_has_answered(purposes: tuple[str, ...], count: int) -> None:
    made, clock = naming(), SystemClock()
    inbox = MemoryInbox(MemoryLeaseStore(clock))
    tasks = DebugTasks(inbox, clock, 60.0, asked(made, *purposes))
    for _ in range(2):
        await tasks.order(report(made))
    entries = await inbox.read({shard_of(address_of(task_of(1)).key): "0"}, wait_s=0)
    assert len(entries) == count


def test_the_budget_of_a_guess_is_small() -> None:
    assert (ReportSettings().ask_model, ReportSettings().tokens) == ("auto", 8_000)
    assert ReportSettings.model_validate({"ask_model": "false"}).ask_model is False
    assert ReportSettings.model_validate({"ask_model": "true"}).ask_model is True
