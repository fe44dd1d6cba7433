"""How what is said appears: its agent's icon, blocks that a workspace takes, and what Slack shows of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar
from zlib import crc32

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.recent import RecentValues
from adapters.slack.api.streams import StreamReader
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import PLATFORM, AuthorFace, shown_name
from adapters.slack.codec.interactions import feedback_block
from runtime.core.address import Address, Speaker
from runtime.core.errors import BadMarkup, ShownDiffers
from runtime.core.texts import Texts

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
Blocks: TypeAlias = list[dict[str, Any]]

_EMOJI_NAME = re.compile(r":[a-z0-9_+'-]+:", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp|lt|gt);")

ICONS: Final = tuple(
    f":{name}:"
    for name in [
        "robot_face",
        "owl",
        "fox_face",
        "octopus",
        "dolphin",
        "bee",
        "turtle",
        "penguin",
        "koala",
        "hedgehog",
        "panda_face",
        "whale",
        "unicorn_face",
        "eagle",
        "tiger",
        "frog",
    ]
)

REMEMBERED: Final = 10_000
"""The number of threads, of people and of messages remembered; others are asked for again."""


class AgentIcons:
    """An agent's icon follows from its name; where another agent of its conversation has that one, it is the next that
    is free. So it is the same everywhere and after a restart, unless two names fall together."""

    def __init__(self, most: int) -> None:
        self._taken = RecentValues[str, dict[str, str]](most)

    def of(self, to: Address, speaker: Speaker) -> AuthorFace | None:
        """Name and icon; None for the gateway itself (id "")."""
        name = shown_name(speaker)
        if name is None:
            return None
        taken = self._taken.get(to.key) or {}
        who = f"{speaker.id} {name}"
        if who not in taken:
            taken[who] = _icon(name, taken)
            self._taken.keep(to.key, taken)
        return AuthorFace(name, taken[who])


def _icon(name: str, taken: dict[str, str]) -> str:
    first = crc32(name.encode()) % len(ICONS)
    wanted = (*ICONS[first:], *ICONS[:first])
    return next((icon for icon in wanted if icon not in taken.values()), wanted[0])


class AnswerBlocks:
    """Shows what is said by the best means that a workspace takes; what it refuses is left out for a time."""

    def __init__(self, texts: Texts, *, thumbs: bool) -> None:
        self._texts = texts
        self._thumbs = thumbs

    async def show(
        self,
        said: Callable[[bool], Blocks],
        speaker: Speaker,
        workspace: SlackWorkspace,
        call: Callable[[Blocks], Awaitable[_Answer]],
        *,
        final: bool,
    ) -> tuple[_Answer, Blocks]:
        """The answer of the call, and the blocks shown. `said` makes them, with tables or without."""
        forms = [said(workspace.takes("tables"))]
        if any(block["type"] == "table" for block in forms[0]):
            forms.append(said(False))
        rated = final and self._thumbs and bool(speaker.id) and workspace.takes("thumbs")
        below = [[feedback_block(self._texts)], []] if rated else [[]]
        tries = [(blocks, thumbs) for blocks in forms for thumbs in below]
        while True:
            blocks, thumbs = tries.pop(0)
            try:
                answer = await call([*blocks, *thumbs])
                break
            except BadMarkup as error:
                if not tries:
                    raise
                _log.info("Slack does not take a block here", extra={"error": str(error)})
        if thumbs != below[0]:
            workspace.refuses("thumbs")
        if blocks != forms[0]:
            workspace.refuses("tables")
        return answer, blocks


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


class SlackThreads:
    """`ours`: whether we take part in a thread; `spoken_in`: threads we spoke in since this process started."""

    def __init__(self) -> None:
        self.ours = RecentValues[str, bool](REMEMBERED)
        self.spoken_in = RecentValues[str, bool](REMEMBERED)
        self.untitled = RecentValues[str, bool](REMEMBERED)
        self._recipients = RecentValues[str, StreamReader](REMEMBERED)
        self._latest = RecentValues[str, Address](REMEMBERED)
        self._places = RecentValues[str, Address](REMEMBERED)

    def spoke(self, to: Address, message: str) -> None:
        self.spoken_in.keep(to.key, True)
        self.ours.keep(to.key, True)
        self._places.keep(_message_key(to.conversation, message), to)

    def heard(self, at: Address, message: str, recipient: StreamReader) -> None:
        self._places.keep(_message_key(at.conversation, message), at)
        self._recipients.keep(at.key, recipient)
        if at.thread is not None:
            self._latest.keep(_message_key(at.conversation, recipient.user), at)

    def recipient(self, at: Address) -> StreamReader | None:
        return self._recipients.get(at.key)

    def latest(self, conversation: str, user: str) -> Address | None:
        """The thread of the last message of a person in a channel."""
        return self._latest.get(_message_key(conversation, user))

    def place(self, conversation: str, message: str) -> Address | None:
        return self._places.get(_message_key(conversation, message))

    def placed(self, conversation: str, message: str, thread: str | None) -> Address:
        place = Address(PLATFORM, conversation, thread)
        self._places.keep(_message_key(conversation, message), place)
        return place


def _message_key(conversation: str, name: str) -> str:
    return f"{conversation}/{name}"
