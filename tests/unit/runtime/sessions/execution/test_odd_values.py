"""Values, names and statements that nobody should give: an error in words of the call that gives them."""

import pytest

from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python, walked

CODE = """
import asyncio, sys

async def Main():
    try:
        {line}
    except Exception as error:
        await Say("user", f"{{type(error).__name__}}: {{str(error)[:150]}}")
    await WaitForMessage("user")
    await Say("user", "still here")

async def Other(value):
    return value

def Leave():
    sys.exit(3)

async def Quit():
    exit()
"""


def trying(line: str) -> Program:
    playbooks = (python("Other", "value"), python("Leave"), python("Quit"))
    return program(agent("Main", MAIN, *playbooks, code=CODE.format(line=line)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('await Var("x", 10**5000)', "ValueError"),
        ('x = []; x.append(x); await Var("x", x)', "ValueError: Circular reference"),
        ('await Var("x", {(1, 2): 3})', "TypeError: keys must be str"),
        ("await Other({1: 2, 'a': 3})", None),
        ("x = []; x.append(x); await Other(x)", "PlaybookError: an argument of Other is not data that survives"),
        ('await Sleep(float("nan"))', "PlaybookError: Sleep takes a time in seconds, at most 316224000, not nan"),
        ("await Sleep(1e308)", "PlaybookError: Sleep takes a time in seconds"),
        ('await Sleep("soon")', "PlaybookError: Sleep takes a time in seconds, at most 316224000, not 'soon'"),
        ('await WaitForMessage("user", float("inf"))', "PlaybookError: WaitForMessage takes a time in seconds"),
        ('await Ask("Well?", within_s=[1])', "PlaybookError: Ask takes a time in seconds"),
        (
            'await Say("user", "x" * 200_001)',
            "PlaybookError: Say takes at most 200,000 characters; send more as a file",
        ),
        ('await Var("x", "x" * 32_000_001)', "ValueError: it is longer than 32,000,000 characters"),
        ('await Ask("  ")', "PlaybookError: Ask takes a question, a text, not '  '"),
        ("await Ask(None)", "PlaybookError: Ask takes a question, a text, not None"),
        ('await LoadFile("\\0")', "PlaybookError: '\\x00' is not in the folder of the program"),
        ("await Leave()", "PlaybookError: Leave called exit; `await EndProgram()` ends a program"),
        ("await Quit()", "PlaybookError: Quit called exit; `await EndProgram()` ends a program"),
    ],
)
async def test_what_cannot_be_taken_is_an_error_of_its_call_and_the_session_goes_on(
    line: str, said: str | None
) -> None:
    async with talking(trying(line), Model()) as talk:
        heard = await talk.say("hi")
        if said is None:
            assert heard == []
        else:
            assert len(heard) == 1
            assert heard[0].startswith(said)
        assert await talk.say("more") == ["still here"]


@pytest.mark.parametrize(
    "line",
    [
        'await Var("x", "a \\ud800"); await Say("user", variables["x"])',
        'await Var("x", {"a \\ud800": 1}); await Say("user", *variables["x"])',
        'await Say("user", await Other("a \\ud800"))',
        'await Say("user", "a \\ud800")',
        'await SaveArtifact("x", "\\ud800", "a \\ud800"); await Say("user", await LoadArtifact("x"))',
        'await Say("user", "a " + await Other("\\ud83d"))',
    ],
)
async def test_half_a_character_becomes_a_mark_and_harms_nothing(line: str) -> None:
    async with talking(trying(line), Model()) as talk:
        assert await talk.say("hi") == ["a \ufffd"]
        assert await talk.say("more") == ["still here"]


async def test_two_halves_of_a_character_are_that_character() -> None:
    assert await answered(trying('await Say("user", "\\ud83d\\ude00")'), Model(), "hi") == ["😀"]


async def test_people_are_asked_so_much_at_once_and_not_more() -> None:
    line = 'await asyncio.gather(*[Ask(f"question {n}?") for n in range(40)])'
    heard = await answered(trying(line), Model(), "hi")
    assert len([text for text in heard if text.startswith("question")]) == 25
    assert "PlaybookError: 25 questions are open already, the limit at once" in heard


@pytest.mark.parametrize("line", ['await Var("Say", 1)', 'await SaveArtifact("Say", "a name", 1)', 'x = {"Say": 1}'])
async def test_no_variable_hides_a_built_in_call(line: str) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    go, wait = 'await Step("Main:01:EXE")', 'await Yld("user")'
    model = Model(block(go, line, 'await Say("user", "one")', wait), block('await Say("user", "two")', wait))
    async with talking(program(agent("Main", main)), model) as talk:
        assert await talk.say("hi") == ["one"]
        assert await talk.say("more") == ["two"]


