"""The least that a chat bot with a tool and no program needs for the same conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

TOOL = {
    "name": "LookUpOrder",
    "description": "Find an order by its number; None when there is none.",
    "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
}
FOUND = {"status": "shipped", "arrives": "2 August"}


@dataclass(frozen=True)
class Exchange:
    """Its costs, counted in requests and characters. `unseen` is the most that it writes before people see anything."""

    calls: int
    chars_in: int
    unseen: int


def plain_bot(source: str, says: Sequence[str], shown: Sequence[str]) -> Exchange:
    """A bot whose instructions are the program's words, with its tool: the greeting, then an answer to each message.

    `shown` are the words that people see: at the beginning, and after each thing that they say. The first message
    takes a call of the tool.
    """
    instructions = re.sub(r"(?s)\A---.*?---\n|```python.*?```\n", "", source) + json.dumps(TOOL)
    greeting, *answers = shown
    call, found = json.dumps({"order_id": says[0]}), json.dumps(FOUND)
    requests = [instructions]
    past = instructions + greeting
    for number, (text, answer) in enumerate(zip(says, answers, strict=True)):
        past += text
        requests.append(past)
        if number == 0:
            past += call + found
            requests.append(past)
        past += answer
    return Exchange(len(requests), sum(map(len, requests)), len(call))
