"""The official client of the Agent2Agent protocol at a gateway, over kills."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.fakes.protocols.a2a_schema import validate, validate_rest, validate_result
from tests.fakes.servers.ports import free_port
from tests.fakes.servers.wire import Exchange, Tee

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PARCELS = ROOT / "tests" / "e2e" / "programs" / "parcels.pb"
TOKEN = "a-token-of-the-partner-in-tests"
DONE, ASKS = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED


def settings(folder: Path, port: int, **more: str) -> dict[str, str]:
    (folder / "partner").write_text(TOKEN)
    return {
        "PARLEY_WEB__PORT": str(port),
        "PARLEY_A2A__ON": "true",
        "PARLEY_CLIENTS__PARTNER__TOKEN_FILE": str(folder / "partner"),
        "PARLEY_CLIENTS__PARTNER__SCOPES": "tasks:write:parcels,tasks:read:parcels",
        **more,
    }


class Wire(httpx.AsyncHTTPTransport):
    """Checks everything that comes against the protocol's definition. `seen` are the names of the messages."""

    def __init__(self) -> None:
        super().__init__()
        self._exchanges: list[Exchange] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        media_type = response.headers.get("content-type", "").partition(";")[0]
        asked = await request.aread()
        made = Exchange(request.method, request.url.path, asked, response.status_code, media_type)
        self._exchanges.append(made)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = Kept(response.stream, made.pieces)
        return response

    def seen(self) -> set[str]:
        return {name for one in self._exchanges for answer in one.answers for name in [_checked(one, answer)]}


class Kept(Tee, httpx.AsyncByteStream):
    """A body of httpx."""


def _checked(one: Exchange, answer: Any) -> str:
    if one.path.endswith("agent-card.json"):
        validate("AgentCard", answer)
        return "AgentCard"
    if one.path.endswith("jsonrpc"):
        return validate_result(json.loads(one.asked)["method"], answer)
    return validate_rest(one.method, one.path, one.status, answer)


@asynccontextmanager
async def connected(
    port: int, binding: TransportProtocol, seen: set[str] | None = None, *, streaming: bool = True
) -> AsyncIterator[Client]:
    """The official client, which finds its way by the agent card. `seen` gets the names of the messages that came."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    wire = Wire()
    async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False, transport=wire) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding.value], streaming=streaming)
        async with await ClientFactory(config).create_from_url(f"http://127.0.0.1:{port}") as client:
            yield client
    names = wire.seen()
    if seen is not None:
        seen |= names


def message(id_: str, skill: str = "", *, text: str = "", task: str = "", context: str = "", **data: Any) -> Message:
    made = Message(message_id=id_, role=Role.ROLE_USER, task_id=task, context_id=context)
    if skill:
        made.metadata.CopyFrom(ParseDict({"skill": f"parcels.Courier.{skill}"}, Struct()))
    made.parts.extend([Part(text=text)] if text else [])
    made.parts.extend([Part(data=ParseDict(data, Value()))] if data or not text else [])
    return made


async def sent(client: Client, wanted: Message, *, at_once: bool = False) -> list[StreamResponse]:
    """What comes of a message, each answer complete by the protocol's own definition."""
    request = SendMessageRequest(message=wanted, configuration=SendMessageConfiguration(return_immediately=at_once))
    return [checked(one) async for one in client.send_message(request)]


def checked(response: StreamResponse) -> StreamResponse:
    validate_proto_required_fields(response)
    return response


def shown(updates: list[StreamResponse]) -> list[Any]:
    """The updates of a stream, in short, without those that say no more than that the task works."""
    found: list[Any] = []
    for one in updates:
        match one.WhichOneof("payload"):
            case "task":
                found.append(TaskState.Name(one.task.status.state))
            case "status_update":
                status = one.status_update.status
                words = [part.text for part in status.message.parts if part.text]
                found.append((TaskState.Name(status.state).removeprefix("TASK_STATE_"), *words))
            case "artifact_update":
                found.append(MessageToDict(one.artifact_update.artifact)["parts"])
    return [one for one in found if one != ("WORKING",)]


async def again(running: Gateway) -> None:
    running.kill()
    await running.gone()
    await running.start()


@contextmanager
def refused(kind: type[Exception]) -> Iterator[None]:
    with pytest.raises(kind):
        yield


