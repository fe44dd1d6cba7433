"""Talks that are held: they pass when all is as it is written, and say what differs when it is not."""

from pathlib import Path

import anyio
import pytest

from gateway.talks import holding
from gateway.talks.staging.stage import settle
from tests.unit.gateway.talks.rig import ECHO, GREETER, differing, held

GREETED = """## Somebody says their name
- Greeter writes: Hello! What is your name?
- Ada: I am Ada.
- model: Ada
- Greeter writes: Nice to meet you, Ada!
- expect: step Main:02
- expect: $name = "Ada"
- expect: the end
"""


def test_a_talk_passes_when_all_is_as_it_is_written(tmp_path: Path) -> None:
    [result] = held(tmp_path, GREETER, GREETED)
    assert result.differences == []
    assert result.steps == {("Greeter", "Main", "01"), ("Greeter", "Main", "02"), ("Greeter", "Main", "03")}


def test_the_same_talk_comes_to_the_same_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    [result] = held(tmp_path, GREETER, b"\xef\xbb\xbf" + GREETED.replace("\n", "\r\n").encode())
    assert result.differences == []


@pytest.mark.parametrize(
    ("line", "instead", "found"),
    [
        ('$name = "Ada"', '$name = "Ben"', (7, '$name = "Ben"', '$name is "Ada"')),
        ("the end", "step Main:01", (8, "step Greeter.Main:01", "steps Main:02, Main:03")),
        ("the end", "call Main", (8, "call Main", "no call")),
        ("the end", "choices Yes", (8, "the choices Yes", "no choices")),
        ("the end", "failure", (8, "the failure ", "nothing failed")),
        ("the end", '"Good bye"', (8, "the words Good bye", "Greeter: Nice to meet you, Ada!")),
        ("the end", "$age is 3", (8, "$age is 3", "$age was never set")),
    ],
)
def test_an_expectation_that_is_not_met_is_told_with_its_line_and_what_was_seen(
    tmp_path: Path, line: str, instead: str, found: tuple[int, str, str]
) -> None:
    assert differing(tmp_path, GREETER, GREETED.replace(line, instead)) == [found]


@pytest.mark.parametrize(
    ("forbidden", "seen"),
    [
        ("never: step Main:02", "step Greeter.Main:02"),
        ("never call Main", "Greeter.Main()"),
        ("never: /nice/", "Greeter: Nice to meet you, Ada!"),
        ("never: $name is set", "it is so"),
        ("never: the end", "the end of the program"),
    ],
)
def test_what_must_never_be_is_told_when_it_is(tmp_path: Path, forbidden: str, seen: str) -> None:
    [(line, _, found), *_] = differing(tmp_path, GREETER, f"{GREETED}- {forbidden}\n")
    assert (line, found) == (9, seen)


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("You said hello there", True),
        ("You said hello", False),
        ("You said hello …", True),
        ("... there", True),
        ("/HELLO/", True),
        ("/^hello/", False),
        ("you said hello there", False),
    ],
)
def test_words_are_exact_but_for_gaps_and_patterns(tmp_path: Path, words: str, fits: bool) -> None:
    talk = f"## A\n- Ada: /start\n- Ada: hello there\n- Echo: {words}\n"
    assert (differing(tmp_path, ECHO, talk) == []) is fits


def test_words_of_several_lines_and_of_other_scripts_are_the_same_words(tmp_path: Path) -> None:
    talk = "## 🙂\n- Ada: /start\n- Zoë: Grüße\n  aus 東京 🙂\n- Echo: You said Grüße\n  aus 東京 🙂\n"
    assert differing(tmp_path, ECHO, talk) == []


def test_what_nobody_wrote_is_told_after_the_last_words_before_it(tmp_path: Path) -> None:
    program = ECHO.replace('f"You said {text}")', 'f"You said {text}")\n    await Say("user", "More?")')
    talk = "## A\n- Ada: /start\n- Ada: one\n- Echo: You said one\n"
    assert differing(tmp_path, program, talk) == [(4, "nothing", "Echo: More?")]
    assert differing(tmp_path, program, f"{talk}- …\n") == []


def test_words_that_did_not_come_are_told_beside_nothing(tmp_path: Path) -> None:
    talk = "## A\n- Ada: /start\n- Ada: one\n- Echo: You said one\n- Echo: And two\n"
    assert differing(tmp_path, ECHO, talk) == [(5, "Echo: And two", "nothing")]


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ("Repeat", True),
        ("Echo.Repeat", True),
        ('Repeat(text="one")', True),
        ('Repeat("one")', True),
        ('Repeat(text="two")', False),
        ("Repeat(text=1)", False),
        ("Repeat()", False),
        ("Repeat(…)", True),
        ('Repeat(text="one", …)', True),
        ('Repeat(text="two", ...)', False),
    ],
)
def test_a_call_is_told_by_its_name_and_its_arguments(tmp_path: Path, call: str, fits: bool) -> None:
    talk = f"## A\n- Ada: /start\n- Ada: one\n- expect: call {call}\n"
    assert (differing(tmp_path, ECHO, talk) == []) is fits


