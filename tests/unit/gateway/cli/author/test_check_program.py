"""`parley check FILE`: every failure is a diagnostic, and a program that is right is described."""

import json
import subprocess
from pathlib import Path

import pytest

from gateway.assembly.checking import checked
from gateway.cli.output.diagnosis import overview
from runtime.core.errors import CompileError
from runtime.language import compiler
from runtime.language.pbasm.notation import read
from tests.e2e.gateway_process import ROOT, environment_of
from tests.e2e.warm_starts import parley_command

pytestmark = pytest.mark.usefixtures("warm_starts")

HELLO = "# Greeter\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Greet the user\n- End program\n"


def _check(directory: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(directory, variables)
    command = parley_command(["check", *arguments], environment)
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def _said(path: Path) -> str:
    found, result = checked([path])
    assert result is None
    assert [one.severity for one in found] == ["error"] * len(found)
    return "\n".join(one.render() for one in found)


def test_a_right_program_is_described_and_no_warning_is_made_up(tmp_path: Path) -> None:
    (tmp_path / "hello.pb").write_text(HELLO)
    done = _check(tmp_path, "hello.pb")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "✓ hello.pb: valid. 1 agent (Greeter) and 1 playbook. It starts with Main.\n"


def test_a_program_with_warnings_is_valid_and_their_number_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text(HELLO.replace("Greet the user", "Greet $nmae"))
    done = _check(tmp_path, "a.pb")
    assert done.returncode == 0
    assert "a.pb:7:9: warning: $nmae is read and never set\n  7 | - Greet $nmae\n    |         ^^^^^\n" in done.stdout
    assert "✓ a.pb: valid with 1 warning." in done.stdout


def test_participants_of_extensions_may_be_spoken_to_and_nobody_else(tmp_path: Path) -> None:
    extension = 'extension = Extension("pager", api=1)\n@extension.participant("Pager")\ndef page(message):\n    pass\n'
    (tmp_path / "my_ext.py").write_text(f"from parley.ext import Extension\n{extension}")
    (tmp_path / "parley.toml").write_text('[extensions]\nmodules = ["my_ext"]\n')
    (tmp_path / "a.pb").write_text(HELLO.replace("Greet the user", 'Say(Pager, "wet")\n- Say(Pgr, "wet")'))
    done = _check(tmp_path, "a.pb", "--config", "parley.toml", PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert "there is nobody called Pgr" in done.stdout
    assert "✓ a.pb: valid with 1 warning." in done.stdout


def test_editors_get_the_end_of_the_word_and_what_cannot_work_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text(HELLO.replace("Greet the user", "Greet $nmae\n- Gret()"))
    done = _check(tmp_path, "a.pb", "--json")
    found = json.loads(done.stdout)
    assert [(one["line"], one["column"], one["end_column"]) for one in found] == [(7, 9, 14), (8, 3, 7)]
    assert [one["severity"] for one in found] == ["warning", "error"]
    assert done.returncode == 2


def test_checking_a_program_reads_no_settings_and_starts_no_server(tmp_path: Path) -> None:
    (tmp_path / "hello.pb").write_text(f"{HELLO}- Perhaps_of_an_extension()\n")
    (tmp_path / "parley.toml").write_text("this is no TOML")
    done = _check(tmp_path, "hello.pb", PARLEY_DATA_DIR=str(tmp_path / "data"), PATH="")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hello.pb", "parley.toml"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a.pb:1:1: error: the program has no agent"),
        (b"# A\n\n\xff\xfe", "a.pb:3:1: error: "),
        (b"# A\n\n\xff\xfe", "is not UTF-8 text"),
        (b"# A\n\n```python\ndef f(:\n```\n", "a.pb:4:7: error: this is not Python"),
        (b"# A\n\n```python\nx = " + b"(" * 5000 + b")" * 5000 + b"\n```\n", "error: this is not Python"),
        (b"---\ntitle: [\n---\n# A\n", "a.pb:2:9: error: this is not YAML"),
        (b"# A\nmetadata:\n  a: " + b"[" * 5000 + b"\n---\n", "error: this is not YAML"),
        (b"# A\n!import a.pb\n", "the imports go in a circle"),
        (b"# A\n```public.json\n" + b"[" * 100_000 + b"\n```\n", "error: this JSON is too deeply nested"),
    ],
    ids=["empty", "bytes-line", "bytes", "syntax", "deep-python", "yaml", "deep-yaml", "circle", "deep-json"],
)
def test_a_file_that_cannot_be_used_is_a_diagnostic(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(content)
    assert said in _said(tmp_path / "a.pb")


def test_a_folder_stands_for_the_one_program_in_it_and_is_a_diagnostic_otherwise(tmp_path: Path) -> None:
    assert f"{tmp_path}:1:1: error: {tmp_path} is a directory" in _said(tmp_path)
    (tmp_path / "shop.test.md").write_text("# Talks")
    (tmp_path / "shop.pb").write_text("# Shop\n\n## Main(\n")
    assert f"{tmp_path}/shop.pb:3:8: error: this is not a signature" in _said(tmp_path)
    (tmp_path / "other.pbasm").write_text("")
    assert f"{tmp_path}:1:1: error: {tmp_path} is a directory" in _said(tmp_path)


def test_a_file_that_is_missing_is_a_diagnostic(tmp_path: Path) -> None:
    assert f"{tmp_path / 'a.pb'}:1:1: error: no such file" in _said(tmp_path / "a.pb")


def test_a_file_that_may_not_be_read_is_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pb").write_text(HELLO)

    def refuse(_path: Path, _mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert f"cannot read {tmp_path / 'a.pb'}: Permission denied" in _said(tmp_path / "a.pb")


def test_an_import_that_would_fail_is_a_warning_and_nothing_is_executed(tmp_path: Path) -> None:
    code = "import no_such_module\nraise SystemExit('executed')"
    (tmp_path / "a.pb").write_text(f"{HELLO}\n```python\n{code}\n```\n")
    found, result = checked([tmp_path / "a.pb"])
    assert result is not None
    assert [(one.message, one.span.line) for one in found] == [("there is no module no_such_module", 11)]


def test_a_module_beside_the_program_is_there(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("x = 1\n")
    (tmp_path / "a.pb").write_text(f"{HELLO}\n```python\nimport beside\n```\n")
    found, _ = checked([tmp_path / "a.pb"])
    assert found == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RecursionError("maximum recursion depth exceeded"), "error: this program is too deeply nested"),
        (CompileError("Greeter was compiled to something else"), "error: Greeter was compiled to something else"),
        (KeyError("nothing"), "error: the check failed: KeyError: 'nothing'\n  This is a fault of Parley"),
    ],
)
def test_a_failure_of_the_check_is_a_diagnostic(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_arguments: object, **_named: object) -> None:
        raise error

    (tmp_path / "a.pb").write_text(HELLO)
    monkeypatch.setattr(compiler, "compile_parsed", fail)
    assert said in _said(tmp_path / "a.pb")


