"""Files become lines that remember where they came from."""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.language.diagnostics import ProgramRejected
from runtime.language.syntax.source import MAX_FILE_BYTES, MAX_IMPORT_DEPTH, read_paths, read_text


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.pb").write_text(text, encoding="utf-8")
    return folder


def rejected(paths: Sequence[str | Path]) -> str:
    with pytest.raises(ProgramRejected) as caught:
        read_paths(paths)
    return str(caught.value)


def test_a_glob_matches_no_talks(tmp_path: Path) -> None:
    for name in ("b.md", "b.test.md"):
        (tmp_path / name).write_text("# B\n", encoding="utf-8")
    assert read_paths([tmp_path / "*.md"]).files == (str(tmp_path / "b.md"),)
    assert read_paths([tmp_path / "b.test.md"]).files == (str(tmp_path / "b.test.md"),)


def test_globs_are_sorted_and_each_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, b="# B", a="# A")
    source = read_paths([tmp_path / "b.pb", f"{tmp_path}/*.pb", f"{tmp_path}/../{tmp_path.name}/a.pb"])
    assert [line.text for line in source.lines if line.text] == ["# B", "# A"]
    assert source.name == "b"


def test_each_line_knows_its_file_and_number(tmp_path: Path) -> None:
    write(tmp_path, main="#!/usr/bin/env parley\n---\ntitle: T\n---\n# A\n!import part.pb\nend", part="one\ntwo\n")
    source = read_paths([tmp_path / "main.pb"])
    places = [(Path(line.file).name, line.number, line.text) for line in source.lines if line.text]
    assert places == [("main.pb", 5, "# A"), ("part.pb", 1, "one"), ("part.pb", 2, "two"), ("main.pb", 7, "end")]
    assert source.name == "T"


def test_import_keeps_the_indentation_of_its_line_and_columns_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, main="- a\n  !import part.pb  # the rest", part="- b\n\n  - c")
    lines = read_paths([tmp_path / "main.pb"]).lines
    assert [line.text for line in lines] == ["- a", "  - b", "", "    - c"]
    assert lines[3].span(5).column == 3


def test_imports_are_found_from_the_importing_file_then_from_the_first_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(tmp_path, main="!import parts/one.pb", shared="shared")
    write(tmp_path / "parts", one="!import two.pb\n!import shared.pb", two="two")
    assert [line.text for line in read_paths([tmp_path / "main.pb"]).lines] == ["two", "shared"]


def test_import_in_a_circle_is_refused_at_its_line(tmp_path: Path) -> None:
    write(tmp_path, a="!import b.pb", b="\n!import a.pb")
    text = rejected([tmp_path / "a.pb"])
    assert f"{tmp_path}/b.pb:2:9: error: the imports go in a circle: a.pb imports b.pb imports a.pb" in text


def test_import_too_deep_is_refused(tmp_path: Path) -> None:
    depth = MAX_IMPORT_DEPTH + 1
    write(tmp_path, **{f"f{n}": f"!import f{n + 1}.pb" for n in range(depth)}, **{f"f{depth}": "end"})
    assert f"imports go deeper than {MAX_IMPORT_DEPTH} files" in rejected([tmp_path / "f0.pb"])
    assert read_paths([tmp_path / "f1.pb"]).lines[0].text == "end"


def test_import_that_doubles_itself_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    names = [f"f{n}" for n in range(9)]
    write(tmp_path, **{name: f"!import {after}.pb\n" * 8 for name, after in itertools.pairwise(names)})
    write(tmp_path, f8="x" * 1000)
    assert "is too big" in rejected([tmp_path / "f0.pb"])


def test_missing_files_directories_and_bytes_are_refused_together(tmp_path: Path) -> None:
    (tmp_path / "latin.pb").write_bytes(b"# A\ncaf\xe9")
    (tmp_path / "big.pb").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    paths: list[str | Path] = [
        tmp_path / "none.pb",
        f"{tmp_path}/*.md",
        tmp_path,
        tmp_path / "latin.pb",
        tmp_path / "big.pb",
    ]
    text = rejected(paths)
    assert f"{tmp_path}/none.pb:1:1: error: no such file" in text
    assert f"{tmp_path}/*.md:1:1: error: no such file" in text
    assert f"{tmp_path} is a directory" in text
    assert f"{tmp_path}/latin.pb:2:1: error:" in text
    assert "byte 7 is 0xe9" in text
    assert "big.pb is too big (1,048,577 bytes)" in text


def test_no_path_is_refused() -> None:
    assert "no file was given" in rejected([])


def test_path_that_no_system_takes_is_refused() -> None:
    assert "no such file" in rejected(["a\0b"])
    assert "no such file" in rejected(["a" * 5000])


def test_frontmatter_of_all_files_is_merged_and_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a="---\ntitle: A\n---\n# A", b="---\nversion: 1\n---\n# B", c="---\nauthor: x\ntitle: C\n---\n")
    assert read_paths([tmp_path / "a.pb", tmp_path / "b.pb"]).metadata == {"title": "A", "version": 1}
    text = rejected([tmp_path / "a.pb", tmp_path / "c.pb"])
    assert f"c.pb:3:1: error: the frontmatter key `title` was already given in {tmp_path}/a.pb" in text


def test_line_ends_of_all_systems_count_the_same() -> None:
    lines = read_text("\ufeffa\r\nb\rc\nd\u2028e", "x.pb").lines
    assert [line.text for line in lines] == ["a", "b", "c", "d\u2028e"]


def test_an_import_of_a_device_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, zero="!import /dev/zero", waits="!import pipe")
    assert "cannot read /dev/zero: it is not a regular file" in rejected([tmp_path / "zero.pb"])
    assert "pipe: it is not a regular file" in rejected([tmp_path / "waits.pb"])


def test_a_file_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    assert "/dev/zero is too big" in rejected(["/dev/zero"])


def test_a_misspelled_file_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "pizza.pb").write_text("# A\n")
    (tmp_path / "piza.test.md").write_text("")
    assert f"Did you mean {tmp_path}/pizza.pb?" in rejected([tmp_path / "piza.pb"])
