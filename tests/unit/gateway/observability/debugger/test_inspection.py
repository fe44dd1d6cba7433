"""What an editor sees where a session stands. Variables that whoever debugs changes."""

from pathlib import Path

import pytest

from tests.fakes.crashes.world import World
from tests.fakes.protocols.dap_client import DapClient, Refused
from tests.unit.gateway.observability.debugger.stand import (
    ASK,
    ASKS,
    COUNT,
    FIND,
    NAMED,
    PICK,
    PICKS,
    RETURN,
    TELL,
    debugged,
    guide_in,
    guided,
)
from tests.unit.runtime.sessions.meetings.test_shared_state import talk_of


async def test_scopes_show_locals_arguments_and_the_variables_of_the_agent(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, RETURN)
        scout, host = await at.editor.stack(thread)
        scopes = await at.editor.scopes(scout["id"])
        assert scopes["Locals"] == {}
        assert scopes["Here"] == {"step": '"$spot.town"'}
        assert scopes["Agent Scout"] == {"who": '"Ada"', "spot": '{"town": "Oslo", "at": [1, 2, 3]}'}
        assert (await at.editor.scopes(host["id"]))["Agent Host"] == {"startup_message": '"hi"', "name": '"Ada"'}
        await at.editor.break_at(at.file, TELL)
        await at.editor.request("continue", threadId=thread)
        (main,) = await at.editor.stack((await at.editor.stopped())["threadId"])
        assert (await at.editor.scopes(main["id"]))["Agent Host"]["letters"] == "3"
        with pytest.raises(Refused, match="is running again"):
            await at.editor.scopes(scout["id"])


async def test_a_playbook_that_is_called_is_seen_with_its_arguments_alone(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, PICK - 3)
        scout, _ = await at.editor.stack(thread)
        assert await at.editor.scopes(scout["id"]) == {"Locals": {}, "Agent Scout": {"who": '"Ada"'}}


async def test_values_are_unfolded_in_pages(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, RETURN)
        (scout, _) = await at.editor.stack(thread)
        scope = (await at.editor.request("scopes", frameId=scout["id"]))["scopes"][-1]
        found = (await at.editor.request("variables", variablesReference=scope["variablesReference"]))["variables"]
        spot = next(one for one in found if one["name"] == "spot")
        assert (spot["type"], spot["namedVariables"]) == ("dict", 2)
        town, where = (await at.editor.request("variables", variablesReference=spot["variablesReference"]))["variables"]
        assert (town["name"], town["value"], town["variablesReference"]) == ("town", '"Oslo"', 0)
        page = {"filter": "indexed", "start": 1, "count": 1}
        body = await at.editor.request("variables", variablesReference=where["variablesReference"], **page)
        assert [(one["name"], one["value"]) for one in body["variables"]] == [("[1]", "2")]
        with pytest.raises(Refused, match="of a frame, not of variables"):
            await at.editor.request("variables", variablesReference=scout["id"])


async def test_expressions_are_evaluated_over_the_frame_and_change_nothing(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, COUNT)
        (frame,) = await at.editor.stack(thread)

        async def value(expression: str) -> str:
            body = await at.editor.request("evaluate", expression=expression, frameId=frame["id"], context="repl")
            return str(body["result"])

        assert await value("$name + '$name'") == '"Ada$name"'
        assert await value("[letter.upper() for letter in name]") == '["A", "D", "A"]'
        seq = at.talk.world.facts[-1].seq
        for wrong, why in (
            ("nobody", "NameError"),
            ("1 +", "is not an expression of Python: invalid syntax$"),
            ("Say('user', 'x')", "NameError|cannot be evaluated"),
            ("(name := 'Bob') and open('/etc/passwd')", "cannot be evaluated"),
        ):
            with pytest.raises(Refused, match=why):
                await value(wrong)
        assert await value("name") == '"Ada"'
        assert at.talk.world.facts[-1].seq == seq
        assert (await at.editor.request("evaluate", expression="6 * 7"))["result"] == "42"


async def test_a_breakpoint_holds_where_its_condition_does_and_as_often_as_is_wanted(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS, ASKS) as at:
        await at.editor.begin()
        (bad,) = await at.editor.break_at(at.file, FIND, condition="name ==")
        assert (bad["verified"], "is not an expression" in bad["message"]) == (False, True)
        (bad,) = await at.editor.break_at(at.file, FIND, hitCondition="often")
        assert "'often' is not a hit count" in bad["message"]
        await at.editor.break_at(at.file, FIND, condition="$name == 'Bob'")
        await at.talk.say("hi")
        assert await at.talk.say("Ada") == ["Oslo, 3"]
        await at.editor.break_at(at.file, ASK, hitCondition="2")
        assert await at.talk.say("again") == ["Who are you?"]


