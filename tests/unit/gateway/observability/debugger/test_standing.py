"""What becomes of a session that stands still."""

import json
from pathlib import Path

import anyio
import pytest

from runtime.core.address import Address
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Reply, block
from tests.fakes.protocols.dap_client import Refused, debugging
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
from tests.unit.runtime.sessions.programs import agent, llm
from tests.unit.runtime.sessions.programs import program as program_of


async def test_what_people_do_meanwhile_waits_and_is_not_lost(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS, ASKS) as at:
        thread = await at.stand_at(at.file, FIND)
        at.talk.post("and one more thing")
        await at.talk.settled()
        assert at.talk.chat == ["Who are you?"]
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat[1] == "Oslo, 3"
        assert any("and one more thing" in str(fact) for fact in at.talk.facts("in"))


async def test_the_sessions_of_others_go_on(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, ASKS) as at:
        await at.stand_at(at.file, FIND)
        elsewhere = Address("test", "2")
        at.talk.post("hello", name="Bob", at=elsewhere)
        await at.talk.until(lambda: at.talk.chat == ["Who are you?", "Who are you?"])
        threads = (await at.editor.request("threads"))["threads"]
        assert {one["name"].rpartition(" in ")[2] for one in threads} == {"test:1", "test:2"}
        (other,) = [one["id"] for one in threads if one["name"] == "Host in test:2"]
        with pytest.raises(Refused, match="is not stopped"):
            await at.editor.request("continue", threadId=other)


async def test_a_stop_ends_what_stands_and_the_editor_hears_of_it(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, ASKS) as at:
        thread = await at.stand_at(at.file, FIND)
        at.talk.post("/stop", kind="stop")
        assert await at.editor.until("continued", lambda body: body["threadId"] == thread)
        await at.idle()
        assert at.talk.facts("stop")
        assert await at.editor.stack(thread) == []
        assert "Oslo, 3" not in at.talk.chat


async def test_leaving_lets_everything_go_on_without_breakpoints(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        await at.editor.begin({at.file: [FIND, COUNT, TELL]})
        await at.talk.say("hi")
        at.talk.post("Ada")
        await at.editor.stopped()
        await at.editor.request("disconnect", restart=False)
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"
        assert await at.editor.rest() == b""
        assert [event.name for event in at.events] == ["debugger.attached", "debugger.detached"]


async def test_an_editor_that_just_goes_lets_everything_go_on_too(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        await at.stand_at(at.file, FIND)
        await at.editor.hang_up()
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"


async def test_a_second_editor_is_told_that_there_is_one(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, FIND)
        async with debugging(at.debugger.port) as second:
            with pytest.raises(Refused, match="another editor is debugging this gateway"):
                await second.begin()
            assert await second.rest() == b""
        assert (await at.editor.where(thread))[0] == ("Main:02:QUE", FIND)
        await at.editor.request("disconnect")
        async with debugging(at.debugger.port) as second:
            await second.begin()


async def test_nothing_is_lost_when_the_process_is_killed_while_a_session_stands(tmp_path: Path) -> None:
    file, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, ASKS, NAMED, PICKS, world=world) as at:
        await at.stand_at(file, RETURN)
        facts = len(world.facts)
    assert len(world.facts) == facts, "what stood was not told that the process ends"
    async with debugged(program, world=world) as at:
        await at.idle()
        assert at.talk.chat == ["Who are you?", "Oslo, 3"]


async def test_a_restarted_process_stands_again_when_an_editor_comes_back(tmp_path: Path) -> None:
    file, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, ASKS, NAMED, PICKS, world=world) as at:
        await at.stand_at(file, COUNT)
    async with debugged(program, world=world, waits=True) as at:
        await at.editor.begin({file: [COUNT, TELL]})
        stopped = await at.editor.stopped()
        assert stopped["reason"] == "entry"
        assert await at.editor.where(stopped["threadId"]) == [("Main:03:QUE", COUNT)]
        await at.editor.request("continue", threadId=stopped["threadId"])
        await at.editor.stopped()
        await at.editor.request("continue", threadId=stopped["threadId"])
        await at.idle()
        assert at.talk.chat == ["Who are you?", "Oslo, 3"]


