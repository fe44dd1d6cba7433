"""Calls of agents that answer well, badly, and not at all."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse

from gateway.features.remote.a2a.connection import MAX_ANSWER_BYTES
from runtime.core.errors import OutcomeUnknown, ParleyError, RemoteFault, ToolFailed
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec
from tests.fakes.people.remote_stand import standing
from tests.fakes.protocols.a2a_agent import (
    Agent,
    Answer,
    Breaks,
    Hangs,
    data_artifact,
    raw,
    result,
    serving,
    stream,
    task,
)
from tests.fakes.servers.ports import free_port

DONE = {"task": task("COMPLETED", artifacts=data_artifact({"north": 2}))}
SKILL = "find_path"


def scout(url: str, **more: Any) -> AgentSpec:
    return AgentSpec(
        "Scout", AgentKind.A2A, Span("test.pb", 1), metadata={"remote": {"type": "a2a", "url": url, **more}}
    )


async def called(agent: Agent, *, timeout: float = 10, **arguments: Any) -> Any:
    """What a call of the agent's skill gives."""
    raised: ParleyError | None = None
    async with serving(agent) as url, standing(connect_s=10) as stand:
        try:
            return await stand.call(scout(url, timeout=timeout), SKILL, key="s1.7", **arguments)
        except ParleyError as error:
            raised = error
    assert raised is not None
    raise raised


def status(state: str, said: str = "") -> dict[str, Any]:
    made = task(state, said=said)
    return {"statusUpdate": {"taskId": "t1", "contextId": "c", "status": made["status"]}}


def piece(text: str, *, append: bool) -> dict[str, Any]:
    artifact = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "t1", "contextId": "c", "artifact": artifact, "append": append}}


UTTERED = {"artifactId": "t1.4", "parts": [{"text": "I look"}], "metadata": {"urn:parley:utterance": True}}


async def test_a_skill_is_called_once_with_its_words_and_data_and_gives_what_comes_of_it() -> None:
    agent = Agent(result(DONE))
    assert await called(agent, text="to the lake", data={"days": 2}) == {"north": 2}
    ((method, params),) = agent.asked
    message = params["message"]
    assert (method, message["messageId"]) == ("SendMessage", "s1.7")
    assert message["metadata"] == {"skill": "find-path"}
    assert message["parts"] == [{"text": "to the lake"}, {"data": {"days": 2.0}}]


@pytest.mark.parametrize(
    ("came", "value"),
    [
        ({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "north"}]}}, "north"),
        ({"task": task("COMPLETED", said="north")}, "north"),
        ({"task": task("COMPLETED")}, ""),
        (
            {
                "task": task(
                    "COMPLETED", artifacts=[{"artifactId": "a", "parts": [{"text": "a\u202eb"}, {"data": [1]}]}]
                )
            },
            "ab\n[1]",
        ),
        (
            {"task": task("COMPLETED", artifacts=[{"artifactId": "a", "parts": [{"raw": "AAAA", "filename": "map"}]}])},
            "[map, 3 bytes, left out]",
        ),
        ({"task": task("COMPLETED", artifacts=[UTTERED, *data_artifact("north")])}, "north"),
    ],
)
async def test_every_form_of_an_answer_is_a_value(came: Any, value: Any) -> None:
    assert await called(Agent(result(came)), text="x") == value


