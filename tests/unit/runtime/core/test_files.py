"""Names and ids of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.files import clean_file_name, file_id


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\a\\b.txt", "b.txt"),
        ("..", "file"),
        ("", "file"),
        (" . a .txt ", "a .txt"),
        ("evil\u202etxt.exe\x00\n", "eviltxt.exe"),
        ('a<b>:"|?*.md', "ab.md"),
        ("x" * 200 + ".md", "x" * 117 + ".md"),
        ("x" * 200, "x" * 120),
        ("x." + "y" * 200, "x." + "y" * 118),
    ],
)
def test_a_name_is_only_a_name(name: str, clean: str) -> None:
    assert clean_file_name(name) == clean


@given(st.text(max_size=300))
def test_no_name_leaves_its_folder(name: str) -> None:
    clean = clean_file_name(name)
    assert 0 < len(clean) <= 120
    assert clean.isprintable()
    assert not set(clean) & set('/\\<>:"|?*')
    assert clean not in (".", "..")
    assert clean_file_name(clean) == clean


def test_the_border_between_type_and_content_counts() -> None:
    assert file_id(b"b", "a") != file_id(b"", "ab")
