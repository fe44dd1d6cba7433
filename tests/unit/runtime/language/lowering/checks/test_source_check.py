"""A step that a model read, held against its source."""

from __future__ import annotations

import pytest

from runtime.language.lowering.checks.source_check import strays
from runtime.language.pbasm.notation import read
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

SOURCE = "# A\n## Main\n### Steps\n- If x\n  - Greet the user\n  - End program\n"
HEAD = "# A\n## Main()\n### Steps\n- 01:CND If x\n"


@pytest.mark.parametrize(
    ("below", "is_another"),
    [
        ("  - 01.01:QUE Say(user, Greet the user)\n  - 01.02:YLD for exit\n", False),
        ("  - 01.01:YLD for exit\n", True),
        ("".join(f"  - 01.{number:02}:EXE x\n" for number in range(1, 30)), True),
    ],
    ids=["the same", "lost", "invented"],
)
def test_lost_and_invented_steps_are_something_else(below: str, is_another: bool) -> None:
    (item,) = parse(read_text(SOURCE, "p.pb")).agents[0].playbooks[0].steps
    (step,) = read(f"{HEAD}{below}", "p.pbasm").agents[0].playbooks[0].steps
    assert strays(item, step) is is_another