def test_a_question_that_no_line_answers_is_told_with_its_words(tmp_path: Path) -> None:
    [(line, expected, seen)] = differing(tmp_path, GREETER, "## A\n- Ada: Hello\n- Greeter: What is your name?\n")
    assert (line, expected) == (2, "")
    assert seen.startswith("Greeter asked the model what no line here answers:\n")
    assert "Ask the user for their name" in seen


def test_a_reply_that_nobody_asks_for_is_told(tmp_path: Path) -> None:
    talk = GREETED.replace("- expect: the end", "- model: Good bye")
    assert differing(tmp_path, GREETER, talk) == [(8, "model: Good bye", "the model was not asked for it")]


def test_a_reply_to_other_words_and_one_of_words_for_a_value_answer_nothing(tmp_path: Path) -> None:
    [(line, _, seen), *_] = differing(tmp_path, GREETER, GREETED.replace("- model: Ada", '- model to "age": Ada'))
    assert (line, "asked the model" in seen) == (3, True)
    [(line, _, seen), *_] = differing(tmp_path, GREETER, GREETED.replace("- model: Ada\n", ""))
    assert (line, "asked the model" in seen) == (3, True)


def test_a_playbook_that_fails_fails_the_talk_unless_that_is_expected(tmp_path: Path) -> None:
    program = ECHO.replace('await Var("last", text)', 'raise ValueError("no such text")')
    talk = "## A\n- Ada: /start\n- Ada: one\n"
    [(line, expected, seen), *_] = differing(tmp_path, program, talk)
    assert (line, expected) == (3, "no failure")
    assert "no such text" in seen
    assert differing(tmp_path, program, f'{talk}- expect: failure "no such"\n') == []


SLEEPER = """# Sleeper
```python
@playbook(triggers=["When program starts"])
async def Main():
    await Sleep(3)
    await Say("user", "three")
    await Sleep(3600)
    await Say("user", "an hour")
    heard = await WaitForMessage("user", 60)
    await Say("user", f"heard {heard}")
```
"""


def test_time_stands_still_until_the_talk_lets_it_pass_but_for_short_pauses(tmp_path: Path) -> None:
    talk = (
        '## A\n- Ada: Hello\n- Sleeper: three\n- wait 59 minutes\n- never: "an hour too early"\n- wait 1 minute and 3 '
        "seconds\n- Sleeper: an hour\n- wait 1 minute\n- Sleeper: heard None\n- expect: the end\n"
    )
    program = SLEEPER.replace('heard {heard}")', 'heard {heard}")\n    await EndProgram()')
    assert differing(tmp_path, program, talk) == []


def test_a_short_pause_can_be_looked_into(tmp_path: Path) -> None:
    talk = '## A\n- Ada: Hello\n- wait only 2 seconds\n- never: "an hour"\n- wait only 1 second\n- Sleeper: three\n'
    assert differing(tmp_path, SLEEPER, talk) == []


def test_somebody_who_speaks_at_once_does_not_let_time_pass(tmp_path: Path) -> None:
    talk = "## A\n- Ada: Hello\n- Ada, at once: Are you there?\n- …\n- Sleeper: three\n"
    assert differing(tmp_path, SLEEPER, talk) == []
    early = "## A\n- Ada: Hello\n- Sleeper: three\n- Ada, at once: Are you there?\n"
    [(line, expected, seen)] = differing(tmp_path, SLEEPER, early)
    assert (line, expected) == (3, "Sleeper: three")
    assert seen == "nothing; it waits for a time, 3 seconds from now; `wait 3 seconds` lets it come"


def test_a_time_of_the_day_comes_today_or_tomorrow(tmp_path: Path) -> None:
    program = ECHO.replace('f"You said {text}"', 'f"It is {await Now()}"')
    talk = "---\nstart: 2026-03-01 22:00\n---\n## A\n- Ada: /start\n- wait until 09:30\n- Ada: time?\n- Echo: {}\n"
    assert differing(tmp_path, program, talk.format("/2026-03-02.09:30/")) == []
    [(line, _, seen)] = differing(tmp_path, program, talk.replace("09:30", "2026-02-01 09:00").format("…"))
    assert (line, "has been" in seen) == (6, True)


def test_a_program_that_never_rests_is_told_so(tmp_path: Path) -> None:
    program = ECHO.partition("        for")[0].replace("await WaitForMessage", "") + "        await {}\n```\n"
    [(_, _, seen)] = differing(tmp_path, program.format("Sleep(1)"), "## A\n- Ada: Hello\n")
    assert seen == "it does not come to rest within 10 minutes of the talk's time"
    [(_, _, seen), *_] = differing(tmp_path, program.format('Say("user", "Hello")'), "## A\n- Ada: Hello\n")
    assert seen == "it does not come to rest: more than 200 messages"


def test_a_program_that_does_not_answer_in_time_is_told_so(tmp_path: Path) -> None:
    program = GREETER.replace(
        "### Steps", "```python\nimport time\n\n@playbook\ndef Count():\n    time.sleep(2)\n```\n### Steps\n- Count()"
    )
    [result] = held(tmp_path, program, "## A\n- Ada: Hello\n", limit_s=0.5)
    assert [one.seen for one in result.differences] == ["it was not over after 0.5 seconds"]


