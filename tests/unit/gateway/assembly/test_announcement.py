"""What a start says of what is open to whom, and of a jail that is missing. What `parley check` asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.access.admission import AccessRules, PlatformAccess
from gateway.access.people import KnownPeople
from gateway.assembly.announcement import door_lines
from gateway.assembly.probes import probes
from gateway.settings.platforms import WebSettings
from gateway.settings.tree import Settings
from runtime.sandbox.wrapping import WorkerWrapper
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

JAIL = WorkerWrapper(Path("/tmp/worker"), "workers run inside bwrap")

pytestmark = pytest.mark.anyio


def test_a_start_says_who_may_talk_in_the_web_chat() -> None:
    assert door_lines(WebSettings(), JAIL) == ["open to    everybody on this machine"]


def test_a_start_says_that_there_is_no_jail_and_why() -> None:
    lines = door_lines(WebSettings(), WorkerWrapper(None, "bwrap is not installed"))
    assert lines[1:] == ["no jail    bwrap is not installed"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (AccessRules("open"), "everybody"),
        (AccessRules("pairing"), "whom an owner lets in"),
        (AccessRules("allowlist"), "those in the settings"),
        (
            AccessRules("allowlist", chats=frozenset({"1"}), spaces=frozenset({"T1", "T2"})),
            "those in the settings, and to everybody in 3 chats or spaces",
        ),
    ],
)
def test_a_platform_says_to_whom_it_is_open(rules: AccessRules, said: str) -> None:
    clock = FakeClock()
    assert (
        PlatformAccess(
            "test", rules, KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), clock), clock
        ).open_to
        == said
    )


async def test_nothing_that_says_nothing_of_its_settings_is_shown_as_not_set_up() -> None:
    settings = Settings(model="openai/x", model_base_url="http://127.0.0.1:9/v1")
    names = [probe.name for probe in await probes(settings)]
    assert "schedules" in names
    assert not {"feedback", "mcp", "a2a"} & {*names}
