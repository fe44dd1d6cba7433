"""What people do on the Slack of tests: write, change, press, react, and let the app in."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.slack.conversations import BOT_USER, TEAM, Conversations, Posted
from tests.fakes.slack.events import EventQueue
from tests.fakes.slack.streams import Streams
from tests.fakes.slack.surfaces import Surfaces

PERSON = "U0ADA"
FRIEND = "U0BOB"
CHANNEL = "C0GENERAL"
DIRECT = "D0ADA"
OTHER_TEAM = "T0002"
OTHER_TOKEN = "xoxb-2-test"


class People:
    """The part of a `SlackPlatform` that tests act with."""

    names: dict[str, str]
    teams: dict[str, str]
    """Of people who do not belong to the workspace of the bot."""
    tokens: dict[str, str]
    codes: dict[str, tuple[str, str]]
    conversations: Conversations
    events: EventQueue
    streams: Streams
    surfaces: Surfaces
    looking: dict[str, dict[str, Any]]

    def say(
        self, text: str, *, channel: str = CHANNEL, person: str = PERSON, thread: str | None = None, **more: Any
    ) -> str:
        """A person writes; returns the message's time stamp. `more` goes into the event as it is (`files=[…]`).

        A mention of the bot (`<@U0BOT>`) outside of direct messages is told twice, as Slack does.
        """
        place = self.conversations.open(channel)
        brought: dict[str, Any] = {key: more[key] for key in ("files", "attachments") if key in more}
        posted = Posted(self.conversations.next_ts(), person, text, thread_ts=thread, brought=brought)
        place.messages.append(posted)
        if not place.member:
            return posted.ts
        event: dict[str, Any] = {
            "type": "message",
            "team": place.team,
            "user": person,
            "text": text,
            "ts": posted.ts,
            "channel": channel,
            "event_ts": posted.ts,
            "channel_type": {"D": "im", "G": "mpim"}.get(channel[0], "channel"),
        }
        root = self.conversations.find(place, thread)
        if root is not None:
            event |= {"thread_ts": root.ts, "parent_user_id": root.user}
        if channel[0] == "D" and person in self.looking:
            event["app_context"] = self.looking[person]
        if f"<@{BOT_USER}>" in text and channel[0] != "D":
            told = {key: value for key, value in event.items() if key != "channel_type"}
            self.events.put(told | {"type": "app_mention"}, team=place.team)
        self.events.put(event | more, team=place.team)
        return posted.ts

    def mention(self, text: str, **more: Any) -> str:
        """A person addresses the bot."""
        return self.say(f"<@{BOT_USER}> {text}", **more)

    def rewrite(self, ts: str, text: str, *, channel: str = CHANNEL) -> None:
        """A person edits a message of their own."""
        posted = self._message(channel, ts)
        before, posted.text = posted.data(), text
        self.events.put(
            {"type": "message", "subtype": "message_changed", "hidden": True, "channel": channel}
            | {"message": posted.data(), "previous_message": before, "ts": self.conversations.next_ts()}
        )

    def remove(self, ts: str, *, channel: str = CHANNEL) -> None:
        """Somebody deletes a message."""
        posted = self._message(channel, ts)
        self.conversations.open(channel).messages.remove(posted)
        self.events.put(
            {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": channel, "deleted_ts": ts}
            | {"previous_message": posted.data(), "ts": self.conversations.next_ts()}
        )

    def press(
        self, label: str, message: Posted, *, channel: str = CHANNEL, person: str = PERSON, contained: bool = True
    ) -> str:
        """A person presses the button with this label under a message; `contained`: its container tells the thread."""
        buttons = [e for block in message.blocks if block["type"] == "actions" for e in block["elements"]]
        button = next(button for button in buttons if button["text"]["text"] == label)
        action = {**button, "block_id": "choices", "action_ts": "1.2"}
        return self._act_on(message, action, channel, person, contained=contained)

    def _act_on(self, message: Posted, action: dict[str, Any], channel: str, person: str, *, contained: bool) -> str:
        container = {"type": "message", "message_ts": message.ts, "channel_id": channel, "is_ephemeral": False}
        if message.thread_ts is not None and contained:
            container["thread_ts"] = message.thread_ts
        payload = {
            "type": "block_actions",
            "user": {"id": person, "name": self.names[person], "team_id": self.teams.get(person, TEAM)},
            "team": {"id": TEAM, "domain": "engines"},
            "container": container,
            "channel": {"id": channel, "name": "general"},
            "message": message.data(),
            "trigger_id": self.surfaces.trigger(),
            "actions": [action],
        }
        return self.events.put_payload("interactive", payload)

    def rate(self, message: Posted, *, up: bool, channel: str = CHANNEL, person: str = PERSON) -> str:
        """A person presses a thumb below a message."""
        [thumbs] = [e for block in message.blocks if block["type"] == "context_actions" for e in block["elements"]]
        button = thumbs["positive_button" if up else "negative_button"]
        action = {"type": "feedback_buttons", "action_id": thumbs["action_id"], "block_id": "b1", "action_ts": "1.2"}
        return self._act_on(message, {**action, "value": button["value"]}, channel, person, contained=True)

    def command(self, text: str, *, channel: str = CHANNEL, person: str = PERSON) -> str:
        """A person writes `/parley text`."""
        payload = {
            "token": "unused",
            "team_id": TEAM,
            "channel_id": channel,
            "user_id": person,
            "user_name": self.names[person],
            "command": "/parley",
            "text": text,
            "trigger_id": self.surfaces.trigger(),
        }
        return self.events.put_payload("slash_commands", payload)

    def submit(self, text: str, *, person: str = PERSON) -> str:
        """A person fills in the form that was opened last, and sends it."""
        view = self.surfaces.views[-1]
        state = {"values": {"text": {"text": {"type": "plain_text_input", "value": text}}}}
        payload = {
            "type": "view_submission",
            "team": {"id": TEAM},
            "user": {"id": person, "name": self.names[person]},
            "trigger_id": self.surfaces.trigger(),
            "view": view | {"state": state, "team_id": TEAM},
        }
        return self.events.put_payload("interactive", payload)

    def react(self, name: str, ts: str, *, channel: str = CHANNEL, person: str = PERSON, gone: bool = False) -> None:
        """A person puts a mark on a message, or takes it away."""
        item = {"type": "message", "channel": channel, "ts": ts}
        kind = "reaction_removed" if gone else "reaction_added"
        event = {"type": kind, "user": person, "reaction": name, "item": item, "item_user": BOT_USER}
        self.events.put(event | {"event_ts": self.conversations.next_ts()})

    def open_app(self, *, tab: str = "messages", channel: str = DIRECT, person: str = PERSON) -> None:
        """A person looks at the app's messages or at its home (docs.slack.dev/reference/events/app_home_opened)."""
        event = {"type": "app_home_opened", "user": person, "channel": channel, "tab": tab}
        self.events.put(event | {"event_ts": self.conversations.next_ts()})

    def look_at(self, *entities: Mapping[str, Any], person: str = PERSON) -> None:
        """A person opens something beside the app's messages, in which they write from now on. Slack tells it to an app
        with an `agent_view` (docs.slack.dev/reference/events/app_context_changed)."""
        assert self.surfaces.agent_view, "an app of before is told by another event"
        context = {"entities": list(entities)} if entities else {}
        self.looking[person] = context
        event = {"type": "app_context_changed", "user": person, "channel": DIRECT, "context": context}
        self.events.put(event | {"event_ts": self.conversations.next_ts()})

    def open_assistant(self, *, channel: str = DIRECT, person: str = PERSON) -> str:
        """A person opens the side panel of an app of before: an empty thread, whose root is the app's."""
        assert not self.surfaces.agent_view, "an app with an agent_view has no panel"
        root = Posted(self.conversations.next_ts(), BOT_USER, "New Assistant Thread", bot=True)
        self.conversations.open(channel).messages.append(root)
        thread = {"user_id": person, "context": {}, "channel_id": channel, "thread_ts": root.ts}
        self.events.put({"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": root.ts})
        return root.ts

    def stop(self, thread: str, *, channel: str = CHANNEL, person: str = PERSON) -> None:
        """A person presses the stop button of an agent's session."""
        assert self.surfaces.sessions.get(f"{channel}/{thread}") == "processing", "there is no stop button"
        stopped = self.streams.stop_all(channel, thread)
        event = {"type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": person}
        self.events.put(event | {"event_ts": self.conversations.next_ts(), "streaming_message_ts": stopped})

    def install(self, *, team: str = OTHER_TEAM, token: str = OTHER_TOKEN) -> str:
        """Somebody lets the app into a workspace; the code that Slack's page sends back with the browser."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = (team, token)
        return code

    def uninstall(self, team: str) -> None:
        """Somebody takes the app out of a workspace: its tokens are worth nothing."""
        self.tokens = {token: of for token, of in self.tokens.items() if of != team}
        self.events.put({"type": "app_uninstalled"}, team=team)

    def _message(self, channel: str, ts: str) -> Posted:
        posted = self.conversations.find(self.conversations.open(channel), ts)
        assert posted is not None, f"no message {ts} in {channel}"
        return posted
