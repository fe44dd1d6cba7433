"""The scout of scout.pb: a program of its own that plays an agent. Start it as

python examples/scout.py ws://127.0.0.1:8420/participants/scout scout-token

with the file of the token that [participants.tokens] in parley.toml names for it. Kill it and start it again as you
like: nothing is lost, and nothing is answered twice.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from gateway.features.participants.client import connect

PATHS = {"north": "to the glacier", "south": "to the lake", "east": "to the village", "west": "nowhere, it is steep"}


async def main(url: str, token: str) -> None:
    """Answer what comes, for ever."""
    async with connect(url, token) as inbox:
        async for message in inbox:
            if message.kind == "meeting_invitation":
                await message.join()
            elif message.to_you:
                await message.reply(PATHS.get(message.text.lower(), "I have never been there"))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8").strip())