@pytest.mark.parametrize(
    ("came", "why"),
    [
        (task("FAILED", said="no such lake"), "its task has failed: no such lake"),
        (task("REJECTED"), "its task has rejected"),
        (task("INPUT_REQUIRED", said="Which lake?"), "it asks: Which lake?.*task='t1'"),
    ],
)
async def test_a_task_that_fails_or_asks_says_so(came: Any, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        await called(Agent(result({"task": came})), text="x")


async def test_a_question_is_answered_by_a_call_with_the_task() -> None:
    agent = Agent(result(DONE))
    assert await called(agent, text="the big one", task="t1") == {"north": 2}
    assert agent.asked[0][1]["message"]["taskId"] == "t1"


async def test_a_stream_is_followed_to_the_end_with_all_of_its_pieces() -> None:
    agent = Agent(
        stream(
            {"task": task("WORKING")},
            status("WORKING", "I look"),
            piece("north ", append=False),
            piece("and east", append=True),
            status("COMPLETED"),
        ),
        streaming=True,
    )
    assert await called(agent, text="x") == "north and east"


async def test_an_answer_that_is_lost_is_an_unknown_outcome_and_nothing_is_sent_again() -> None:
    agent = Agent(lambda _: Breaks())
    with pytest.raises(OutcomeUnknown):
        await called(agent, text="x")
    assert agent.message_ids == ["s1.7"]


async def test_an_agent_that_does_a_message_once_is_sent_it_again() -> None:
    agent = Agent(lambda _: Breaks(), result(DONE), once=True)
    assert await called(agent, text="x") == {"north": 2}
    assert agent.message_ids == ["s1.7", "s1.7"]


async def test_a_task_that_is_known_is_not_lost_with_its_stream() -> None:
    async def breaks() -> None:
        raise OSError("gone")

    agent = Agent(
        stream({"task": task("WORKING")}, then=breaks),
        result(task("WORKING")),
        stream({"task": task("WORKING")}, status("COMPLETED", "north")),
        streaming=True,
    )
    assert await called(agent, text="x") == "north"
    assert [method for method, _ in agent.asked] == ["SendStreamingMessage", "GetTask", "SubscribeToTask"]


async def test_a_task_of_an_agent_without_streams_is_asked_for() -> None:
    agent = Agent(result({"task": task("WORKING")}), result(task("WORKING")), result(DONE["task"]))
    assert await called(agent, text="x") == {"north": 2}
    assert [method for method, _ in agent.asked] == ["SendMessage", "GetTask", "GetTask"]


async def test_no_answer_in_time_is_an_unknown_outcome() -> None:
    agent = Agent(lambda _: Hangs())
    with pytest.raises(OutcomeUnknown, match=r"longer than 0\.5 s"):
        await called(agent, timeout=0.5, text="x")


def _huge(_: dict[str, Any]) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": "1", "result": "x" * (MAX_ANSWER_BYTES + 1)})


def _endless(_: dict[str, Any]) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        while True:
            yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': '1', 'result': status('WORKING', 'x' * 1000)})}\n\n"
            await anyio.lowlevel.checkpoint()

    return StreamingResponse(lines(), media_type="text/event-stream")


def _line_without_end(_: dict[str, Any]) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536
            await anyio.lowlevel.checkpoint()

    return StreamingResponse(pieces(), media_type="text/event-stream")


@pytest.mark.parametrize("answer", [_huge, _endless, _line_without_end])
async def test_an_answer_without_end_is_read_up_to_a_bound(answer: Answer) -> None:
    with pytest.raises(RemoteFault, match="more than"):
        await called(Agent(answer, streaming=answer is not _huge), text="x")


@pytest.mark.parametrize(
    "answer",
    [
        raw([]),
        raw("words"),
        raw(None),
        raw({}),
        raw({"jsonrpc": "2.0", "id": "1", "result": []}),
        raw({"jsonrpc": "2.0", "id": "1", "result": {"task": "t1"}}),
        raw({"jsonrpc": "2.0", "id": "1", "result": {"task": {"status": {"state": 7.5}}}}),
        raw({"jsonrpc": "2.0", "id": "1", "result": {}}),
        raw({"jsonrpc": "2.0", "id": "1", "error": "no"}),
        raw({"jsonrpc": "2.0", "id": "1", "error": {"code": -32602, "message": "not\x1b[31m like this"}}),
        lambda _: PlainTextResponse("<html>"),
        lambda _: PlainTextResponse("no", 404),
        lambda _: PlainTextResponse("", 302, {"location": "http://127.0.0.1:1/"}),
    ],
)
async def test_an_answer_that_makes_no_sense_is_the_agents_fault(answer: Answer) -> None:
    with pytest.raises(RemoteFault) as raised:
        await called(Agent(answer), text="x")
    assert "\x1b" not in str(raised.value)


async def test_news_of_another_task_is_refused() -> None:
    other = {"statusUpdate": {"taskId": "t2", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}
    with pytest.raises(RemoteFault, match="one that nobody asked for"):
        await called(Agent(stream({"task": task("WORKING")}, other), streaming=True), text="x")


async def test_wrong_arguments_do_not_leave() -> None:
    agent = Agent(result(DONE))
    async with serving(agent) as url, standing() as stand:
        spec = scout(url)
        await stand.pool.ready_for(spec)
        tool = stand.pool.tool(spec, SKILL)
        assert tool is not None
        assert tool.mismatch({"text": 5}) is not None
        assert [param.name for param in tool.spec.params] == ["text", "data", "task"]


@pytest.mark.parametrize(
    ("card", "why"),
    [
        (lambda url: Agent().good_card("http://169.254.169.254"), "another place"),
        (lambda url: {**Agent().good_card(url), "supportedInterfaces": []}, "no interface"),
        (lambda url: {**Agent().good_card(url), "supportedInterfaces": "x"}, ""),
        (lambda url: {**Agent().good_card(url), "description": "x" * (MAX_ANSWER_BYTES + 1)}, "more than"),
        (lambda url: [], ""),
        (lambda url: "card", ""),
        (lambda url: PlainTextResponse("no", 403), "HTTP 403; check `auth`"),
        (lambda url: PlainTextResponse("{"), ""),
        (lambda url: Hangs(), "no answer in 1 s"),
    ],
)
async def test_a_card_that_is_no_good_makes_the_agent_unavailable(card: Any, why: str) -> None:
    agent = Agent(result(DONE))
    agent.card = card
    async with serving(agent) as url, standing(connect_s=1) as stand:
        spec = scout(url)
        await stand.pool.ready_for(spec)
        assert why in str(stand.pool.trouble(spec))
    assert agent.asked == []


async def test_the_secret_is_hidden_in_errors() -> None:
    said = {"jsonrpc": "2.0", "id": "1", "error": {"code": -32603, "message": "bad top-secret-word"}}
    agent = Agent(raw(said))
    why = ""
    async with serving(agent) as url, standing(variables={"SCOUT_TOKEN": "top-secret-word"}) as stand:
        try:
            await stand.call(scout(url, auth="SCOUT_TOKEN"), SKILL, text="x")
        except RemoteFault as error:
            why = str(error)
    assert why == "Scout.find_path: bad ********"
    assert agent.authorizations == {"Bearer top-secret-word"}


async def test_an_agent_that_is_not_there_has_done_nothing() -> None:
    async with standing(connect_s=2) as stand:
        spec = scout(f"http://127.0.0.1:{free_port()}")
        await stand.pool.ready_for(spec)
        assert "All connection attempts failed" in str(stand.pool.trouble(spec))
