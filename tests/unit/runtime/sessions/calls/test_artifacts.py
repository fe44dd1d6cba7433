"""Large values that the model sees by name, files that a program names, and agents that are made while it runs."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.language.diagnostics import Span
from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

LONG = "All about Oslo. " + "It rains. " * 100

CODE = f"""
async def Fetch():
    return {LONG!r}

async def Short():
    return "sun"
"""


def made(code: str = CODE) -> Program:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    return program(agent("Main", main, python("Fetch"), python("Short"), code=code))


def going(*lines: str, end: str = 'await Yld("user")') -> Reply:
    return block('await Step("Main:01:EXE")', *lines, end)


async def test_a_long_result_is_shown_by_name_and_loaded_on_demand() -> None:
    model = Model(
        going("await Fetch()", end='await Yld("call")'),
        going('await Say("user", f"{len(_)} {_[:9]}")', end='await Yld("user")'),
        going('await LoadArtifact("report")', end='await Yld("call")'),
        going('await Say("user", "read")'),
    )
    async with talking(made(), model, after="hi") as talk:
        name = model.told(1).partition('LoadArtifact("')[2].partition('"')[0]
        assert name.startswith("a_")
        assert "Fetch gave artifact of 1,018 characters: All about Oslo. It rains." in model.told(1)
        assert LONG not in model.told(1)
        assert f"${name} = artifact of" in model.told(1)
        assert talk.chat == ["1016 All about"]


async def test_code_has_an_artifact_whole_under_its_name_and_the_model_sees_its_summary() -> None:
    model = Model(
        going("text = await Fetch()", 'await SaveArtifact("$report", "what is known of Oslo", text)'),
        going('await LoadArtifact("report")', end='await Yld("call")'),
        going('await Say("user", f"{len(report)} {report == text}")'),
    )
    assert await answered(made(), model, "and?", after="hi") == ["1016 True"]
    assert "$report = artifact of 1,018 characters: what is known of Oslo" in model.told(1)
    assert "text = artifact of 1,018 characters: All about Oslo." in model.told(1)
    assert f'LoadArtifact gave "{LONG}"' in model.told(2)


async def test_an_artifact_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    model = Model(
        going('await SaveArtifact("report", "long", "x" * 600)', 'await LoadArtifact("nothing")'),
        block("# resume: 3", 'await Yld("user")'),
    )
    await answered(made(), model, "hi")
    assert "there is no artifact 'nothing'; there are report" in model.told(1)


async def test_the_last_result_is_a_variable_and_private_ones_are_not_shown() -> None:
    model = Model(going("await Short()", 'await Var("_secret", 7)', 'await Say("user", f"{_} {_secret}")'), going())
    async with talking(made(), model) as talk:
        assert await talk.say("hi") == ["sun 7"]
        await talk.say("on")
    assert "Variables: $startup_message" in model.told(1)
    assert "secret" not in model.told(1).partition("You execute")[2]


def beside(folder: Path, code: str, says: str) -> Program:
    (folder / "notes.txt").write_text("Remember the milk.")
    (folder / "secret.txt").write_text("hidden")
    plain = made(code)
    main = replace(plain.agents[0], span=Span(str(folder / "main.pb"), 1))
    return replace(plain, agents=(main,), pbasm=f"{says} notes.txt")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("notes.txt", "Remember the milk."),
        ("secret.txt", "'secret.txt' is not a file that the program names"),
        ("../notes.txt", "'../notes.txt' is not in the folder of the program"),
        ("/etc/passwd", "'/etc/passwd' is not in the folder of the program"),
        ("", "'' is not in the folder of the program"),
    ],
)
async def test_only_files_that_the_program_names_are_loaded(path: str, answer: str, tmp_path: Path) -> None:
    lines = f"try:\n    text = await LoadFile({path!r})\nexcept Exception as error:\n    text = str(error)"
    model = Model(going(lines, 'await Say("user", text)'))
    (said,) = await answered(beside(tmp_path, CODE, "../notes.txt /etc/passwd"), model, "hi")
    assert answer in said


PLAYERS = program(
    agent(
        "Main",
        llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True),
    ),
    agent(
        "Player",
        python("Move", "square", public=True),
        python("Hide"),
        code="""
async def Move(square):
    return f"{variables['mark']} to {square}"

async def Hide():
    pass