async def test_a_condition_that_cannot_be_evaluated_is_told_and_does_not_hold(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        await at.editor.begin()
        await at.editor.break_at(at.file, FIND, condition="$nothing > 3")
        await at.talk.say("hi")
        assert await at.talk.say("Ada") == ["Oslo, 3"]
        told = await at.editor.until("output", lambda body: body["category"] == "console")
        assert told["output"].startswith("Host: condition $nothing > 3: NameError")


async def test_a_log_point_speaks_and_what_agents_say_is_told_too(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        await at.editor.begin()
        await at.editor.break_at(at.file, TELL, logMessage="{$name} has {letters + 1} and {nothing}")
        await at.talk.say("hi")
        assert await at.talk.say("Ada") == ["Oslo, 3"]
        told = await at.editor.until("output", lambda body: body["category"] == "console")
        assert told["output"].startswith("Host: Ada has 4 and <NameError")
        assert (await at.editor.until("output"))["output"] == "Host: Who are you?\n"
        assert (await at.editor.until("output"))["output"] == "Host: Oslo, 3\n"


async def test_the_pbasm_is_a_source_with_breakpoints_of_its_own(tmp_path: Path) -> None:
    file, program = await guide_in(tmp_path)
    async with debugged(program, ASKS, NAMED, PICKS) as at:
        await at.editor.begin(show="pbasm")
        sources = (await at.editor.request("loadedSources"))["sources"]
        assert {one.get("path") for one in sources} == {str(file), str(tmp_path / "letters.txt"), None}
        (compiled,) = [one for one in sources if "sourceReference" in one]
        content = (await at.editor.request("source", source=compiled, sourceReference=compiled["sourceReference"]))[
            "content"
        ]
        assert content == program.pbasm
        line = next(number for number, text in enumerate(content.splitlines(), 1) if text.startswith("- 03:QUE"))
        body = await at.editor.request("setBreakpoints", source=compiled, breakpoints=[{"line": line}])
        assert [(one["verified"], one["line"]) for one in body["breakpoints"]] == [(True, line)]
        await at.talk.say("hi")
        at.talk.post("Ada")
        thread = (await at.editor.stopped())["threadId"]
        (frame,) = await at.editor.stack(thread)
        assert (frame["name"], frame["line"], frame["source"]["sourceReference"]) == ("Main:03:QUE", line, 1)
        where = await at.editor.request("breakpointLocations", source={"path": str(file)}, line=9, endLine=12)
        assert [one["line"] for one in where["breakpoints"]] == [10, 11, 12]


async def test_threads_are_the_agents_of_sessions_and_a_stack_goes_across_them(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, RETURN)
        threads = {one["id"]: one["name"] for one in (await at.editor.request("threads"))["threads"]}
        assert list(threads.values()) == ["Host in test:1", "Scout in test:1"]
        assert threads[thread].startswith("Scout")
        (host,) = (number for number in threads if number != thread)
        assert await at.editor.where(host) == [("Main:02:QUE", FIND)]
        hints = [frame["presentationHint"] for frame in await at.editor.stack(thread)]
        assert hints == ["normal", "subtle"]
        one = await at.editor.request("stackTrace", threadId=thread, startFrame=1, levels=1)
        assert ([frame["name"] for frame in one["stackFrames"]], one["totalFrames"]) == (["Host.Main:02:QUE"], 2)
        with pytest.raises(Refused, match="thread 99 no longer exists"):
            await at.editor.stack(99)


async def test_what_a_meeting_shares_is_a_scope_of_those_in_it() -> None:
    program = talk_of('await Share("board", [1, 2])\nawait Over()\nreturn 1', 'return "done"')
    async with debugged(program) as at:
        await at.editor.begin()
        await at.editor.request("setFunctionBreakpoints", breakpoints=[{"name": "Guest.Turn"}])
        at.talk.post("go")
        thread = (await at.editor.stopped())["threadId"]
        assert [name for name, _ in await at.editor.where(thread)] == ["Turn [meeting 100]", "Join [meeting 100]"]
        (frame, _) = await at.editor.stack(thread)
        assert (await at.editor.scopes(frame["id"]))["Shared in meeting 100"] == {"board": "[1, 2]"}
        body = await at.editor.request("evaluate", expression="shared['board'][1] + 1", frameId=frame["id"])
        assert body["result"] == "3"
        other = await at.editor.until("stopped", lambda body: body["preserveFocusHint"])
        assert other["reason"] == "pause"
        await at.editor.request("continue", threadId=other["threadId"])
        await at.editor.until("continued", lambda body: body["threadId"] == thread)
        await at.idle()
        assert at.talk.chat[-1] == "bye"


async def scope(editor: DapClient, thread: int, name: str) -> int:
    """The number of a scope of the frame on top."""
    (frame, *_) = await editor.stack(thread)
    scopes = (await editor.request("scopes", frameId=frame["id"]))["scopes"]
    (number,) = (one["variablesReference"] for one in scopes if one["name"] == name)
    assert isinstance(number, int)
    return number


async def test_a_changed_variable_is_what_the_next_steps_see(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, COUNT)
        variables = await scope(at.editor, thread, "Agent Host")
        body = await at.editor.request(
            "setVariable", variablesReference=variables, name="place", value="$place.upper() + '!'"
        )
        assert body["value"] == '"OSLO!"'
        await at.editor.request("setVariable", variablesReference=variables, name="name", value="'Grace'")
        for name, value, why in (("nobody", "1", "only variables of an agent"), ("place", "1 +", "not an expression")):
            with pytest.raises(Refused, match=why):
                await at.editor.request("setVariable", variablesReference=variables, name=name, value=value)
        own = await scope(at.editor, thread, "Locals")
        with pytest.raises(Refused, match="locals are results of code"):
            await at.editor.request("setVariable", variablesReference=own, name="letters", value="1")
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat[-1] == "OSLO!, 5"
        assert at.talk.facts("altered") == [
            {"agent": "1000", "set": {"place": "OSLO!"}},
            {"agent": "1000", "set": {"name": "Grace"}},
        ]


async def test_a_changed_variable_outlives_a_crash(tmp_path: Path) -> None:
    file, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, ASKS, NAMED, PICKS, world=world) as at:
        thread = await at.stand_at(file, TELL)
        variables = await scope(at.editor, thread, "Agent Host")
        await at.editor.request("setVariable", variablesReference=variables, name="place", value="'Bergen'")
    async with debugged(program, world=world) as at:
        await at.idle()
        assert at.talk.chat[-1] == "Bergen, 3"
