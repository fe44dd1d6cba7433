"""The manifest asks for what the adapter uses, and for nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.adapter import FileData
from adapters.slack.adapter import SlackAdapter
from adapters.slack.manifest import EVENTS, SCOPES, manifest
from runtime.core.address import Address
from runtime.core.message import Choice
from runtime.core.texts import english
from tests.contract.slack.speaking import HOST, send, thread
from tests.e2e.gateway_process import environment_of
from tests.e2e.warm_starts import parley_command
from tests.fakes.slack.people import CHANNEL, DIRECT
from tests.fakes.slack.platform import NEEDS, SCOPE_OF_KIND, SlackPlatform
from tests.fakes.slack.surfaces import refusals

pytestmark = pytest.mark.usefixtures("warm_starts")

HEARD_BY = {
    "commands": "the slash command",
    "groups:history": "message.groups",
    "im:history": "message.im",
    "mpim:history": "message.mpim",
}
"""Scopes that are for hearing, not for calling: what they let us hear."""
LISTING = set(SCOPE_OF_KIND.values())
"""Scopes of the one call that lists conversations when the adapter connects."""


def _asked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(folder, {})
    command = parley_command(["setup", "slack", *arguments], environment)
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def _printed(folder: Path, *arguments: str) -> Any:
    done = _asked(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


async def _do_everything(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    """Whatever the adapter can do that comes to a call."""
    root = platform.mention("hello")
    platform.open_app()
    platform.say("a title", channel=DIRECT)
    file = platform.files.given("a.txt", b"a")
    platform.react("eyes", root)
    platform.command("start")
    platform.say("last", channel=DIRECT)
    async with adapter.connect() as inbound:
        while (await anext(inbound)).text != "last":
            pass
    to = thread(root)
    await adapter.typing(to, HOST)
    stream = await adapter.open_stream(to, "a", speaker=HOST, nonce="stream")
    await adapter.append(to, stream, "b", speaker=HOST)
    await adapter.close_stream(to, stream, "c", speaker=HOST)
    ts = await send(adapter, "hi", to=Address("slack", f"T0001:{CHANNEL}"))
    await adapter.offer(to, ts, "hi", [Choice("a", "A")], speaker=HOST, nonce="n")
    assert await adapter.private_with(to, "slack:T0001:U0ADA") == Address("slack", f"T0001:{DIRECT}")
    await adapter.react(to, root, "seen")
    await adapter.react(to, root, None)
    await adapter.delete(to, ts, speaker=HOST)
    await adapter.download(f"slack-file:T0001:{file['id']}", max_bytes=9)
    sent = await adapter.upload(to, FileData("a.txt", "text/plain", b"a"), "", speaker=HOST, nonce="file")
    await adapter.delete(to, sent, speaker=HOST)


@pytest.mark.anyio
async def test_scopes_are_those_of_the_calls_and_events_that_happen(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    await _do_everything(adapter, platform)
    platform.react("eyes", platform.say("by others"))
    called = {call.method for call in platform.calls}
    used = {NEEDS[method] for method in called if method in NEEDS}
    assert [call for call in platform.calls if call.status != 200] == []
    assert used | {"chat:write.customize", "reactions:read"} | set(HEARD_BY) | LISTING == set(SCOPES)


@pytest.mark.parametrize("arguments", [(), ("--url", "https://chat.example.org", "--several")])
def test_slack_takes_the_manifest_of_a_new_app(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert refusals(_printed(tmp_path, *arguments)) == []


def test_the_fake_refuses_the_events_of_before_under_an_agent_view(tmp_path: Path) -> None:
    old = _printed(tmp_path)
    old["settings"]["event_subscriptions"]["bot_events"].append("assistant_thread_started")
    assert refusals(old) == ["assistant_thread_started is of an assistant_view"]


def test_socket_mode_needs_no_address(tmp_path: Path) -> None:
    printed = _printed(tmp_path)
    assert printed["oauth_config"] == {"scopes": {"bot": list(SCOPES)}}
    assert printed["settings"]["socket_mode_enabled"] is True
    assert printed["settings"]["event_subscriptions"] == {"bot_events": list(EVENTS)}
    assert "http" not in str(printed)


def test_http_mode_has_its_addresses(tmp_path: Path) -> None:
    printed = _printed(tmp_path, "--url", "https://chat.example.org/", "--name", "Helper")
    events = "https://chat.example.org/hooks/slack/events"
    assert printed["settings"]["socket_mode_enabled"] is False
    assert printed["settings"]["event_subscriptions"]["request_url"] == events
    assert printed["settings"]["interactivity"] == {"is_enabled": True, "request_url": events}
    assert printed["features"]["slash_commands"][0]["url"] == events
    assert printed["features"]["bot_user"]["display_name"] == "Helper"
    assert "redirect_urls" not in printed["oauth_config"]


def test_several_workspaces_come_back_to_us_and_tell_when_they_leave() -> None:
    made = manifest("Parley", english(), url="https://chat.example.org", socket=True, several=True)
    assert made["oauth_config"]["redirect_urls"] == ["https://chat.example.org/hooks/slack/oauth"]
    assert {"app_uninstalled", "tokens_revoked"} <= set(made["settings"]["event_subscriptions"]["bot_events"])
    assert "request_url" not in made["settings"]["event_subscriptions"]


@pytest.mark.parametrize("arguments", [["--several"], ["--url", "http://chat.example.org"]])
def test_manifest_that_slack_would_refuse_is_not_printed(tmp_path: Path, arguments: list[str]) -> None:
    done = _asked(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--url" in done.stderr


def test_manifest_speaks_the_language_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "de.toml").write_text('[about]\nagents = "Agenten zum Reden"\n')
    (tmp_path / "parley.toml").write_text(f'language = "de"\ntexts_dir = "{tmp_path}"\n')
    printed = _printed(tmp_path, "--config", str(tmp_path / "parley.toml"))
    assert printed["display_information"]["description"] == "Agenten zum Reden"
    assert printed["features"]["agent_view"] == {"agent_description": "Agenten zum Reden"}