@pytest.mark.parametrize("binding", [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON])
async def test_skills_are_tasks_that_are_told_of_and_outlive_kills(tmp_path: Path, binding: TransportProtocol) -> None:
    port, came = free_port(), set[str]()
    async with gateway(tmp_path, PARCELS, settings(tmp_path, port)) as running:
        async with connected(port, binding, came) as client:
            updates = await sent(client, message("1", "Bring", text="a box", times=2))
            assert shown(updates)[1:] == [
                ("WORKING", "I fetch a box."),
                ("WORKING", "I bring a box."),
                [{"data": {"brought": ["a box", "a box"]}}],
                ("COMPLETED",),
            ]
            lost = await sent(client, message("2", "Lose"))
            assert shown(lost)[-1] == ("FAILED", "it is gone")
            slow = (await sent(client, message("3", "Bring", text="a tree", context="garden"), at_once=True))[0].task
            asking = (await sent(client, message("4", "Choose", what="it")))[-1].status_update
            assert asking.status.state == ASKS
            idle = updates_task(await first(client, message("5", "Idle")))
            before = Follower()
            await before.follow(client.send_message(SendMessageRequest(message=message("7", "Tell", words=60))), 2)
        await again(running)
        async with connected(port, binding, came) as client:
            repeated = await sent(client, message("3", "Bring", text="a tree"))
            assert repeated[0].task.id == slow.id
            done = await got(client, slow.id)
            assert (done.context_id, done.status.state) == ("garden", DONE)
            assert [each.parts[0].text for each in done.history] == ["I fetch a tree.", "I bring a tree."]
            with refused(UnsupportedOperationError):
                await anext(client.subscribe(SubscribeToTaskRequest(id=slow.id)))
            question = (await got(client, asking.task_id)).status.message
            assert question.parts[0].text == "Where does it go?"
            assert MessageToDict(question.parts[1].data) == {"options": ["left", "right"]}
            follower = client.subscribe(SubscribeToTaskRequest(id=asking.task_id))
            seen = checked(await anext(follower)).task
            assert [each.parts[0].text for each in seen.history] == ["I have it."]
            answered = await sent(client, message("6", text="right", task=asking.task_id))
            assert shown(answered)[-1] in (("COMPLETED",), "TASK_STATE_COMPLETED")
            rest = shown([checked(one) async for one in follower])
            assert rest == [("WORKING", "I go right."), [{"text": "it went right"}], ("COMPLETED",)]
            assert (await sent(client, message("6", text="right", task=asking.task_id)))[0].task.status.state == DONE
            ended = await client.cancel_task(CancelTaskRequest(id=idle.id))
            assert ended.status.state == TaskState.TASK_STATE_CANCELED
            with refused(TaskNotCancelableError):
                await client.cancel_task(CancelTaskRequest(id=idle.id))
            with refused(TaskNotFoundError):
                await client.get_task(GetTaskRequest(id="nobodys"))
            after = Follower()
            await after.follow(client.subscribe(SubscribeToTaskRequest(id=before.task)))
            [(utterance, begun)], [(same, whole)] = before.texts.items(), after.texts.items()
            assert (same, whole) == (utterance, "".join(f"word {number} " for number in range(60)))
            assert begun.startswith("word 0 word 1 ")
            assert whole.startswith(begun)
            assert after.begun[utterance].startswith(begun)
            assert [piece.append for piece in after.pieces] == [True] * len(after.pieces)
            assert [piece.last_chunk for piece in after.pieces] == [False] * (len(after.pieces) - 1) + [True]
            assert after.messages[utterance] == whole
            listed = await client.list_tasks(ListTasksRequest(page_size=2))
            assert (len(listed.tasks), listed.total_size, bool(listed.next_page_token)) == (2, 6, True)
            rest = await client.list_tasks(ListTasksRequest(page_size=9, page_token=listed.next_page_token))
            assert (len(rest.tasks), rest.total_size, rest.next_page_token) == (4, 6, "")
            garden = await client.list_tasks(ListTasksRequest(context_id="garden"))
            assert [task.id for task in garden.tasks] == [slow.id]
    assert came == {"AgentCard", "StreamResponse", "Task", "ListTasksResponse", "error"}


