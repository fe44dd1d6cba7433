"""What some platforms do not have, and the contract with each platform without it.

A test says what it is about: `@needs("marks")`. Where a platform lacks it there is no such test. `LACKS` says so for
each platform, and a test holds it against what the platform's adapter and fake say of themselves.
"""

from __future__ import annotations

from typing import Literal, cast, get_args

import pytest

from adapters.adapter import CanDelete, CanDownload, CanEdit, CanOffer, CanOpenThread, CanReact, CanUpload
from tests.contract.stands.stand import Stand

Part = Literal[
    "answers that are lost",
    "choices",
    "deleting",
    "deletions told",
    "downloads",
    "editing",
    "edits told",
    "files",
    "floods",
    "marks",
    "nonces",
    "places without threads",
    "quotes",
    "rights",
    "threads",
]
PARTS: tuple[Part, ...] = get_args(Part)

LACKS: dict[str, frozenset[Part]] = {
    "minimal": frozenset(PARTS) - {"floods", "rights"},
    "web": frozenset({"floods", "places without threads", "rights"}),
    "telegram": frozenset({"deletions told", "nonces"}),
    "slack": frozenset({"places without threads", "quotes"}),
    "discord": frozenset(),
}
"""Telegram tells bots of no deletions and knows no nonces; Slack has no quotes, and threads everywhere, like the web
chat, whose server is our own: it neither floods nor takes rights away."""


def needs(*parts: Part) -> pytest.MarkDecorator:
    """Marks a test, or one of its parameters, that is about what some platforms lack."""
    return pytest.mark.needs(*parts)


def has_all(platform: str, item: pytest.Item) -> bool:
    """Whether a platform has all that a test is about."""
    wanted = {cast("Part", part) for mark in item.iter_markers("needs") for part in mark.args}
    if unknown := wanted - set(PARTS):
        raise ValueError(f"{item.nodeid} needs {', '.join(sorted(unknown))}, which is none of the parts.")
    return not wanted & LACKS[platform]


async def lacked_by(stand: Stand) -> frozenset[Part]:
    """What a platform does not have, by its adapter and its fake."""
    adapter, can = stand.adapter, stand.adapter.capabilities
    has: dict[Part, bool] = {
        "answers that are lost": "answer_lost" in stand.troubles,
        "choices": can.max_choices > 0 and isinstance(adapter, CanOffer),
        "deleting": can.deletes and isinstance(adapter, CanDelete),
        "deletions told": "deletion" in stand.tells,
        "downloads": isinstance(adapter, CanDownload),
        "editing": can.edits and isinstance(adapter, CanEdit),
        "edits told": "edit" in stand.tells,
        "files": can.max_file_bytes > 0 and isinstance(adapter, CanUpload),
        "floods": "flood" in stand.troubles,
        "marks": can.reactions and isinstance(adapter, CanReact),
        "nonces": can.idempotent_send,
        "places without threads": stand.threadless is not None,
        "quotes": can.quotes,
        "rights": "forbidden" in stand.troubles,
        "threads": await stand.topic() is not None and isinstance(adapter, CanOpenThread),
    }
    return frozenset(part for part in PARTS if not has[part])
