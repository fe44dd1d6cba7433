"""What tells the versions of a playbook apart."""

import pytest
from msgspec.structs import replace

from runtime.language.pbasm.versions import FrameVersion, differences, listed, outline, stands_on, version_of
from runtime.language.program import AgentKind, Param
from tests.unit.runtime.sessions.programs import agent, llm, program, python

STEPS = llm("Main", "01:QUE Ask", "02:YLD for user")


def test_a_version_says_kind_signature_and_the_digest_of_each_step() -> None:
    version = FrameVersion.read(version_of(agent("A", STEPS), STEPS))
    assert (version.kind, version.code, list(version.steps)) == ("llm", "", ["01", "02"])
    assert len(version.signature) == len(version.steps["01"]) == 8


def test_only_what_a_caller_gives_is_its_signature() -> None:
    def signature(*params: Param) -> str:
        return FrameVersion.read(version_of(agent("A"), replace(STEPS, params=params))).signature

    assert signature(Param("x")) == signature(Param("x", default="1", type="int"))
    assert len({signature(), signature(Param("x")), signature(Param("x", state=True)), signature(Param("y"))}) == 4


def test_python_stands_on_its_own_function_and_on_what_all_share() -> None:
    one, other = python("One"), python("Other")

    def code(source: str, playbook: str = "One") -> str:
        made = agent("A", one, other, code=source)
        return FrameVersion.read(version_of(made, one if playbook == "One" else other)).code

    base = "X = 1\ndef One(): pass\ndef Other(): pass\n"
    assert code(base) == code("# a remark\nX = 1\n\ndef One():\n    pass\ndef Other(): pass\n")
    assert code(base) == code(base.replace("def Other(): pass", "def Other(): return 2"))
    assert code(base) != code(base.replace("X = 1", "X = 2"))
    assert code(base) != code(base.replace("def One(): pass", "def One(): return 2"))
    assert code(base) != code(base, "Other")


@pytest.mark.parametrize(
    ("location", "lines"),
    [("Main:02:QUE", ["02"]), ("Main:02", ["02"]), ("Main:02.01.03:QUE", ["02", "02.01", "02.01.03"])],
)
def test_a_step_stands_on_the_steps_that_it_is_part_of(location: str, lines: list[str]) -> None:
    assert list(stands_on(location)) == lines


def test_a_version_of_another_form_is_none_that_a_playbook_has() -> None:
    old, now = FrameVersion.read("28a69ddcddbb"), FrameVersion.read(version_of(agent("A", STEPS), STEPS))
    assert old.kind != now.kind
    assert old.steps == {}


def test_an_outline_tells_what_changed_came_and_went() -> None:
    old = outline(program(agent("A", STEPS, llm("Gone", "01:QUE x"))))
    new = outline(program(agent("A", replace(STEPS, notes=("a note",)), llm("New", "01:QUE x"))))
    assert differences(old, new) == {"changed": ["Main"], "added": ["New"], "removed": ["Gone"]}
    assert differences(old, old) == {}


def test_the_tools_of_remote_agents_are_not_in_the_outline() -> None:
    remote = replace(agent("Far", llm("tool")), kind=AgentKind.MCP)
    assert list(outline(program(agent("A", STEPS), remote))) == ["A.Main"]


def test_a_list_is_cut() -> None:
    assert (listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])) == ("a, b", "a, b, c (+2)")
