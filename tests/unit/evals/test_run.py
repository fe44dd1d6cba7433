"""A run is a real session: a talk file is read strictly, and people say their lines when it waits for them."""

import json
import re
from pathlib import Path

import pytest

from evals.run import main
from evals.talks import Call, Line, Talk, TalkRejected, cases, read_call

CLERK = '''\
# Clerk

```python
@playbook(triggers=["When program starts"])
async def Main():
    """Talks."""
    await Say("user", "Your name?")
    [message] = await WaitForMessage("user")
    await Note(message["text"], times=2)
    await Say("user", await Motto(who=message["text"]))
    choice = await Ask("Is that fine?", ["Yes", "No"])
    await Say("user", f"You say {choice}.")
    await EndProgram()


@playbook
async def Note(name: str, times: int = 1):
    """Notes a name."""
```

## Motto($who)
execution_mode: raw
Write a motto for {$who}.
'''

TALK = """\
title = "a clerk"
lines = ["Grace", { text = "Yes", answered = ["You say Yes"] }]
replies = ["Never stop."]

[expect]
ends = true
said = ["your name", "never stop", '\\[Yes\\] \\[No\\]']
called = ["Main()", "Note(name='Grace', times=2)"]
variables = { who = "Grace" }
max_messages = 4
"""


def table(printed: str) -> list[list[str]]:
    """The cells of a table, with the names of its columns first; without its last row."""
    lines = printed.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("program "))
    end = next(number for number, line in enumerate(lines) if line.startswith("all "))
    return [re.split(r" {2,}", line.strip()) for line in lines[start:end]]


def evals(folder: Path, *arguments: str, program: str = CLERK, talk: str = TALK) -> int:
    (folder / "01-clerk.pb").write_text(program, encoding="utf-8")
    (folder / "01-clerk.toml").write_text(talk, encoding="utf-8")
    return main(["--programs", str(folder), *arguments])


def test_a_program_is_run_with_scripted_replies_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs" / "scripted.jsonl"
    assert evals(tmp_path, "--times", "2", "--results", str(file)) == 0
    runs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(run["model"], run["program"], run["wrong"]) for run in runs] == [("scripted", "01-clerk", [])] * 2
    cost = runs[0]["record"]["cost"]
    assert (cost["calls"], cost["chars_out"], cost["chars_shown"]) == (1, len("Never stop."), 57)
    assert len(cost["unseen_chars"]) == 3
    assert [shown["text"] for shown in runs[0]["record"]["shown"]][:2] == ["Your name?", "Never stop."]
    assert f"All that happened is in {file}." in capsys.readouterr().out


def test_what_nobody_tuned_on_is_summed_up_on_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("programs", "unseen"):
        (tmp_path / name).mkdir()
    evals(tmp_path / "programs", talk=TALK.replace("times=2", "times=3"))
    capsys.readouterr()
    for number in (2, 3):
        (tmp_path / "unseen" / f"0{number}-clerk.pb").write_text(CLERK, encoding="utf-8")
        (tmp_path / "unseen" / f"0{number}-clerk.toml").write_text(TALK, encoding="utf-8")
    folders = ["--programs", str(tmp_path / "programs"), str(tmp_path / "unseen")]
    assert main(folders) == 1
    rows = [row[:2] for row in table(capsys.readouterr().out)[1:]]
    assert rows == [["01-clerk", "0/1"], ["02-clerk", "1/1"], ["03-clerk", "1/1"], ["tuned", "0/1"], ["unseen", "2/2"]]
    assert main([*folders, "--only", "02, 03"]) == 0
    assert [row[0] for row in table(capsys.readouterr().out)[1:]] == ["02-clerk", "03-clerk"]


def test_runs_that_stand_in_the_result_file_are_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scripted.jsonl"
    evals(tmp_path, "--results", str(file))
    row = table(capsys.readouterr().out)[1]
    with file.open("a", encoding="utf-8") as cut_off:
        cut_off.write('{"model": "scripted", "program": "01-cl')
    other = TALK.replace("Never stop.", "Always stop.")
    assert evals(tmp_path, "--times", "2", "--results", str(file), talk=other) == 1
    assert [json.loads(line)["wrong"] for line in file.read_text().splitlines()] == [[], ["nobody said /never stop/"]]
    assert table(capsys.readouterr().out)[1][:3] == ["01-clerk", "1/2", row[2]]
    assert evals(tmp_path, "--results", str(file), talk=other) == 0
    assert table(capsys.readouterr().out)[1] == row


@pytest.mark.parametrize(
    ("line", "why"),
    [('{"model": "other", "program": "01-clerk"}', "holds runs of other, not of scripted"), ("[]", "line 1, is no")],
)
def test_a_result_file_of_something_else_is_refused_and_left_alone(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(f"{line}\n", encoding="utf-8")
    assert evals(tmp_path, "--results", str(file)) == 2
    assert why in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == f"{line}\n"


def test_the_table_says_what_was_wrong_and_the_exit_code_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evals(tmp_path, talk=TALK.replace("times=2", "times=3")) == 1
    assert "01-clerk: called Clerk.Main(), Clerk.Note(name='Grace', times=2) instead of" in capsys.readouterr().out


def test_a_model_that_is_asked_too_often_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evals(tmp_path, talk=TALK.replace('["Never stop."]', "[]")) == 1
    assert "01-clerk: failed: " in capsys.readouterr().out


def test_a_program_whose_people_have_nothing_more_to_say_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evals(tmp_path, talk=TALK.replace(', { text = "Yes", answered = ["You say Yes"] }', "")) == 1
    assert "01-clerk: it did not end" in capsys.readouterr().out


def test_a_talk_without_replies_is_not_run_on_scripted_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evals(tmp_path, talk=TALK.replace('replies = ["Never stop."]', "")) == 0
    assert "01-clerk: not run: its talk has no replies" in capsys.readouterr().out


def test_a_name_that_no_program_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evals(tmp_path, "--only", "baker") == 2
    assert "baker" in capsys.readouterr().err


def test_the_course_of_a_run_is_told_in_its_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evals(tmp_path, "--course") == 0
    told = [line.split(maxsplit=1) for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert [line[0] for line in told] == [
        *("call", "shown", "person", "call", "asked", "wrote", "shown", "shown", "[Yes]", "person", "shown")
    ]
    assert ["wrote", "Never stop."] in told


def test_a_run_that_takes_too_long_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = CLERK.replace("    [message] =", "    await Sleep(86400)\n    [message] =")
    assert evals(tmp_path, "--limit-s", "0.3", program=program) == 1
    assert "01-clerk: too long: it took more than 0.3 s" in capsys.readouterr().out


def test_a_run_that_never_stops_talking_is_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = CLERK.replace("    [message] =", "    while True:\n        await Ask('Well?')\n    [message] =")
    lines = ", ".join(['"Go on"'] * 100)
    assert evals(tmp_path, program=program, talk=TALK.replace('"Grace"', lines, 1)) == 1
    assert "01-clerk: too much: more than 60 messages" in capsys.readouterr().out


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
