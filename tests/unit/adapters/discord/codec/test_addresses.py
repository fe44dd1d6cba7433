"""Our addresses, names and nonces as Discord has them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from adapters.capabilities import Budget, measure_utf16
from adapters.discord.api.bot import invitation, missing
from adapters.discord.codec.addresses import (
    address_of,
    channel_id_of,
    is_private,
    mark_of,
    moment_of,
    name_of,
    nonce_of,
    page_of,
    private_channel_of,
    snowflake_at,
)
from adapters.discord.limits import CAPABILITIES, HOOK_BUDGET, HOOKS_BUDGET, MAX_MESSAGE_UNITS, MAX_NONCE, within
from runtime.core.address import GATEWAY, Speaker


def test_addresses_lead_back_to_channels_and_marks() -> None:
    dm, channel, thread = (
        address_of("1", private=True),
        address_of("1", private=False),
        address_of("3", private=False, parent="1"),
    )
    assert [channel_id_of(each) for each in (dm, channel, thread)] == ["1", "1", "3"]
    assert [is_private(each) for each in (dm, channel, thread)] == [True, False, False]
    assert [private_channel_of(mark_of("1", private=private)) for private in (True, False)] == ["1", None]
    assert len({each.key for each in (dm, channel, thread)}) == 3


@pytest.mark.parametrize("text", ["x" * 1800, "a||" * 600, "😀" * 900, "|a|\n|-|\n" + "|b|\n" * 400])
def test_page_fits_into_a_message_whatever_its_marks(text: str) -> None:
    assert measure_utf16(text) <= CAPABILITIES.max_text
    assert measure_utf16(page_of(text, Speaker("1000", "N" * 200), named=True).text) <= MAX_MESSAGE_UNITS


def test_gateway_has_no_heading() -> None:
    assert page_of("hi", GATEWAY, named=True).text == "hi"
    assert page_of("hi", Speaker("1000", "Host"), named=True).text == "**Host**\nhi"
    assert page_of("hi", Speaker("1000", "Host"), named=False).text == "hi"


@pytest.mark.parametrize("name", ["My Discord Helper", "Clyde", "DISCORD"])
def test_names_that_discord_refuses_are_changed(name: str) -> None:
    changed = name_of(Speaker("1000", name), None).name.lower()
    assert "discord" not in changed
    assert "clyde" not in changed


def test_nonces_fit_and_differ() -> None:
    one, other = nonce_of("0123456789abcdef0123456789abcdef.0"), nonce_of("0123456789abcdef0123456789abcdef.1")
    assert one != other
    assert len(one) <= MAX_NONCE
    assert one == nonce_of("0123456789abcdef0123456789abcdef.0")


def test_ids_tell_their_time() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    assert moment_of(str(snowflake_at(at))) == at


@pytest.mark.parametrize(
    ("budget", "calls", "window_s"),
    [
        (CAPABILITIES.private_budget, 5, 5),
        (CAPABILITIES.group_budget, 5, 5),
        (HOOK_BUDGET, 5, 2),
        (HOOKS_BUDGET, 30, 60),
        *((within(calls, window_s), calls, window_s) for calls in (1, 2, 5, 10, 50) for window_s in (1, 2, 60)),
    ],
)
def test_budgets_keep_within_the_windows_of_the_platform(budget: Budget, calls: int, window_s: int) -> None:
    assert int(budget.burst + budget.rate_per_s * window_s) <= calls


def test_invitation_asks_for_no_more_than_is_needed() -> None:
    asked = invitation("8")
    assert asked.link.endswith("client_id=8&scope=bot+applications.commands&permissions=309774617664")
    assert missing(309774617664) == []
    assert [right.name for right in missing(309774617664 & ~(1 << 29))] == ["Manage Webhooks"]
    assert missing(8) == []


def test_only_those_are_pinged_whom_the_text_links_to_outside_code() -> None:
    page = page_of("[@Ada](person:discord:42), not <@43> nor @everyone", Speaker("1000", "Host"), named=False)
    assert page.text == "<@42>, not <@\u200b43> nor @\u200beveryone"
    assert page.pings == {"42"}
    code = page_of("`[@Ada](person:discord:42)`", Speaker("1000", "Host"), named=False)
    assert "<@42>" not in code.text


def test_codec_needs_no_library_of_discords() -> None:
    program = "import sys, adapters.discord.codec.addresses; sys.exit('discord' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
