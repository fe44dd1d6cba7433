"""What is not a message: forms, and the threads of assistants and agents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from runtime.core.clock import Clock
from tests.fakes.slack.conversations import Conversations
from tests.fakes.slack.refusal import Refusal

TRIGGER_LASTS_S = 3.0
MAX_PROMPTS = 4


class Surfaces:
    """`titles`, `prompts` and `sessions` are by channel and thread."""

    def __init__(self, conversations: Conversations, clock: Clock) -> None:
        self._conversations = conversations
        self._clock = clock
        self._ids = itertools.count(1)
        self._triggers: dict[str, float] = {}
        self.views: list[dict[str, Any]] = []
        self.titles: dict[str, str] = {}
        self.prompts: dict[str, list[dict[str, str]]] = {}
        self.sessions: dict[str, str] = {}

    def trigger(self) -> str:
        """The right to open one form, for 3 s."""
        trigger = f"trigger.{next(self._ids)}"
        self._triggers[trigger] = self._clock.monotonic() + TRIGGER_LASTS_S
        return trigger

    def open_view(self, params: Mapping[str, Any]) -> dict[str, Any]:
        until_s = self._triggers.pop(params.get("trigger_id", ""), None)
        if until_s is None:
            raise Refusal("invalid_trigger_id")
        if self._clock.monotonic() >= until_s:
            raise Refusal("expired_trigger_id")
        view = params["view"]
        if view.get("type") != "modal" or len(view["title"]["text"]) > 24:
            raise Refusal("invalid_arguments")
        self.views.append(view | {"id": f"V{next(self._ids)}"})
        return {"view": self.views[-1]}

    def set_title(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self.titles[self._thread(params)] = params["title"]
        return {}

    def set_prompts(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if not 1 <= len(params["prompts"]) <= MAX_PROMPTS:
            raise Refusal("invalid_arguments")
        self.prompts[self._thread(params)] = params["prompts"]
        return {}

    def set_session(self, params: Mapping[str, Any], *, is_agent: bool) -> dict[str, Any]:
        if not is_agent:
            raise Refusal("app_not_agent")
        if params.get("status") not in ("active", "processing", "suspended", "closed"):
            raise Refusal("invalid_arguments")
        self.sessions[self._thread(params)] = params["status"]
        return {"status": params["status"]}

    def _thread(self, params: Mapping[str, Any]) -> str:
        channel = self._conversations.channel(params, to_write=True, name="channel_id")
        if self._conversations.find(channel, params.get("thread_ts")) is None:
            raise Refusal("thread_not_found")
        return f"{channel.id}/{params['thread_ts']}"