STEPS = "# Shop\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $p = PriseOf(1)\n- $q = PriceOf(1)\n"
LATER = [(7, "there is no playbook PriseOf"), (9, "step Main:03: there is no such step")]


@pytest.mark.parametrize(
    ("wrong", "structure"),
    [
        ("## PriceOf\n- Return 3\n\n## Main\n", [(14, "there is a playbook Main already, at {}:3:4")]),
        (
            "```python\n@playbook\ndef PriceOf(item):\n    return [item\n```\n",
            [(14, "this is not Python: '[' was never closed")],
        ),
        ("## PriceOf($item\n- Return 3\n", [(11, "this is not a signature: the parenthesis is never closed")]),
        ("## PriceOf\n- Return 3\n\n# Shop\n", [(14, "there is an agent Shop already, at {}:1:3")]),
        ("## PriceOf\n### Stepps\n- Return 3\n", [(12, "there is no section 'Stepps'")]),
    ],
    ids=["playbook-twice", "python", "signature", "agent-twice", "section"],
)
def test_errors_of_the_structure_and_of_the_steps_are_found_in_one_round(
    wrong: str, structure: list[tuple[int, str]], tmp_path: Path
) -> None:
    path = tmp_path / "a.pb"
    path.write_text(f"{STEPS}- Go back to step 99\n\n{wrong}")
    found, _ = checked([path])
    assert [(one.span.line, one.message) for one in found if one.severity == "error"] == [
        *LATER,
        *((line, said.format(path)) for line, said in structure),
    ]


def test_errors_of_people_codes_and_jumps_are_found_in_one_round(tmp_path: Path) -> None:
    cook = "# {}\n## Main\n### Triggers\n- T1:BGNN At the beginning\n### Steps\n- 01:QUE Say(user, Hi)\n- 02:JMP 07\n\n"
    (tmp_path / "a.pb").write_text(
        f"{cook.format('Cook')}{cook.format('Baker')}# Ada:Human\n\n# Bob:Human\nname: Ada\n"
    )
    assert [one.message for one in checked([tmp_path / "a.pb"])[0]] == [
        *("there is no trigger code BGNN", "this jumps to step 07, which does not exist") * 2,
        "Ada and Bob have the same name",
    ]


def test_the_number_of_errors_is_said_last_whatever_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text(f"{STEPS}\n## Main\n")
    done = _check(tmp_path, "a.pb")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (2, "✗ a.pb: 3 errors. The program cannot run.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# A\n\n## P()\n### Triggers\n- T1:BGN At the beginning\n### Steps\n"
            "- 01:QUE Say(user, Hello); YLD for user\n- 02:YLD for agent Cook\n\n# Cook\n\n# Ada:Human\n",
            "2 agents (A and Cook), 1 person (Ada) and 1 playbook. It starts with A.P. It waits for the user and Cook.",
        ),
        (
            "# A\n\n## P()\nmetadata:\n  cli_entry: true\n---\nx\n\n## Q()\nx\n",
            "1 agent (A) and 2 playbooks. `parley exec` runs P.",
        ),
        (
            "# A\n\n## P()\nx\n### Triggers\n- T1:EVT When asked\n",
            "1 agent (A) and 1 playbook. It starts when a trigger is true.",
        ),
        ("# A\nmetadata:\n  startup_mode: standby\n---\nx\n", "1 agent (A) and no playbooks. A is on standby."),
        ("".join(f"# A{n}\n" for n in range(8)), "8 agents (A0, A1, A2, A3, A4 and 3 more) and no playbooks."),
    ],
)
def test_the_overview_says_who_is_there_what_starts_and_who_is_waited_for(text: str, said: str) -> None:
    assert overview(read(text, "a.pbasm")) == said
