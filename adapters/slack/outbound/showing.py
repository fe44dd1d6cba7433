"""A check that Slack shows what it was given. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from runtime.core.errors import ShownDiffers

_EMOJI_NAME = re.compile(r":[a-z0-9_+'-]+:", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp|lt|gt);")


def check_shown(answer: AsyncSlackResponse, blocks: Sequence[Mapping[str, Any]], thread: str | None) -> None:
    """Raise ShownDiffers where the message that Slack answers has other words, or is not in the thread.

    Slack gives emojis by name and spaces in its own way, so only letters and digits are compared. An answer without
    the message says nothing.
    """
    message = answer.get("message")
    if not isinstance(message, dict):
        return
    if thread is not None and message.get("thread_ts") != thread:
        raise ShownDiffers(f"Slack shows the message {answer.get('ts')} outside of its thread {thread}")
    shown = message.get("blocks")
    if isinstance(shown, list) and _words(shown) != _words(blocks):
        raise ShownDiffers(f"Slack shows another text in the message {answer.get('ts')} than it was given")


def _words(blocks: Sequence[Mapping[str, Any]]) -> str:
    sections = [str(block["text"].get("text", "")) for block in blocks if block.get("type") == "section"]
    text = _ENTITY.sub("", _EMOJI_NAME.sub("", "\n".join(sections)))
    return "".join(character for character in text if character.isalnum())
