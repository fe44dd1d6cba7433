"""Which statements a reply may consist of."""

import pytest

from runtime.core.errors import UnknownTarget
from runtime.execution.frames.signatures import CallShape
from runtime.execution.free.scope import Position
from runtime.execution.free.verifier import ends_turn, verify, verify_say_head
from runtime.language.program import PlaybookSpec
from tests.unit.runtime.sessions.programs import SPAN, steps

SHAPES = {
    "Step": CallShape(("location",), 1),
    "Say": CallShape(("target", "message"), 2),
    "Var": CallShape(("name", "value"), 2),
    "Trigger": CallShape(("code",), 1),
    "Yld": CallShape(("source",), 1),
    "Return": CallShape(("value",), 0),
    "Weather": CallShape(("city", "day"), 1),
    "Other.Ask": CallShape(("question",), 1),
}
MAIN = PlaybookSpec(
    "Main",
    "llm",
    SPAN,
    steps=steps("01:QUE Ask for the $name; YLD for user", "02:QUE Greet", "03:YLD for exit"),
)


def only(*known: str):  # type: ignore[no-untyped-def]
    def check(text: str) -> str:
        if text not in known:
            raise UnknownTarget(f"nobody called {text!r}")
        return text

    return check


def position(*, with_steps: bool = True) -> Position:
    return Position(
        playbook="Main",
        steps={s.line: str(s.op) for s in MAIN.walk_steps()} if with_steps else {},
        functions=SHAPES,
        names={"name", "count"},
        check_target=only("user", "Other"),
        check_source=only("user", "agent 1001"),
        types={"count": "int", "name": "str"},
        triggers={"Big:T1": "Big"},
    )


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("parse", "await Say('user'"),
        ("say", "await Say('user', 'a') if count else None"),
        ("say", "count and await Say('user', 'a')"),
        ("policy", "class A: pass"),
        ("policy", "import os"),
        ("policy", "open('/etc/passwd')"),
        ("policy", "Say = print"),
        ("step", "await Step('Main:99:QUE')"),
        ("step", "await Step('Main:02:CND')"),
        ("step", "await Step('Other:02:QUE')"),
        ("step", "await Step(name)"),
        ("name", "x = nothing"),
        ("name", "await Say('user', f'{nothing}')"),
        ("name", "await Wether('Oslo')"),
        ("arguments", "await Weather()"),
        ("arguments", "await Weather('Oslo', 1, 2)"),
        ("arguments", "await Weather('Oslo', city='Oslo')"),
        ("arguments", "await Weather('Oslo', hour=1)"),
        ("call", "await Other.Secret()"),
        ("target", "await Say('Nobody', 'x')"),
        ("target", "await Say(message='x', target='Nobody')"),
        ("source", "await Yld('agent 7777')"),
        ("trigger", "await Trigger('Main:Small:T1:CND')"),
        ("type", "await Var('count', 'many')"),
        ("type", "await Var('$count', 1.5)"),
        ("type", "await Var(value='many', name='count')"),
        ("type", "await Var('count', True)"),
        ("end", "if name:\n    await Return(1)\n    await Say('user', 'x')"),
        ("end", "for i in [1]:\n    await Yld('user')\n    count = 1"),
        ("step", "if name:\n    await Step('Main:77:QUE')"),
        ("target", "try:\n    await Say('Nobody', 'x')\nexcept ValueError:\n    pass"),
    ],
)
def test_an_illegal_statement_is_refused_by_its_rule(rule: str, source: str) -> None:
    refused = verify(source, position())
    assert refused is not None
    assert refused.rule == rule, refused
    assert refused.source == source
    assert refused.message


@pytest.mark.parametrize(
    "source",
    [
        "await Step('Main:02:QUE')",
        "await Step('Main:01:QUE')",
        "await Step('Agent.Main:03:YLD')",
        "await Say('user', f'Hi {name}, {count + 1}')",
        "await Say(message='Nobody', target='user')",
        "await Say('Other', 'x')",
        "await Var('count', None)",
        "await Var('count', count + 1)",
        "await Var('anything', [1])",
        "w = await Weather('Oslo', day=1)",
        "w = await Weather(*[1], **{})",
        "answer = await Other.Ask('why?')",
        "await Trigger('Main:Big:T1:CND')",
        "parts = [part.strip() for part in name.split(',') if len(part) > 1]",
        "async def f(a, *, b=1):\n    return await Weather(a)",
        "a, b = await asyncio.gather(Weather('Oslo'), Weather('Rome'))",
        "await Yld('agent 1001')",
        "await Yld('call')",
        "await Return()",
        "if name:\n    await Return(1)\nelse:\n    await Yld('user')",
    ],
)
def test_a_legal_statement_passes(source: str) -> None:
    assert verify(source, position()) is None


def test_steps_may_be_named_in_any_order() -> None:
    here = position()
    for line in ("03:YLD", "01:QUE", "02:QUE", "02:QUE"):
        assert verify(f"await Step('Main:{line}')", here) is None


def test_a_playbook_without_steps_has_none_to_name() -> None:
    refused = verify("await Step('Main:01:QUE')", position(with_steps=False))
    assert refused is not None
    assert refused.rule == "step"


def test_nothing_follows_the_end_of_a_turn() -> None:
    here = position()
    here.ended = True
    refused = verify("x = 1", here)
    assert refused is not None
    assert refused.rule == "end"
    assert verify_say_head("user", here) is not None


def test_a_say_is_judged_by_its_head_before_a_character_is_shown() -> None:
    assert verify_say_head("user", position()) is None
    stranger = verify_say_head("Nobody", position())
    assert stranger is not None
    assert stranger.rule == "target"


def test_a_turn_is_ended_by_its_yld_or_return_alone() -> None:
    sources = ["await Say('user', 'x')", "await Yld('user')", "await Return()", "if name:\n    await Return(1)"]
    assert [ends_turn(source) for source in sources] == [False, True, True, False]


@pytest.mark.parametrize(
    "source",
    [
        "print(name := 'Ada')",
        "match 'x':\n    case name:\n        pass",
        "match []:\n    case [*name]:\n        pass",
        "match {}:\n    case {**name}:\n        pass",
        "try:\n    x = 1\nexcept ValueError as name:\n    pass",
        "import json as name",
        "def name(): return 1",
    ],
)
def test_a_variable_is_set_in_ways_that_are_seen_and_checked(source: str) -> None:
    here = position()
    here.variables = frozenset({"name"})
    refused = verify(source, here)
    assert refused is not None
    assert refused.rule == "name", refused
    here.variables = frozenset()
    assert verify(source, here) is None


@pytest.mark.parametrize(
    "source",
    [
        "go = Step",
        "for call in [Yld, Return]:\n    await call('exit')",
        "await asyncio.gather(*map(Say, ['user'], ['x']))",
        "async def leave():\n    await Return(1)",
        "async def on(x):\n    await Step('Main:02:QUE')",
        "leave = lambda: Yld('exit')",
        "def check():\n    Trigger('Main:Big:T1:CND')",
    ],
)
def test_what_moves_control_stands_in_the_reply_itself(source: str) -> None:
    refused = verify(source, position())
    assert refused is not None
    assert refused.rule == "call", refused
