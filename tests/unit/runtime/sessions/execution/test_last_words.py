"""What a program says last, before it ends."""

from pathlib import Path

from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts

PROGRAM = """\
# Host
Says good-bye.

## Main
### Triggers
- When the program starts
### Steps
- Say "Good-bye"
- End program
"""


async def test_the_program_ends_with_its_last_words_and_nothing_fails_behind_them(tmp_path: Path) -> None:
    (tmp_path / "host.pb").write_text(PROGRAM)
    program = (await compile_program([tmp_path / "host.pb"], lowerer=RulesLowerer())).program
    async with talking(program, Model()) as talk:
        assert await talk.say("hi") == ["Good-bye"]
        assert len(facts(talk, "ended")) == 1
        assert [data for data in facts(talk, "res") if "exc" in data] == []