async def test_a_made_agent_speaks_whatever_its_variables_are_called() -> None:
    main = llm("Main", "01:EXE Go; YLD for user", begins=True)
    ask = llm("Answer", "01:EXE Answer; YLD for return", public=True)
    made = program(agent("Main", main), agent("Player", ask))
    call = 'await CallAgent(await CreateAgent("Player", Say=1, Step=2), "Answer")'
    model = Model(
        block('await Step("Main:01:EXE")', call, 'await Yld("user")'),
        block('await Step("Answer:01:EXE")', 'await Say("user", "here")', 'await Var("__", "x")', "await Return(1)"),
    )
    assert await answered(made, model, "hi") == ["here"]


@pytest.mark.parametrize(
    "line", ["async def Ask(*of):\n    return 'Yes'", "Ask = lambda *of: 'Yes'", "for Share in [1]:\n    pass"]
)
async def test_nothing_that_a_model_defines_answers_instead_of_people(line: str) -> None:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    good = block("# resume: 1", 'await Say("user", "well")', 'await Yld("user")')
    model = Model(block('await Step("Main:01:EXE")', line, 'await Yld("user")'), good)
    async with talking(program(agent("Main", main)), model) as talk:
        assert await talk.say("hi") == ["well"]
        assert [event.data["rule"] for event in talk.named("step.rejected")] == ["policy"]


_DEEP = "the statement is nested"
_LONG = "a number has"

STATEMENTS = {
    "$x = " + "+".join(["1"] * 400): _DEEP,
    "$x += " + "+".join(["1"] * 400): _DEEP,
    "x = " + "+".join(["1"] * 9000): _DEEP,
    "$x = n" + "[0]" * 400: _DEEP,
    "$x = a" + ".b" * 5000: _DEEP,
    "$x = " + "1 if n else " * 400 + "2": _DEEP,
    "$x = " + "lambda: " * 400 + "1": _DEEP,
    "$x = " + "not " * 3000 + "1": _DEEP,
    "$x = " + "[" * 150 + "]" * 150: _DEEP,
    "n" + "[0]" * 400 + " = 1": _DEEP,
    "$x = " + "(" * 300 + "1" + ")" * 300: "too many nested parentheses",
    "$x = 0x" + "f" * 3600: _LONG,
    "$x = -0b" + "1" * 14_000: _LONG,
    "$x = " + "9" * 5000: _LONG,
    'await Var("x", 0x' + "f" * 3600 + ")": _LONG,
    'await Say("user", f"{0x' + "f" * 3600 + '}")': _LONG,
    "$x = 10**4000": "4096 bits",
    "$x = 9**9**9": "memory limit",
    "$x = f'{1:{10**9}}'": "memory limit",
    "await Return(10**4000)": "4096 bits",
    "$x = {(1, 2): 3}": "not JSON data",
    "$x = 1 + \u0661": "invalid character",
    '$x = "\0"': "null bytes",
    'await Yld("x" * 100)': "nobody called",
    'await Yld("agent " + "9" * 100)': "nobody called",
}
"""Statements, and what their refusals say."""


def settling(*more: str, code: str = "") -> Program:
    """A free step among exact ones."""
    steps = ("01:EXE Set $n to 1", *more, "03:QUE Somehow settle things with the user", '04:QUE Say(user, "after $n")')
    own = (python("Look"),) if code else ()
    return program(agent("Host", walked("Main", *steps, "05:YLD for exit", begins=True), *own, code=code))


@pytest.mark.parametrize(("written", "why"), STATEMENTS.items(), ids=range(len(STATEMENTS)))
async def test_no_statement_ends_a_playbook(written: str, why: str) -> None:
    model = Model(block(written), block('await Say("user", "Done.")'))
    assert await answered(settling(), model, "go") == ["Done.", "after 1"]
    assert why in model.told(1)
    assert not {"set_int_max_str_digits", "recursion"} & set(model.told(1).split())


@pytest.mark.parametrize("written", ["9" * 4200, "-" + "9" * 4200, "[" * 300 + "]" * 300, "NaN", "1e999"])
async def test_a_value_that_cannot_be_kept_is_asked_again(written: str) -> None:
    kind = "list" if written.startswith("[") else "float"
    model = Model(Reply(written), Reply("[7]" if kind == "list" else "7"), block('await Say("user", "Done.")'))
    asks = f"02:QUE Set $x:{kind} to whatever fits best"
    assert (await answered(settling(asks), model, "go"))[-1] == "after 1"
    assert "Your last answer could not be used: x " in model.told(1)


_NESTED = "__import__('functools').reduce(lambda inner, _: [inner], range({}), [])"
_RESULTS = (
    _NESTED.format(60),
    _NESTED.format(70),
    _NESTED.format(900),
    "10**4000",
    "2**5000",
    "'a' * 900_000",
    "'\\0'",
)


@pytest.mark.parametrize("given", _RESULTS, ids=range(len(_RESULTS)))
async def test_no_result_of_a_tool_ends_a_playbook(given: str) -> None:
    model = Model(
        block("seen = str(await Look())[:9]", 'await Say("user", "Done.")'), block('await Say("user", "Done.")')
    )
    async with talking(settling(code=f"async def Look():\n    return {given}\n"), model) as talk:
        assert await talk.say("go") == ["Done.", "after 1"]
