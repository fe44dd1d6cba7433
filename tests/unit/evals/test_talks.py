"""A talk file is read strictly: a check that nobody makes is worse than none."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.talks import Call, Line, Talk, TalkRejected, cases, read_call


def written(folder: Path, text: str) -> Path:
    file = folder / "01-a.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_lines_are_texts_or_tables(tmp_path: Path) -> None:
    text = 'title = "a"\nlines = ["Hello", { by = "Bob", text = "Hi", answered = ["hi"] }]\n[expect]\nends = true'
    talk = Talk.read(written(tmp_path, text))
    assert talk.lines == [Line(text="Hello", by="Ada"), Line(text="Hi", by="Bob", answered=["hi"])]
    assert talk.replies is None


@pytest.mark.parametrize(
    ("expect", "place"),
    [
        ("sayed = []", "expect.sayed"),
        ('said = ["("]', "expect.said.0"),
        ("called = [\"Pay('x')\"]", "expect.called.0"),
        ('called = ["Pay"]', "expect.called.0"),
        ('ends = "yes"', "expect.ends"),
        ("max_messages = 0", "expect.max_messages"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused_with_its_place(tmp_path: Path, expect: str, place: str) -> None:
    file = written(tmp_path, f'title = "a"\n[expect]\n{expect}')
    with pytest.raises(TalkRejected, match=rf"^01-a\.toml: {place}: "):
        Talk.read(file)


def test_a_call_is_read_with_its_agent_and_its_arguments() -> None:
    assert read_call("Cook.Stir(times=3, pots=['a'])") == Call("Stir", {"times": 3, "pots": ["a"]}, "Cook")
    assert str(read_call("Stir(times=3)")) == "Stir(times=3)"


def test_a_program_without_a_talk_is_refused(tmp_path: Path) -> None:
    (tmp_path / "01-a.pb").touch()
    with pytest.raises(TalkRejected, match="01-a"):
        cases(tmp_path)


def test_programs_are_chosen_by_parts_of_their_names(tmp_path: Path) -> None:
    for name in ("01-greet", "02-order", "03-order-desk"):
        (tmp_path / f"{name}.pb").touch()
        (tmp_path / f"{name}.toml").write_text('title = "a"\n[expect]', encoding="utf-8")
    assert [case.name for case in cases(tmp_path, only="greet, desk")] == ["01-greet", "03-order-desk"]
    assert len(cases(tmp_path)) == 3
