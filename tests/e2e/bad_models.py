"""Conversations whose models misbehave, each in its own way, until the person writes once more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.gateway_process import ROOT, Room, gateway
from tests.fakes.openai_server import OpenAIServer, Reply

GREETING = "Hello! What is your name?"


def code(*statements: str) -> Reply:
    """A reply that is one Python block."""
    return Reply("```python\n" + "\n".join(["# recap: begin", "# plan: go on", *statements]) + "\n```")


_STEP = 'await Step("Main:01:QUE")\n# trig? no'
_GOOD = code(_STEP, f'await Say("user", "{GREETING}")', 'await Yld("user")')

BAD = {
    "prose": Reply("Sure, I would be glad to help you with that! What would you like to know?"),
    "nothing": Reply(""),
    "refuses-key": Reply(status=401, error={"message": "Incorrect API key provided", "code": "invalid_api_key"}),
    "fails": Reply(status=500),
    "loops": code(_STEP, "while True:\n    pass", 'await Yld("user")'),
    "reads-files": code(_STEP, 'text = open("/etc/passwd").read()', 'await Say("user", text)', 'await Yld("user")'),
    "imports-os": code(_STEP, "import os", 'await Say("user", str(os.environ))', 'await Yld("user")'),
    "invents-step": code('await Step("Main:99:QUE")\n# trig? no', 'await Say("user", "Aha!")', 'await Yld("user")'),
    "never-ends": code(_STEP, f'await Say("user", "{GREETING}")'),
}
"""What each of the models answers."""


@dataclass
class Suffered:
    """What a person saw: `before` writing once more, and `after`."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    requests: int = 0
    problem: str = ""


def _answer(request: Mapping[str, Any], suffered: dict[str, Suffered]) -> Reply:
    said = json.dumps(request["messages"])
    found = re.search(r"greetings from ([\w-]+)", said)
    if found is None or "once more" in said:
        return _GOOD
    suffered[found[1]].requests += 1
    return BAD[found[1]]


async def suffer(directory: Path) -> dict[str, Suffered]:
    """Talk with all of them at once, in a room each."""
    suffered = {name: Suffered() for name in BAD}
    async with OpenAIServer(lambda request: _answer(request, suffered)) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
        }
        async with (
            gateway(directory, ROOT / "examples" / "hello.pb", environment) as running,
            AsyncExitStack() as stack,
            anyio.create_task_group() as tasks,
        ):
            for name in BAD:
                room = Room(await stack.enter_async_context(running.page()), name)
                await room.open()
                tasks.start_soon(_talk, name, room, suffered[name])
    return suffered


async def _talk(name: str, room: Room, suffered: Suffered) -> None:
    def shown() -> list[str]:
        return [m["text"] for m in room.messages.values() if m["kind"] != "person"]

    try:
        await room.say(f"greetings from {name}")
        await room.until_that(lambda: any("⚠" in text for text in shown()))
        suffered.before = [text for text in shown() if not text.endswith("opened this room.")]
        await room.say("once more")
        await room.until_that(lambda: shown()[-1] == GREETING)
        suffered.after = shown()
    except AssertionError as error:
        suffered.problem = str(error)
