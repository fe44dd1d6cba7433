"""What the bus answers the console, checked against its document; and something to show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from gateway.clients import bus as bus_module
from runtime.core.ids import AgentId, MessageId, PersonId
from runtime.core.message import Message, MessageType
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.session import MessageQueued
from runtime.tape.tape import Fact, session_tape
from runtime.tape.view import HUMAN_MESSAGE
from tests.contract.storage_samples import SESSION, T0, beginning, shard_lease
from tests.fakes.pages.console import ConsoleWorld

OPENAPI = json.loads((Path(bus_module.__file__).parent / "openapi.json").read_text())

_WILD = {
    "sessions": "session",
    "reports": "report",
    "requests": "code",
    "dead-letters": "letter",
    "people": "person",
    "tasks": "task",
    "programs": "program",
    "models": "model",
    "nodes": "node",
}


async def told_of(world: ConsoleWorld, http: httpx.AsyncClient, path: str, **query: Any) -> Any:
    """What the bus answers, which is as its document describes it."""
    answer = await http.get(f"/bus/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    schema = OPENAPI["paths"][_wild(path)]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": OPENAPI["components"]}).validate(answer.json())
    return answer.json()


async def acted(http: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    """What the bus answers to a request that changes something, as its document describes it."""
    answer = await http.request(method, f"/bus/v1{path}", json=body)
    described = OPENAPI["paths"][_wild(path)][method.lower()]["responses"][str(answer.status_code)]
    schema = described["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": OPENAPI["components"]}).validate(answer.json())
    return {"status": answer.status_code, **answer.json()}


async def said(world: ConsoleWorld, *texts: str, pressed: str = "") -> None:
    """A session in which a person has said something, and then pressed a button."""
    lease, agent, ada = await shard_lease(world.leases), AgentId("1000"), PersonId("web:1")
    told: list[FactContent] = [
        MessageHeard(f"in.{number}", agent, ada, "Ada", True, text)
        for number, text in enumerate(texts or ("a secret",), 1)
    ]
    if pressed:
        press = Message(MessageId("in.9"), ada, "User", pressed, T0, type=MessageType.CHOICE, from_human=True)
        told.append(MessageQueued(agent, press))
    facts = tuple(Fact(session_tape(SESSION), number, one.kind, T0, one.data()) for number, one in enumerate(told, 1))
    await world.sessions.commit(replace(beginning(lease), facts=facts, events=((1, HUMAN_MESSAGE),)))


def _wild(path: str) -> str:
    """A path as the document has it."""
    path = re.sub(r"^/questions/[^/]+/[^/]+", "/questions/{session}/{page}", path)
    path = re.sub(r"/meetings/[^/]+", "/meetings/{meeting}", path)
    for name, part in _WILD.items():
        path = re.sub(rf"^/{name}/(?!reload$)[^/]+", f"/{name}/{{{part}}}", path)
    return path
