"""The settings' tables of clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.clients.scopes import ClientScopes
from gateway.settings.clients import ConsoleSettings, client_scopes, client_tokens, publisher_scopes
from gateway.settings.tree import changed, load, secrets
from runtime.core.errors import ConfigError

TOKEN = "a-token-of-the-tests"


def config(folder: Path, text: str) -> Path:
    (folder / "ci").write_text(f"{TOKEN}\n")
    file = folder / "parley.toml"
    file.write_text(text.replace("FOLDER", str(folder)))
    return file


def test_clients_are_tables_by_their_names(tmp_path: Path) -> None:
    text = """
        [clients.ci]
        token_file = "FOLDER/ci"
        scopes = ["events:read:agent.*", "tasks:write:review", "content"]
    """
    settings = load(config=config(tmp_path, text), environment={}, directory=tmp_path)
    assert client_scopes(settings.clients) == {
        "ci": ClientScopes(events_read=("agent.*",), tasks_write=("review",), content=True)
    }
    assert client_tokens(settings.clients) == {"ci": TOKEN}
    assert TOKEN in secrets(settings)
    assert changed(settings)["clients"] == "1 table"


def test_the_environment_has_them_too(tmp_path: Path) -> None:
    config(tmp_path, "")
    environment = {
        "PARLEY_CLIENTS__CI__TOKEN_FILE": str(tmp_path / "ci"),
        "PARLEY_CLIENTS__CI__SCOPES": "events:read:>,events:write:build.done",
    }
    settings = load(environment=environment, directory=tmp_path)
    assert client_scopes(settings.clients) == {"ci": ClientScopes((">",), ("build.done",))}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["events:read:"]', 'there is no scope "events:read:"'),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["events:read:a..b"]', "is not a pattern of events"),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["models:x"]', 'there is no scope "models:x"'),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nmodel_usd_per_day = -1', "model_usd_per_day"),
        ("[clients.ci]\nscopes = []", "clients.ci.token_file"),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\ncolour = "red"', "clients.ci.colour"),
    ],
)
def test_what_is_no_client_is_refused(tmp_path: Path, table: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("[", r"\[")):
        load(config=config(tmp_path, table), environment={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ('[clients."C I"]\ntoken_file = "FOLDER/ci"', "cannot be the name of a client"),
        ('[clients.ci]\ntoken_file = "FOLDER/none"', "cannot be read"),
        ('[clients.ci]\ntoken_file = "FOLDER/short"', "which can be guessed"),
        (
            '[clients.a]\ntoken_file = "FOLDER/ci"\n[clients.b]\ntoken_file = "FOLDER/ci"',
            "another client has this token",
        ),
    ],
)
def test_a_token_that_will_not_do_is_refused(tmp_path: Path, tables: str, says: str) -> None:
    (tmp_path / "short").write_text("short")
    settings = load(config=config(tmp_path, tables), environment={}, directory=tmp_path)
    with pytest.raises(ConfigError, match=says):
        client_tokens(settings.clients)


def test_a_token_in_the_place_of_its_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    token = "0123456789abcdef0123456789abcdef"
    with pytest.raises(ConfigError, match="must name a file with the secret") as refused:
        load(config=config(tmp_path, f'[clients.ci]\ntoken_file = "{token}"'), environment={}, directory=tmp_path)
    assert token not in str(refused.value)


@pytest.mark.parametrize("standard", ["mcp", "a2a"])
def test_a_standard_without_clients_is_refused_with_what_to_write(tmp_path: Path, standard: str) -> None:
    with pytest.raises(ConfigError, match=rf"{standard}\.on is true without clients.*docs/connecting/{standard}\.md"):
        load(config=config(tmp_path, f"[{standard}]\non = true"), environment={}, directory=tmp_path)


def test_a_program_may_publish_what_its_table_says(tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text('[publishers.shop]\ntypes = ["orders.>"]\nbegins = ["restock"]\n')
    settings = load(config=file, environment={}, directory=tmp_path)
    scopes = publisher_scopes(settings.publishers)
    assert scopes == {"shop": ClientScopes(events_write=("orders.>",), triggers=("restock",))}


@pytest.mark.parametrize("table", ['types = ["orders..x"]', 'scopes = ["events:write:>"]'])
def test_what_is_no_pattern_or_no_key_is_an_error(table: str, tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text(f"[publishers.shop]\n{table}\n")
    with pytest.raises(ConfigError, match="publishers"):
        load(config=file, environment={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("given", "has"),
    [({}, False), ({"password": "x" * 16}, True), ({"roles": {"operator": "operator.txt"}}, True)],
)
def test_a_link_without_a_password_is_for_consoles_of_which_no_role_has_one(given: dict[str, Any], has: bool) -> None:
    assert ConsoleSettings.model_validate(given).has_passwords is has
