"""What strict execution demands of a reply besides legal statements."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runtime.execution.free.contract import Contract
from runtime.execution.free.position import Position, Rejected
from runtime.execution.free.summaries import sums_up
from runtime.execution.free.verifier import step_line
from runtime.language.flow import Flow
from runtime.language.program import PlaybookSpec
from tests.unit.runtime.execution.test_verifier import SHAPES, only
from tests.unit.runtime.sessions.programs import SPAN, steps

MAIN = PlaybookSpec(
    "Main",
    "llm",
    SPAN,
    steps=steps(
        "01:QUE Ask for the $name; YLD for user", "02:QUE Greet", "03:QUE Look; YLD for user if needed", "04:RET"
    ),
)
STEP = "await Step('Main:02:QUE')"
BIG = "await Trigger('Main:Big:T1:CND')"
SUMMARY = "await Var('__', 'greeted')"


def position(
    step: str | None = "02", *, judges: bool = True, summarised: bool = False, waits: bool = False
) -> Position:
    return Position(
        playbook="Main",
        flow=Flow(MAIN),
        steps={s.line: str(s.op) for s in MAIN.walk_steps()},
        step=step,
        functions=SHAPES,
        names={"name", "count"},
        check_target=only("user"),
        check_source=only("user"),
        variables=frozenset({"name", "count"}),
        triggers={"Big:T1": "Big", "Main:Big:T1": "Big", "Other:Ask:T1": "Other.Ask"},
        strict=True,
        judges=judges,
        summarised=summarised,
        waits=waits,
    )


def followed(lines: Sequence[str], here: Position) -> Rejected | None:
    """What is wrong about the first of the lines that is."""
    contract = Contract()
    for line in lines:
        if line.startswith("#"):
            contract.hear(line.removeprefix("#").strip())
            continue
        rejected = contract.check(line, here)
        if rejected is not None:
            return rejected
        contract.ran(line, here)
        if "Step(" in line:
            here.step = step_line(line.split("'")[1], here)
    return None


@pytest.mark.parametrize(
    "lines",
    [
        (STEP, "# trig? no", "await Say('user', 'x')"),
        (STEP + "  # trig? no", "x = 1"),
        (STEP + "  # trig? Main:Big:T1:CND", BIG, "await Big()"),
        (STEP, "# trig?: No.", "count = 1", "# trig? no", "x = 1"),
        ("await Var('count', 1)", "# trig? no", "await Var('name', 'A')", "# trig? none", "x = 2"),
        (STEP, "# trig? Main:Big:T1:CND", BIG, "await Big()", "x = 1"),
        (STEP, '# trig? `Trigger["Main:Big:T1:CND"]`', BIG, "value = await Big()"),
        (STEP, BIG, "await Big()"),
        (STEP, "# trig? Other:Ask:T1:EVT", "await Trigger('Other:Ask:T1:EVT')", "await Other.Ask('why?')"),
        (STEP, SUMMARY, "await Yld('user')"),
        (STEP, "await Yld('call')"),
        ("x = 1", "y = 2"),
        ("# trig? no", "x = 1"),
    ],
)
def test_triggers_are_checked_and_what_they_start_is_called(lines: Sequence[str]) -> None:
    assert followed(lines, position("01")) is None


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((STEP, "await Say('user', 'x')"), "behind Step Main:02:QUE comes `# trig? no`"),
        (("await Var('count', 1)", "await Say('user', 'x')"), "behind the update of $count comes"),
        (("count = 1", "x = 2"), "behind the update of $count comes"),
        (("name.append('x')", "x = 2"), "behind the update of $name comes"),
        ((STEP, "# recap: going on", "x = 1"), "comes `# trig? no`"),
        ((STEP, "# trig? Main:Big:T1:CND", "await Say('user', 'x')"), "behind `# trig? Main:Big:T1:CND` comes"),
        ((STEP, "# trig? Main:Big:T1:CND", "await Yld('user')"), "behind `# trig? Main:Big:T1:CND` comes"),
        ((STEP, "# trig? Other:Ask:T1:EVT", BIG), "behind `# trig? Other:Ask:T1:EVT` comes"),
        ((STEP, BIG, "x = 1"), "a trigger of Big was said to hold: its call comes next"),
        ((STEP, BIG, "await Yld('user')"), "its call comes next"),
    ],
)
def test_a_missing_check_or_call_is_refused(lines: Sequence[str], says: str) -> None:
    rejected = followed(lines, position("01"))
    assert rejected is not None
    assert rejected.rule == "trigger"
    assert says in rejected.message


NO = "# trig? no"


@pytest.mark.parametrize(
    "source",
    [
        f"if name:\n    {STEP}\n    {NO}\n    await Say('user', 'x')",
        f"if name:\n    {STEP}  {NO}\n    x = 1",
        f"if name:\n    {STEP}\nelse:\n    x = 1",
        f"if name:\n    {STEP}\n    await Yld('user')",
        f"if name:\n    {STEP}\n    {SUMMARY}\n    await Yld('user')",
        f"if name:\n    {STEP}\n    {BIG}\n    await Big()",
        f"for n in [1]:\n    {STEP}\n    {NO}\n    x = n",
        f"for n in [1]:\n    x = n\n    count = n\n    {NO}",
        f"for n in [1]:\n    count = n  {NO}",
        f"try:\n    {STEP}\nexcept ValueError:\n    {STEP}",
        f"if name:\n    if count:\n        {STEP}\n    {NO}\n    x = 1",
        f"if name:\n    text = '# trig? no'\n    {STEP}",
        "for n in [1]:\n    x = n",
    ],
)
def test_triggers_are_checked_inside_of_a_statement_too(source: str) -> None:
    assert followed((source,), position("01")) is None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (f"if name:\n    {STEP}\n    await Say('user', 'x')", "behind Step Main:02:QUE comes"),
        (f"if name:\n    {STEP}\n    x = '# trig? no'", "behind Step Main:02:QUE comes"),
        ("for n in [1]:\n    count = n", "behind the update of $count comes"),
        ("while name:\n    count = 1\n    x = 2", "behind the update of $count comes"),
        (f"if name:\n    if count:\n        {STEP}\n    x = 1", "behind Step Main:02:QUE comes"),
        ("try:\n    count = 1\n    x = 2\nfinally:\n    pass", "behind the update of $count comes"),
        (f"match name:\n    case 'a':\n        {STEP}\n        x = 1", "behind Step Main:02:QUE comes"),
    ],
)
def test_a_check_that_is_missing_inside_of_a_statement_is_refused(source: str, says: str) -> None:
    rejected = followed((source,), position("01"))
    assert rejected is not None
    assert rejected.rule == "trigger"
    assert says in rejected.message
    assert followed((source,), position("01", judges=False)) is None


def test_what_a_statement_ends_with_is_checked_behind_it() -> None:
    block = f"if name:\n    {STEP}"
    assert followed((block, NO, "x = 1"), position("01")) is None
    rejected = followed((block, "x = 1"), position("01"))
    assert rejected is not None
    assert rejected.rule == "trigger"


def test_where_no_trigger_needs_a_model_nothing_is_to_be_said_of_them() -> None:
    assert followed((STEP, "count = 1", "x = 2"), position("01", judges=False)) is None


def test_nothing_begins_to_be_shown_before_the_check() -> None:
    contract, here = Contract(), position("01")
    contract.ran(STEP, here)
    assert contract.check_say(here) is not None
    contract.hear("trig? no")
    assert contract.check_say(here) is None


@pytest.mark.parametrize("source", ["await Return(1)", "await Yld('return')", "if name:\n    await Return(1)"])
def test_a_playbook_returns_only_with_a_summary(source: str) -> None:
    refused = Contract().check(source, position("04"))
    assert refused is not None
    assert refused.rule == "summary"
    assert Contract().check(source, position("04", summarised=True)) is None
    assert Contract().check(f"if name:\n    {SUMMARY}\n    await Return(1)", position("04")) is None


@pytest.mark.parametrize(
    "source", ["await Return(1)", "await Yld('exit')", "await Yld('return')", "await EndProgram()"]
)
def test_a_playbook_ends_only_where_its_steps_do(source: str) -> None:
    refused = Contract().check(source, position("02", summarised=True))
    assert refused is not None
    assert refused.rule == "order"
    assert refused.legal == ("Main:03:QUE",)


@pytest.mark.parametrize(
    "source",
    [STEP, "await Return(1)", "await Yld('exit')", "await EndProgram()", "if name:\n    await Step('Main:02:QUE')"],
)
def test_a_step_that_waits_is_waited_for(source: str) -> None:
    refused = Contract().check(source, position("01", waits=True))
    assert refused is not None
    assert refused.rule == "wait"
    assert Contract().check("await Yld('user')", position("01", waits=True)) is None


def test_only_a_wait_that_nothing_makes_optional_is_demanded() -> None:
    flow = Flow(MAIN)
    assert [line for line in ("01", "02", "03", "04") if flow.waits(line)] == ["01"]


def test_lenient_execution_demands_none_of_it() -> None:
    here = position("01", waits=True)
    here.strict = False
    assert followed((STEP, "count = 1", BIG, "x = 1", "await Return(1)"), here) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (SUMMARY, True),
        ("__ = 'done'", True),
        ("await Var('$__', 'x')", True),
        ("await Var(name='__', value='x')", True),
        ("x = __", False),
        ("x = 1", False),
        (f"if count: {SUMMARY}", False),
        (f"if count: {SUMMARY}\nelse: __ = 'no'", True),
        (f"if count: {SUMMARY}\nelse: raise ValueError()", True),
        (f"for n in [1]: {SUMMARY}", False),
        (f"while count: {SUMMARY}", False),
        (f"for n in [1]: pass\nelse: {SUMMARY}", False),
        (f"try: {SUMMARY}\nexcept ValueError: pass", False),
        (f"try: {SUMMARY}\nexcept ValueError: {SUMMARY}", True),
        (f"try: count = 1\nexcept ValueError: pass\nfinally: {SUMMARY}", True),
        (f"with count: {SUMMARY}", True),
        (f"match count:\n    case 1: {SUMMARY}", False),
        (f"match count:\n    case 1: {SUMMARY}\n    case _: {SUMMARY}", True),
        (f"count and {SUMMARY}", False),
        (f"async def later(): {SUMMARY}", False),
    ],
)
def test_a_summary_is_known_however_it_is_set_and_only_where_nothing_goes_past_it(source: str, expected: bool) -> None:
    assert sums_up(source) is expected


@pytest.mark.parametrize(
    ("source", "may"),
    [
        (f"if count: {SUMMARY}\nawait Return(1)", False),
        (f"if count:\n    {SUMMARY}\n    await Return(1)\nelse:\n    await Return(2)", False),
        (f"if count:\n    {SUMMARY}\nelse:\n    await Return(2)", False),
        (f"if count:\n    {SUMMARY}\n    await Return(1)", True),
        (f"if count: await Yld('user')\nelse: {SUMMARY}\nawait Return(1)", True),
        (f"for n in [1]:\n    if n: {SUMMARY}\n    await Return(n)", False),
        (f"for n in [1]:\n    {SUMMARY}\n    await Return(n)", True),
    ],
)
def test_a_summary_on_another_way_does_not_count(source: str, may: bool) -> None:
    refused = Contract().check(source, position("04"))
    assert (refused is None) is may
    assert may or (refused is not None and refused.rule == "summary")
