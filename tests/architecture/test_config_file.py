"""config/parley.toml and the Settings tree say the same."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

from gateway.settings.sources import flat, variable_name
from gateway.settings.tree import NAMED_TABLES, TABLES, Settings, keys, load, secret_keys

CONFIG = Path(__file__).parents[2] / "config" / "parley.toml"


def _uncommented() -> str:
    return re.sub(r"^#(?=[a-z_]+ = )", "", CONFIG.read_text(), flags=re.MULTILINE)


def test_every_key_stands_in_the_file_and_no_other() -> None:
    in_file = set(flat(tomllib.loads(_uncommented())))
    assert in_file == set(keys()) - set(secret_keys()) - TABLES - NAMED_TABLES


def test_every_table_whose_keys_the_user_chooses_is_shown_by_an_example() -> None:
    assert [table for table in TABLES if f"#   [{table}]" not in CONFIG.read_text()] == []
    assert [table for table in NAMED_TABLES if f"#   [{table}." not in CONFIG.read_text()] == []


def test_every_default_in_the_file_is_the_default_in_the_code(tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text(_uncommented())
    assert load(config=file, environment={}, directory=tmp_path).model_dump() == Settings().model_dump()


def test_every_secret_is_explained_by_its_variable() -> None:
    text = CONFIG.read_text()
    assert [key for key in secret_keys() if f"#   {variable_name(key)} " not in text] == []


def test_the_file_as_it_stands_changes_nothing() -> None:
    assert flat(tomllib.loads(CONFIG.read_text())) == {}


def test_every_key_has_a_comment_above_it() -> None:
    lines = CONFIG.read_text().splitlines()
    keyed = re.compile(r"#[a-z_]+ = ")
    bare = [
        line
        for above, line in itertools.pairwise(lines)
        if keyed.match(line) and not above.startswith("# ") and not keyed.match(above)
    ]
    assert bare == []
