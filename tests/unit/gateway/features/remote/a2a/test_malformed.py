"""Whatever a foreign agent answers costs that call alone; a card of any form opens a connection, or says why not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.features.remote.a2a import connection
from gateway.features.remote.connection import AnswerLost, ConnectionWiring
from gateway.features.remote.tool_server import error_of, value_of
from runtime.core.errors import RemoteFault, RemoteUnavailable
from runtime.language.remote import RemoteSpec
from tests.fakes.crashes.world import TurboClock
from tests.fakes.protocols.a2a_agent import Agent, data_artifact, task
from tests.fakes.protocols.malformed import WRONG, malformed

URL = "http://agent.test"
SPEC = RemoteSpec("a2a", Path(), URL)
RAW = ("", "null", "[]", "[" * 50_000, '{"jsonrpc": "2.0"', "1e999", "\ud800", "data: x\n\n", '{"id": NaN}')
"""Bodies that are no answer."""

FEW: tuple[Any, ...] = (None, [], 7, "", "\ud800", {"a": {"b": []}})

WORKING = {"task": task("WORKING", said="I look")}
DONE = {"task": task("COMPLETED", said="north", artifacts=data_artifact({"north": 2}))}
ENDS = {"statusUpdate": {"taskId": "t1", "contextId": "c", "status": task("COMPLETED", said="north")["status"]}}
PIECE = {"taskId": "t1", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "a"}]}, "append": True}
SAID = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "north"}, {"raw": "AAAA"}]}}


def answered(result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "1", "result": result}


def bodies() -> Iterator[str]:
    """Answers to a call at once."""
    yield from RAW
    refusal = {"jsonrpc": "2.0", "id": "1", "error": {"code": -32001, "message": "no", "data": [{"reason": "x"}]}}
    for good in (answered(DONE), answered(SAID), refusal):
        yield from (json.dumps(wrong) for wrong in malformed(good, FEW))


def streams() -> Iterator[str]:
    """Answers in events, of which one is wrong."""
    for wrong in RAW:
        yield f"data: {json.dumps(answered(WORKING))}\n\ndata: {wrong}\n\n"
    good = [WORKING, {"artifactUpdate": PIECE}, ENDS]
    for wrong in malformed(good, FEW):
        yield "".join(f"data: {json.dumps(answered(one))}\n\n" for one in wrong)


def serving(monkeypatch: pytest.MonkeyPatch, card: Any, answer: Callable[[dict[str, Any]], httpx.Response]) -> None:
    """Have requests answered without a network. The id of an answer is the request's, where it was left as it was."""

    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, content=json.dumps(card))
        return answer(json.loads(request.content))

    client = httpx.AsyncClient
    monkeypatch.setattr(
        connection, "http_client", lambda *_: client(transport=httpx.MockTransport(respond), timeout=None)
    )
    monkeypatch.setattr(connection, "MAX_LOOKS", 2)


def wiring() -> ConnectionWiring:
    return ConnectionWiring(10, {}, {}, lambda *_: None, lambda _: None)


def good_card(*, streaming: bool) -> Any:
    return Agent(streaming=streaming, once=True).good_card(URL)


@pytest.mark.parametrize("streaming", [False, True], ids=["at once", "in events"])
async def test_an_answer_of_any_form_costs_its_call_alone(streaming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [""]

    def answer(asked: dict[str, Any]) -> httpx.Response:
        kind = "text/event-stream" if streaming and "Stream" in asked["method"] else "application/json"
        content = now[0].replace('"id": "1"', f'"id": {json.dumps(asked["id"])}').encode(errors="surrogatepass")
        return httpx.Response(200, content=content, headers={"content-type": kind})

    serving(monkeypatch, good_card(streaming=streaming), answer)
    came = set()
    async with connection.open_agent(SPEC, wiring(), TurboClock()) as agent:
        for now[0] in streams() if streaming else bodies():
            try:
                result = await agent.call("find-path", {"text": "x"}, "s1.7")
            except RemoteFault as error:
                str(error).encode()
                came.add("refused")
                continue
            came.add(type(result).__name__)
            if not isinstance(result, AnswerLost):
                kept = error_of(result) if result.is_error else value_of(result, None, 500)
                json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()
        now[0] = json.dumps(answered(DONE)) if not streaming else f"data: {json.dumps(answered(DONE))}\n\n"
        result = await agent.call("find-path", {"text": "x"}, "s1.8")
    assert not isinstance(result, AnswerLost)
    assert value_of(result, None, 500) == {"north": 2}
    assert {"refused", "CallToolResult"} <= came


async def test_a_card_of_any_form_opens_a_connection_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, refused = 0, 0
    for card in [*WRONG, *malformed(good_card(streaming=True), FEW)]:
        with monkeypatch.context() as patched:
            serving(patched, card, lambda _: httpx.Response(500))
            try:
                async with connection.open_agent(SPEC, wiring(), TurboClock()) as agent:
                    for tool in await agent.tools():
                        json.dumps([tool.name, tool.description], ensure_ascii=False).encode()
                opened += 1
            except RemoteUnavailable as error:
                str(error).encode()
                refused += 1
    assert opened
    assert refused