VOTE = """# Vote
```python
@playbook(triggers=["When program starts"])
async def Main():
    answers = await Ask("Ship it?", ["Yes", "No"], of=["Ada", "Ben"])
    await Say("user", f"{answers}")
```
"""


def test_several_people_press_their_choices(tmp_path: Path) -> None:
    program = VOTE.replace(
        "answers =", 'await Say("user", "Who is here?")\n    await WaitForMessage("user")\n    answers ='
    )
    talk = (
        "## A\n- Ada: Hello\n- Vote: Who is here?\n- Ben: me\n- Vote: … Ship it?\n- expect: choices Yes, No\n"
        "- Ada presses Yes\n- …\n- Ben presses No\n- …\n- Vote: {'Ada': 'Yes', 'Ben': 'No'}\n"
    )
    assert differing(tmp_path, program, talk) == []
    wrong = talk.replace("Ben presses No", "Ben presses Perhaps")
    [(line, _, seen), *_] = differing(tmp_path, program, wrong)
    assert (line, seen) == (9, "nobody offers “Perhaps”; offered are: Yes, No")


def test_a_conversation_goes_on_after_its_program_has_ended(tmp_path: Path) -> None:
    again = GREETED.removeprefix("## Somebody says their name\n").replace(
        "- Greeter writes", "- Ada: Hello\n- Greeter writes", 1
    )
    assert differing(tmp_path, GREETER, GREETED + again) == []


def test_a_standing_answer_serves_where_no_other_does_and_need_not_be_asked_for(tmp_path: Path) -> None:
    program = GREETER.replace("- End program", "- If they seem happy\n  - Wish them luck\n- End program")
    standing = GREETED.replace("- model: Ada", '- model always to "they seem happy": {}\n- model: Ada')
    assert differing(tmp_path, program, standing.format("no")) == []
    lucky = standing.replace(
        "- expect: step", '- model to "seem happy": yes\n- Greeter writes: Good luck!\n- expect: step'
    )
    assert differing(tmp_path, program, lucky.format("no")) == []
    assert differing(tmp_path, GREETER, standing.format("no")) == []


def test_an_answer_after_words_waits_until_the_model_was_told_of_them(tmp_path: Path) -> None:
    talk = GREETED.replace("- model: Ada", '- model after "I am {}": Ada')
    assert differing(tmp_path, GREETER, talk.format("Ada")) == []
    [(line, _, seen), *_] = differing(tmp_path, GREETER, talk.format("Ben"))
    assert (line, "asked the model" in seen) == (3, True)


def test_an_agent_in_another_process_is_played_by_the_talk(tmp_path: Path) -> None:
    program = (
        '# Guide\n```python\n@playbook(triggers=["When program starts"])\nasync def Main():\n'
        '    await Say("Scout", "north")\n'
        '    for message in await WaitForMessage("Scout"):\n        await Say("user", message["text"])\n```\n\n'
        "# Scout:Remote\nparticipant: scout\nKnows the paths.\n"
    )
    talk = "## A\n- Ada: Hello\n- expect: Scout hears {}\n- Scout: to the glacier\n- Guide: to the glacier\n"
    assert differing(tmp_path, program, talk.format('"north"')) == []
    assert differing(tmp_path, program, talk.format("/south/")) == [(3, "Scout hears /south/", "north")]
    [(line, _, seen)] = differing(
        tmp_path, ECHO + "\n# Scout:Remote\nparticipant: scout\n", "## A\n- Ada: Hello\n- Scout: Hi\n"
    )
    assert (line, seen) == (3, "Scout has heard nothing yet that it could answer")


def test_words_stand_in_the_order_in_which_they_were_begun(tmp_path: Path) -> None:
    program = ECHO.replace(
        'await Say("user", f"You said {text}")', 'await Say("user", text)\n    await Say("user", "Go on")'
    )
    talk = "## A\n- Ada: /start\n- Ada: one\n- Echo: Go on\n- Echo: one\n"
    assert len(differing(tmp_path, program, talk)) == 2


PATIENT = """# Patient
```python
import asyncio


async def words():
    yield "Good "
    await asyncio.sleep(0.001)
    yield "morning"


@playbook(triggers=["When program starts"])
async def Main():
    await Say("user", words())
    await Offer()


@playbook
async def Offer():
    await WaitForMessage("user", 0)
    await Ask("What would you like?", ["Tea"])
```
"""


def test_a_slow_machine_is_given_the_time_to_settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    async def settle_late() -> None:
        steps.append("begun")
        late_s = anyio.current_time() + holding._MOMENT_S
        while anyio.current_time() < late_s:
            pass
        await settle()
        steps.append("settled")

    monkeypatch.setattr(holding, "settle", settle_late)
    talk = "## A\n- Ada: /start\n- Patient: Good morning\n- Patient: What would you like?\n- expect: choices Tea\n"
    assert differing(tmp_path, PATIENT, talk) == []
    assert len(steps) >= 4
    assert steps == ["begun", "settled"] * (len(steps) // 2)
