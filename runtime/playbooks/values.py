"""Results of host calls for an author's code: JSON data with attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FIELDS: Mapping[str, str] = {
    "content": "text",
    "text": "text",
    "sender_id": "from",
    "sender_klass": "class",
    "name": "name",
    "id": "id",
    "recipient_id": "to",
    "recipient_klass": "to_class",
    "message_type": "type",
    "meeting_id": "meeting",
    "stream_id": "stream",
    "created_at": "at",
}


class ReceivedMessage(dict[str, Any]):
    """A message that `WaitForMessage` gave: a dictionary, `message["text"]`, whose most used values are attributes as
    well, `message.content`. An attribute without a value is None."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"a message has no {name!r}; it has {', '.join(_FIELDS)}")
        return self.get(_FIELDS[name])


class AgentName(str):
    """An agent as `CreateAgent` gives it: the text "agent 1005", which every call takes, with `id` "1005"."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The number alone."""
        return self.rpartition(" ")[2]


def seen_by_code(call: str, value: Any) -> Any:
    """The result of the host call with this name. The journal keeps `value`, plain data."""
    if call == "WaitForMessage" and isinstance(value, list):
        return [ReceivedMessage(one) for one in value]
    if call in ("CreateAgent", "IdleAgent") and isinstance(value, str):
        return AgentName(value)
    return value
