"""The settings of participants in other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.tree import Settings, load, secrets
from runtime.core.errors import ConfigError
from runtime.language.program import AgentKind, AgentSpec, Program
from tests.unit.runtime.sessions.programs import SPAN, agent

TOKEN = "a-token-that-is-long-enough"


def _load(folder: Path, **tokens: str) -> Settings:
    lines = ["[participants.tokens]"]
    for name, token in tokens.items():
        (folder / name).write_text(token + "\n")
        lines.append(f'{name} = "{folder / name}"')
    (folder / "parley.toml").write_text("\n".join(lines))
    return load(environment={}, directory=folder)


def _program(**metadata: str) -> Program:
    scout = AgentSpec("Scout", AgentKind.REMOTE, SPAN, metadata=metadata)
    return Program("hike", (agent("Lead"), scout), "", "1")


def test_nobody_is_known_unless_the_settings_name_them(tmp_path: Path) -> None:
    assert load(environment={}, directory=tmp_path).participants.known() == {}


def test_tokens_are_in_files_and_are_secrets(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=TOKEN)
    assert settings.participants.known() == {"scout": TOKEN}
    assert TOKEN in secrets(settings)


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"participants\.tokens\.scout: the token has 6 characters"):
        _load(tmp_path, scout="sesame").participants.known()


def test_two_with_one_token_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="another participant has this token"):
        _load(tmp_path, scout=TOKEN, guide=TOKEN).participants.known()


def test_a_name_that_no_program_can_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='"Scout" cannot be the name'):
        _load(tmp_path, Scout=TOKEN).participants.known()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=TOKEN)
    (tmp_path / "scout").unlink()
    with pytest.raises(ConfigError, match=r"participants\.tokens\.scout: .* cannot be read"):
        settings.participants.known()


def test_a_program_whose_agent_nobody_can_play_is_refused(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=TOKEN)
    settings.participants.check([_program()])
    with pytest.raises(ConfigError, match="hike: Scout is played in another process by guide, who has no token"):
        settings.participants.check([_program(participant="guide")])