""",
    ),
)


async def test_agents_are_made_with_their_variables_and_called_by_their_numbers() -> None:
    model = Model(
        going(
            'one = await CreateAgent("Player", mark="x")',
            'two = await CreateAgent("Player", mark="o")',
            'moves = [await CallAgent(one, "Move", {"square": 5}), await CallAgent(two, "Move", [1])]',
            'idle = await IdleAgent("Player")',
            'await Say("user", f"{one} {two} {idle} {moves}")',
        )
    )
    async with talking(PLAYERS, model) as talk:
        assert await talk.say("hi") == ["agent 1001 agent 1002 agent 1001 ['x to 5', 'o to 1']"]
        [here] = await talk.say("", kind="who")
        assert here.split("\n") == ["- Ada", "- Main (agent)", "- Player (agent 1001)", "- Player (agent 1002)"]
        [doing] = await talk.say("", kind="status")
        assert [line.partition(":")[0] for line in doing.split("\n")[1:]] == [
            "- Main",
            "- Player 1001",
            "- Player 1002",
        ]


@pytest.mark.parametrize("name", ["Player", "agent Player", "agent 1001", " Player "])
async def test_an_agent_is_called_by_its_class_as_it_is_spoken_to(name: str) -> None:
    lines = (
        'one = await CreateAgent("Player", mark="x")',
        'await CreateAgent("Player", mark="o")',
        f'await Say("user", await CallAgent("{name}", "Move", [5]))',
    )
    assert await answered(PLAYERS, Model(going(*lines)), "hi") == ["x to 5"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('await CallAgent("Nobody", "Move")', "there is no agent 'Nobody'; known are user, "),
        ('await CreateAgent("Nobody")', "there is no agent class 'Nobody'"),
        ('await CallAgent("agent 1007", "Move", [1])', "there is no agent 'agent 1007'"),
        (
            'await CallAgent(await CreateAgent("Player"), "Hide")',
            "Hide of Player is not public, so other agents cannot call it",
        ),
    ],
)
async def test_what_is_wrong_about_an_agent_is_an_error_that_says_so(line: str, error: str) -> None:
    model = Model(going(line), block("# resume: 2", 'await Yld("user")'))
    await answered(PLAYERS, model, "hi")
    assert error in model.told(1)


async def test_an_agent_that_is_at_work_is_not_idle() -> None:
    code = """
async def Move(square):
    await WaitForMessage("user")

async def Hide():
    pass
"""
    busy = program(PLAYERS.agents[0], replace(agent("Player", python("Move", "square", public=True), code=code)))
    model = Model(
        going(
            'one = await CreateAgent("Player")',
            'both = await asyncio.gather(CallAgent(one, "Move", [1]), IdleAgent("Player"))',
            'await Say("user", both[1])',
        )
    )
    async with talking(busy, model) as talk:
        assert await talk.say("hi") == []
        assert await talk.say("go on") == ["agent 1002"]


async def told_to_the_user(code: str) -> list[str]:
    """What an author's code says that is begun with the program."""
    return await answered(program(agent("Main", MAIN, code=code)), Model(), "hi")


async def test_a_loop_that_saves_without_an_end_is_stopped_by_an_error_and_names_stay_writable() -> None:
    code = """
async def Main():
    try:
        for number in range(1000):
            await SaveArtifact(f"a_{number}", "one of many", number)
    except PlaybookError as error:
        await Say("user", f"{number}: {error}")
    await SaveArtifact("a_0", "anew", "new")
    await Say("user", f"{await LoadArtifact('a_0')} {await LoadArtifact('a_199')}")
    await EndProgram()
"""
    said = await told_to_the_user(code)
    assert said == [
        "200: 'a_200' was not saved: 200 artifacts are kept already, the limit of a session; replace one by saving "
        "under its name",
        "new 199",
    ]


async def test_artifacts_have_so_many_bytes_together_whatever_agent_saves_them() -> None:
    code = """
async def Main():
    await SaveArtifact("half", "half of it", "é" * 1_250_000)
    for length in (2_500_000, 2_400_000):
        try:
            await SaveArtifact("rest", "the rest", "x" * length)
            await Say("user", f"kept {len(await LoadArtifact('rest'))}")
        except PlaybookError as error:
            await Say("user", str(error))
    await SaveArtifact("half", "less", "x")
    await SaveArtifact("rest", "the rest", "x" * 2_500_000)
    await EndProgram()
"""
    said = await told_to_the_user(code)
    assert said == [
        "'rest' was not saved: it has 2,500,002 bytes as JSON, and a session may keep 5,000,000 in artifacts, of which "
        "2,500,002 are taken; send large results as files",
        "kept 2400000",
    ]


async def test_a_model_sees_that_there_is_no_room_for_an_artifact() -> None:
    code = (
        'async def Fetch():\n    await SaveArtifact("kept", "much", "x" * 4_999_900)\n\nasync def Short():\n    pass\n'
    )
    model = Model(
        going("await Fetch()", 'await SaveArtifact("more", "all", "x" * 200)'),
        block("# resume: 3", 'await Say("user", "too much")', 'await Yld("user")'),
    )
    assert await answered(made(code), model, "hi") == ["too much"]
    assert "'more' was not saved: it has 202 bytes" in model.told(1)