class Follower:
    """Who puts together what grows, as the protocol says, by the ids of its artifacts."""

    def __init__(self) -> None:
        self.task = ""
        self.begun: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.pieces: list[TaskArtifactUpdateEvent] = []
        self.messages: dict[str, str] = {}

    async def follow(self, updates: AsyncIterator[StreamResponse], pieces: int = 0) -> None:
        """Until so many pieces have come, or to the end."""
        async for one in updates:
            self._take(checked(one))
            if pieces and len(self.pieces) == pieces:
                return

    def _take(self, one: StreamResponse) -> None:
        if one.HasField("task"):
            self.task = one.task.id
            self.begun = {each.artifact_id: each.parts[0].text for each in one.task.artifacts}
            self.texts = {**self.begun}
        elif one.HasField("artifact_update") and one.artifact_update.artifact.name == "said":
            piece = one.artifact_update
            id_, text = piece.artifact.artifact_id, piece.artifact.parts[0].text
            self.texts[id_] = self.texts[id_] + text if piece.append else text
            self.pieces.append(piece)
        elif one.HasField("status_update") and one.status_update.status.message.message_id:
            said = one.status_update.status.message
            self.messages[said.message_id] = said.parts[0].text


async def first(client: Client, wanted: Message) -> StreamResponse:
    async for one in client.send_message(SendMessageRequest(message=wanted)):
        return checked(one)
    raise AssertionError("no answer")


def updates_task(response: StreamResponse) -> Task:
    assert response.HasField("task")
    return response.task


async def got(client: Client, task: str) -> Task:
    found = await client.get_task(GetTaskRequest(id=task))
    validate_proto_required_fields(found)
    return found


async def test_who_is_no_client_reads_the_card_alone(tmp_path: Path) -> None:
    port = free_port()
    async with (
        gateway(tmp_path, PARCELS, settings(tmp_path, port)),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
    ):
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert {skill["id"] for skill in card["skills"]} == {
            f"parcels.Courier.{name}" for name in ("Bring", "Choose", "Lose", "Idle", "Tell")
        }
        assert [each["protocolBinding"] for each in card["supportedInterfaces"]] == ["JSONRPC", "HTTP+JSON"]
        known = {"authorization": f"Bearer {TOKEN}", "a2a-version": "1.0"}
        for headers, status in (
            ({}, 401),
            ({**known, "origin": "https://evil.example"}, 403),
            ({**known, "host": "evil.example"}, 421),
        ):
            for path in ("/a2a/jsonrpc", "/a2a/v1/message:send"):
                assert (await http.post(path, json={}, headers=headers)).status_code == status
        big = await http.post("/a2a/jsonrpc", content=b" " * 1_100_000, headers=known)
        assert big.json()["error"]["message"] == "Payload too large"
        assert (await http.get("/a2a/v1/tasks", headers=known)).json()["tasks"] == []


CALLER = """# Desk
Has parcels brought.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    \"\"\"Is there.\"\"\"
    await Say("user", "I am here.")
    await Serve()


@playbook
async def Serve():
    \"\"\"Has one thing brought for each message.\"\"\"
    for message in await WaitForMessage("user"):
        try:
            await Say("user", str(await Courier.parcels_Courier_Bring(message["text"])))
        except Exception as error:
            await Say("user", f"{{type(error).__name__}}: {{error}}")
    return Again()
```

# Courier:A2A
Brings parcels.
remote:
  type: a2a
  url: http://127.0.0.1:{port}
  auth: COURIER_TOKEN
  timeout: 60
"""


async def test_one_parley_calls_another_exactly_once_over_a_kill(tmp_path: Path) -> None:
    port = free_port()
    for name in ("courier", "desk"):
        (tmp_path / name).mkdir()
    caller = tmp_path / "desk.pb"
    caller.write_text(CALLER.format(port=port))
    async with (
        gateway(tmp_path / "courier", PARCELS, settings(tmp_path / "courier", port)),
        gateway(tmp_path / "desk", caller, {"COURIER_TOKEN": TOKEN}) as desk,
        connected(port, TransportProtocol.JSONRPC) as client,
    ):
        async with desk.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            await room.say("a box")
            await room.until("I am here.", "{'brought': ['a box']}")
            await room.say("a tree")
            with anyio.fail_after(60):
                while (await client.list_tasks(ListTasksRequest())).total_size < 2:
                    pass
            desk.kill()
            await desk.gone()
        await desk.start()
        async with desk.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "{'brought': ['a box']}", "{'brought': ['a tree']}")
        listed = await client.list_tasks(ListTasksRequest(include_artifacts=True))
        assert listed.total_size == 2
