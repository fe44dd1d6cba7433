"""`parley run` reads programs again: what is at work ends on its version, a broken file changes nothing."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = (ROOT / "tests" / "e2e" / "programs" / "teller.pb").read_text()
NEWER = TELLER.replace("You said", "You wrote").replace("told it once.", "told it well.")
CLERK = """# Clerk
## Main
### Triggers
- When the program starts
### Steps
- Say "What is it?"
- Wait for the user
- Note()
- Jump to the first step

## Note
### Steps
- Say "It is noted."
"""
NEWS = "The program has changed in the meantime (changed: Begin, Listen). We continue with the new version."


async def owned(running: Gateway, room: Room) -> None:
    """Become an owner in a room."""
    code = (await running.prints(r"to be an owner: (\S+)"))[0][1]
    await room.say(code)
    await room.until_that(lambda: any("owner" in text for text in room.texts("notice")))


async def test_an_answer_that_streams_during_a_reload_ends_on_its_version_and_the_next_is_of_the_new(
    tmp_path: Path,
) -> None:
    program = tmp_path / "teller.pb"
    program.write_text(TELLER)
    async with gateway(tmp_path, program) as running, running.page() as page:
        room = Room(page)
        await room.join()
        await room.say("hi")
        await room.until("I am the teller.")
        await room.say("long")
        await room.until_some("Once")
        program.write_text(NEWER)
        running.send(signal.SIGHUP)
        await running.prints('"event": "program.reloaded"')
        assert not room.texts()[1].endswith("told it once.")
        await room.until_that(lambda: room.texts()[1].endswith("told it once.") and not room.growing)
        await room.say("and then?")
        await room.until_that(lambda: room.texts()[2:] == ["You wrote: and then?"])
        assert room.texts("notice") == [NEWS]


async def test_a_broken_file_changes_nothing_and_an_owner_is_told_where_and_what_to_do(tmp_path: Path) -> None:
    program = tmp_path / "teller.pb"
    program.write_text(TELLER)
    async with gateway(tmp_path, program) as running, running.page() as page:
        room = Room(page)
        await room.join()
        await owned(running, room)
        await room.say("hi")
        await room.until("I am the teller.")
        program.write_text(TELLER.replace("# Teller\n", "# Teller\n## Broken\n### Steps\n- While\n### Stepz\n"))
        await room.say("/reload")
        await room.until_that(lambda: any("could not reload" in text for text in room.texts("notice")))
        assert re.search(r"teller\.pb:\d+:\d+: error: ", room.texts("notice")[-1])
        await room.say("still there?")
        await room.until("I am the teller.", "You said: still there?")
        program.write_text(NEWER)
        await room.say("/reload")
        await room.until_that(lambda: "Now running in a new version: teller." in room.texts("notice")[-1])


async def test_a_program_that_can_be_compiled_and_that_check_refuses_changes_nothing_and_says_why(
    tmp_path: Path,
) -> None:
    program = tmp_path / "clerk.pb"
    program.write_text(CLERK)
    async with gateway(tmp_path, program) as running, running.page() as page:
        room = Room(page)
        await room.join()
        await owned(running, room)
        await room.say("hi")
        await room.until("What is it?")
        program.write_text(CLERK.replace("What is it?", "What now?").replace("- Note()", "- Notes()"))
        await room.say("/reload")
        await room.until_that(lambda: any("could not reload" in text for text in room.texts("notice")))
        assert "error: there is no playbook Notes" in room.texts("notice")[-1]
        await room.say("a letter")
        await room.until("What is it?", "It is noted.", "What is it?")


async def test_a_file_that_is_saved_is_read_at_once_where_the_settings_say_so(tmp_path: Path) -> None:
    program = tmp_path / "teller.pb"
    program.write_text(TELLER)
    async with gateway(tmp_path, program, {"PARLEY_PROGRAMS__RELOAD": "true"}) as running, running.page() as page:
        room = Room(page)
        await room.join()
        program.write_text(NEWER)
        await running.prints('"event": "program.reloaded"')
        await room.say("hi")
        await room.until("I am the teller.")
        await room.say("well?")
        await room.until("I am the teller.", "You wrote: well?")


async def test_a_version_that_was_rolled_back_to_is_served_at_once_and_after_kill_9_until_the_file_changes(
    tmp_path: Path,
) -> None:
    program = tmp_path / "teller.pb"
    program.write_text(TELLER)
    async with gateway(tmp_path, program) as running:
        program.write_text(NEWER)
        running.send(signal.SIGHUP)
        await running.prints('"event": "program.reloaded"')
        async with running.page() as page:
            room = Room(page)
            await room.join()
            code, _, errors = await parley(tmp_path, "programs", "rollback", "teller")
            assert code == 0, errors
            await running.prints('"by": "parley programs", "event": "program.rolled_back"')
            await room.say("hi")
            await room.until("I am the teller.")
            await room.say("well?")
            await room.until("I am the teller.", "You said: well?")
        assert program.read_text() == NEWER
        running.kill()
        await running.gone()
        await running.start()
        _, output, _ = await parley(tmp_path, "programs", "list")
        assert re.search(r"teller +\w{8} +\S+ \S+ +rolled back to, by parley programs\nteller .* in the file\n", output)
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("still?")
            await room.until_that(lambda: room.texts()[-1] == "You said: still?")
            program.write_text(NEWER.replace("You wrote", "You have written"))
            running.send(signal.SIGHUP)
            await running.prints('"event": "program.reloaded"')
            await room.say("and now?")
            await room.until_that(lambda: room.texts()[-1] == "You have written: and now?")