async def test_nothing_is_executed_before_the_editor_comes_that_is_waited_for(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    async with debugged(program, ASKS, waits=True) as at:
        at.talk.post("hi")
        await at.talk.settled()
        assert at.model.asked == []
        await at.editor.begin()
        stopped = await at.editor.stopped()
        assert stopped["reason"] == "entry"
        assert await at.editor.where(stopped["threadId"]) == [("Main", 4)]
        await at.editor.request("next", threadId=stopped["threadId"])
        await at.editor.stopped()
        assert await at.editor.where(stopped["threadId"]) == [("Main:01:QUE", ASK)]
        await at.editor.request("continue", threadId=stopped["threadId"])
        await at.idle()
        assert at.talk.chat == ["Who are you?"]


async def test_a_waiting_agent_can_be_paused_and_does_nothing_more_until_it_goes_on(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    async with debugged(program, ASKS, NAMED, PICKS) as at:
        await at.editor.begin()
        await at.talk.say("hi")
        thread = (await at.editor.request("threads"))["threads"][0]["id"]
        await at.editor.request("pause", threadId=thread)
        assert (await at.editor.stopped())["reason"] == "pause"
        assert await at.editor.where(thread) == [("Main:01:QUE", ASK)]
        at.talk.post("Ada")
        await at.talk.settled()
        assert at.talk.chat == ["Who are you?"]
        await at.editor.request("next", threadId=thread)
        await at.editor.stopped()
        assert await at.editor.where(thread) == [("Main:02:QUE", FIND)]
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"


async def test_nothing_begins_to_be_shown_while_a_session_is_paused(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    gate = anyio.Event()
    async with debugged(program, Reply(f"{' ' * 30}{ASKS.text}", gate=gate)) as at:
        await at.editor.begin()
        at.talk.post("hi")
        await at.model.writing.wait()
        (thread,) = [
            one["id"] for one in (await at.editor.request("threads"))["threads"] if one["name"].startswith("Host ")
        ]
        await at.editor.request("pause", threadId=thread)
        await at.editor.stopped()
        gate.set()
        await at.talk.until(lambda: at.model.hung_up == 1)
        await at.editor.request("threads")
        assert at.talk.chat == []
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["Who are you?"]


async def test_failures_refused_answers_and_calls_can_be_stood_at(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    wrong = Reply("somewhere")
    async with debugged(program, ASKS, NAMED, wrong, wrong, wrong) as at:
        await at.editor.begin()
        await at.editor.request("setExceptionBreakpoints", filters=["failed", "rejected", "called"])
        at.talk.post("hi")
        stopped = await at.editor.stopped()
        assert (stopped["reason"], stopped["text"]) == ("breakpoint", "A playbook is called")
        await at.editor.request("continue", threadId=stopped["threadId"])
        await at.idle()
        at.talk.post("Ada")
        stopped = await at.editor.stopped()
        assert (await at.editor.where(stopped["threadId"]))[0] == ("Find", PICK - 3)
        await at.editor.request("continue", threadId=stopped["threadId"])
        seen = []
        for _ in range(5):
            stopped = await at.editor.stopped()
            info = await at.editor.request("exceptionInfo", threadId=stopped["threadId"])
            assert (stopped["reason"], info["description"]) == ("exception", stopped["text"])
            seen.append(stopped["text"])
            await at.editor.request("continue", threadId=stopped["threadId"])
        assert [text.endswith("(rule: answer)") for text in seen] == [True, True, True, False, False]
        assert "the model did not answer what Find:01:EXE asks" in seen[3]
        await at.idle()


async def test_a_playbook_is_stood_at_by_its_name_and_at_its_return(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    async with debugged(program, ASKS, NAMED, PICKS) as at:
        await at.editor.begin()
        body = await at.editor.request(
            "setFunctionBreakpoints", breakpoints=[{"name": "Scout.Find"}, {"name": "Letters"}, {"name": "Nobody"}]
        )
        assert [one["verified"] for one in body["breakpoints"]] == [True, True, False]
        await at.editor.request("setExceptionBreakpoints", filters=["returned"])
        await at.talk.say("hi")
        at.talk.post("Ada")
        names = []
        for _ in range(4):
            thread = (await at.editor.stopped())["threadId"]
            (frame, *_) = await at.editor.stack(thread)
            here = (await at.editor.scopes(frame["id"])).get("Here", {})
            names.append((frame["name"].partition(":")[0], here.get("returns")))
            await at.editor.request("continue", threadId=thread)
        assert names == [("Find", None), ("Find", '"Oslo"'), ("Letters", None), ("Letters", "3")]
        await at.idle()


async def test_statements_are_stood_at_one_by_one_where_that_is_wanted() -> None:
    chat = program_of(agent("Main", llm("Main", "01:QUE Greet the user", begins=True)))
    says = block('await Step("Main:01:QUE")', 'name = "Ada"', 'await Say("user", name)', 'await Yld("user")')
    async with debugged(chat, says) as at:
        await at.editor.begin(stopOnEntry=True)
        at.talk.post("hi")
        thread = (await at.editor.stopped())["threadId"]
        seen = []
        for _ in range(3):
            await at.editor.request("next", threadId=thread, granularity="instruction")
            await at.editor.stopped()
            (frame,) = await at.editor.stack(thread)
            seen.append((frame["name"], (await at.editor.scopes(frame["id"]))["Here"]))
        assert seen == [
            ("Main:01:QUE", {"step": json.dumps('await Step("Main:01:QUE")')}),
            ("Main:01:QUE", {"statement": json.dumps('name = "Ada"')}),
            ("Main:01:QUE", {"statement": json.dumps('await Say("user", name)')}),
        ]
        assert at.talk.chat == []
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["Ada"]


async def test_the_end_of_the_gateway_lets_everything_go_on(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        await at.stand_at(at.file, FIND)
        at.debugger.close()
        await at.editor.until("terminated")
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"


async def test_a_model_that_answers_while_a_session_stands_is_not_too_slow(tmp_path: Path) -> None:
    """The rest of the answer is read as it comes: here it comes only while the session stands."""
    gate = anyio.Event()
    both = Reply(f"[1] {NAMED.text}\n[2] It is a pleasure to meet you, and what a day it is today.", gate=gate)
    async with guided(tmp_path, ASKS, both, PICKS) as at:
        thread = await at.stand_at(at.file, FIND)
        hung_up = at.model.hung_up
        gate.set()
        await at.talk.until(lambda: at.model.hung_up == hung_up + 1)
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"
