"""What is not a message: forms, and the threads of assistants and agents."""

import itertools
from collections.abc import Mapping
from typing import Any

from runtime.core.clock import Clock
from tests.fakes.slack.conversations import Conversations
from tests.fakes.slack.refusal import Refusal

TRIGGER_LASTS_S = 3.0
MAX_PROMPTS = 4


class Surfaces:
    """`titles` and `sessions` are by channel and thread, `prompts` by channel, and by thread in an `assistant_view`.

    `agent_view`: the app is one, as all new apps are; otherwise it is an `assistant_view`.
    """

    def __init__(self, conversations: Conversations, clock: Clock) -> None:
        self._conversations = conversations
        self._clock = clock
        self._ids = itertools.count(1)
        self._triggers: dict[str, float] = {}
        self.agent_view = True
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
        if not self.agent_view:
            self.prompts[self._thread(params)] = params["prompts"]
        elif params.get("thread_ts") is None:  # with one, Slack says that all is well and does nothing
            self.prompts[self._conversations.channel(params, to_write=True, name="channel_id").id] = params["prompts"]
        return {}

    def set_session(self, params: Mapping[str, Any], *, is_agent: bool) -> dict[str, Any]:
        if not is_agent:
            raise Refusal("app_not_agent")
        if params.get("status") not in ("active", "processing", "suspended", "closed"):
            raise Refusal("invalid_arguments")
        self.sessions[self._thread(params)] = params["status"]
        return {"status": params["status"]}

    def stream_stopped(self, channel: str, thread: str | None, status: str) -> None:
        """The end of a stream sets the status of its thread's session, if there is one."""
        key = f"{channel}/{thread}"
        if key in self.sessions:
            self.sessions[key] = status

    def _thread(self, params: Mapping[str, Any]) -> str:
        channel = self._conversations.channel(params, to_write=True, name="channel_id")
        if self._conversations.find(channel, params.get("thread_ts")) is None:
            raise Refusal("thread_not_found")
        return f"{channel.id}/{params['thread_ts']}"


OF_ASSISTANTS = frozenset({"assistant_thread_started", "assistant_thread_context_changed"})
"""Events of an `assistant_view`."""


def refusals(manifest: Mapping[str, Any]) -> list[str]:
    """Why Slack does not make an app from a manifest (docs.slack.dev/reference/app-manifest)."""
    features, events = manifest["features"], manifest["settings"]["event_subscriptions"]["bot_events"]
    found = [f"{event} is of an assistant_view" for event in events if event in OF_ASSISTANTS]
    if "app_context_changed" in events and "agent_view" not in features:
        found.append("app_context_changed is of an agent_view")
    if "assistant_view" in features or "agent_view" not in features:
        found.append("a new app has an agent_view")
    if "message.im" in events and not features["app_home"]["messages_tab_enabled"]:
        found.append("message.im needs the messages tab")
    if not 1 <= len(features["agent_view"]["agent_description"]) <= 300:
        found.append("agent_description has at most 300 characters")
    return found
