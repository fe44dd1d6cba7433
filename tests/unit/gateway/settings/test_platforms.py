"""Telegram's section of the settings: the webhook's address, and the bots of agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.platforms import TelegramSettings
from gateway.settings.tree import Settings, load, secrets
from runtime.core.errors import ConfigError


def _loaded(directory: Path, toml: str, **environment: str) -> TelegramSettings:
    file = directory / "parley.toml"
    file.write_text(toml)
    return load(config=file, environment=environment, directory=directory).telegram


@pytest.mark.parametrize(
    "url",
    [
        "https://chat.example.org/hooks/telegram",
        "https://chat.example.org/below/hooks/telegram/p4rt/",
        "http://[::1]:8/hooks/telegram",
    ],
)
def test_webhook_leads_to_our_hooks(tmp_path: Path, url: str) -> None:
    assert _loaded(tmp_path, "", PARLEY_TELEGRAM__WEBHOOK_URL=url).webhook_url == url


@pytest.mark.parametrize(
    "url",
    [
        "chat.example.org/hooks/telegram",
        "https://chat.example.org/telegram",
        "https://chat.example.org/hooks/telegrams",
    ],
)
def test_webhook_that_leads_elsewhere_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"hooks/telegram"):
        _loaded(tmp_path, "", PARLEY_TELEGRAM__WEBHOOK_URL=url)


def test_agents_have_the_tokens_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "host").write_text("777:host-token\n")
    own = _loaded(tmp_path, f'[telegram.agents]\nHost = "{tmp_path / "host"}"')
    assert own.agent_tokens() == {"Host": "777:host-token"}
    assert "777:host-token" in secrets(Settings(telegram=own))


@pytest.mark.parametrize("content", [None, "", "no token"])
def test_file_without_a_token_is_named_and_its_content_is_not(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "host").write_text(content)
    own = _loaded(tmp_path, f'[telegram.agents]\nHost = "{tmp_path / "host"}"')
    with pytest.raises(ConfigError, match=r"telegram\.agents\.Host: .*host (cannot be read|has no)") as caught:
        own.agent_tokens()
    assert "no token" not in str(caught.value).replace("no bot's token", "")
