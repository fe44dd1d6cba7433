"""The settings' tables of publishers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.clients.scopes import Scopes
from gateway.settings.clients import publisher_scopes
from gateway.settings.tree import load
from runtime.core.errors import ConfigError


def test_a_program_may_publish_what_its_table_says(tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text('[publishers.shop]\ntypes = ["orders.>"]\nbegins = ["restock"]\n')
    settings = load(config=file, environment={}, directory=tmp_path)
    scopes = publisher_scopes(settings.publishers)
    assert scopes == {"shop": Scopes(events_write=("orders.>",), triggers=("restock",))}


@pytest.mark.parametrize("table", ['types = ["orders..x"]', 'scopes = ["events:write:>"]'])
def test_what_is_no_pattern_or_no_key_is_an_error(table: str, tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text(f"[publishers.shop]\n{table}\n")
    with pytest.raises(ConfigError, match="publishers"):
        load(config=file, environment={}, directory=tmp_path)
