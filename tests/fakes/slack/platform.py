"""Slack as an app in one workspace sees it, in memory: people who write, events, faults, and what is visible.

The server side is `server.py` beside it. Tests hold a `SlackPlatform`, act on it as people do, and read it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import anyio
from msgspec import Struct, field

from runtime.core.clock import Clock, SystemClock
from tests.fakes.slack.conversations import BOT_ID, BOT_USER, TEAM, Conversations, Posted
from tests.fakes.slack.events import EventQueue
from tests.fakes.slack.files import Files
from tests.fakes.slack.limits import RateLimits
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND, PERSON, People
from tests.fakes.slack.refusal import Refusal, too_many_requests
from tests.fakes.slack.streams import Streams
from tests.fakes.slack.surfaces import Surfaces
from tests.fakes.slack.text import content

BOT_TOKEN = "xoxb-1-test"
APP_TOKEN = "xapp-1-test"
NAMES: Mapping[str, str] = {PERSON: "Ada Lovelace", FRIEND: "Bob", BOT_USER: "parley"}
CLIENT_ID, CLIENT_SECRET = "1.2", "client-secret"
SIGNING_SECRET = "signing-secret"
SCOPES = (
    "assistant:write channels:history channels:read chat:write chat:write.customize commands files:read files:write "
    "groups:history groups:read im:history im:read im:write mpim:history mpim:read reactions:read reactions:write "
    "users:read"
)
NEEDS: Mapping[str, str] = {
    "agents.sessions.setStatus": "chat:write",
    "assistant.threads.setStatus": "chat:write",
    "assistant.threads.setSuggestedPrompts": "assistant:write",
    "assistant.threads.setTitle": "assistant:write",
    "chat.appendStream": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.startStream": "chat:write",
    "chat.stopStream": "chat:write",
    "chat.update": "chat:write",
    "conversations.history": "channels:history",
    "conversations.info": "channels:read",
    "conversations.open": "im:write",
    "conversations.replies": "channels:history",
    "files.completeUploadExternal": "files:write",
    "files.delete": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.info": "files:read",
    "reactions.add": "reactions:write",
    "reactions.get": "reactions:read",
    "reactions.remove": "reactions:write",
    "users.info": "users:read",
}

SCOPE_OF_KIND: Mapping[str, str] = {
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "mpim": "mpim:read",
    "im": "im:read",
}

FaultKind = Literal["bad_gateway", "drop", "flood", "garbage", "hang", "refuse"]


class Fault(Struct):
    """A fault of the next `times` calls of `method`; `applied` says whether they take effect all the same.

    bad_gateway: HTTP 502 · drop: the connection breaks within the answer · hang: no answer until the client gives up ·
    flood: 429 with `retry_after` · garbage: a result of the wrong shape · refuse: `error`, with the keys of `more`.
    """

    method: str
    kind: FaultKind
    times: int = 1
    applied: bool = False
    retry_after: int = 3
    error: str = "fatal_error"
    more: dict[str, str] = field(default_factory=dict)


class Call(Struct, frozen=True):
    """A call that was answered; status 0 where it got no answer on purpose. `at_s` is the clock's monotonic time."""

    method: str
    params: Mapping[str, Any]
    at_s: float
    status: int


class SlackPlatform(People):
    """One workspace. `limited` says whether rate limits are enforced. Not `marketplace`: the app is sold outside of
    Slack's Marketplace, so that history comes slowly and in small pages."""

    def __init__(self, *, clock: Clock | None = None, limited: bool = False, marketplace: bool = True) -> None:
        self.clock: Clock = clock or SystemClock()
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.tokens = {BOT_TOKEN: TEAM}
        self.is_agent = True
        self.scopes = set(SCOPES.split())
        self.names = dict(NAMES)
        self.teams: dict[str, str] = {}
        self.calls: list[Call] = []
        self.alone: list[tuple[str, str, str | None, str]] = []
        """Who was shown what alone, in which channel and thread."""
        self.closing = anyio.Event()
        self.looking: dict[str, dict[str, Any]] = {}
        self.events = EventQueue(self.clock, self.noticed)
        self.conversations = Conversations(self.clock)
        self.streams = Streams(self.conversations, self.clock)
        self.files = Files(self.conversations)
        self.surfaces = Surfaces(self.conversations, self.clock)
        self.streams.on_stop = self.surfaces.stream_stopped
        self.codes: dict[str, tuple[str, str]] = {}
        self.socket_address = ""
        self._limits = RateLimits(self.clock, marketplace=marketplace) if limited else None
        self.conversations.page_limit = 1000 if marketplace else 15
        self._faults: list[Fault] = []
        self._changed = anyio.Event()
        self.conversations.open(CHANNEL)
        self.conversations.open(DIRECT)

    # What the network and Slack do.

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell every connection that it is going to end."""
        for connection in list(self.events.connections):
            await connection.send({"type": "disconnect", "reason": reason, "debug_info": {}})

    def drop(self) -> None:
        """Break every connection without a word."""
        for connection in list(self.events.connections):
            connection.abort()

    def fail(self, method: str, kind: FaultKind, **more: Any) -> None:
        """Order a fault; the further fields of Fault are the keys."""
        self._faults.append(Fault(method, kind, **more))

    def close(self) -> None:
        self.closing.set()
        self.drop()

    # What can be seen.

    def messages(self, channel: str = CHANNEL) -> list[Posted]:
        """The app's own messages in a channel, oldest first."""
        return [message for message in self.conversations.open(channel).messages if message.bot]

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something is so."""
        while not happened():
            await self._changed.wait()

    # For the server.

    def noticed(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def record(self, method: str, params: Mapping[str, Any], status: int) -> None:
        self.calls.append(Call(method, params, self.clock.monotonic(), status))
        self.noticed()

    def take_fault(self, method: str) -> Fault | None:
        """The fault that is due for a call of the method."""
        for fault in self._faults:
            if fault.method == method:
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
                return fault
        return None

    def answer(self, method: str, token: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What a call does. Raises Refusal."""
        actions = self._actions()
        if method not in actions:
            raise Refusal("unknown_method")
        self._check_token(method, token)
        self.conversations.team = self.tokens.get(token, TEAM)
        if self._limits is not None:
            self._limits.take(method)
            if method == "chat.postMessage":
                self._limits.take_post(str(params.get("channel", "")))
        return actions[method](params)

    def flood(self, fault: Fault) -> Refusal:
        return too_many_requests(fault.retry_after)

    def _actions(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        own_names = "chat:write.customize" in self.scopes
        return {
            "apps.connections.open": lambda _: {"url": f"{self.socket_address}?ticket={self.events.ticket()}"},
            "agents.sessions.setStatus": lambda params: self.surfaces.set_session(params, is_agent=self.is_agent),
            "assistant.threads.setStatus": self.conversations.set_status,
            "assistant.threads.setSuggestedPrompts": self.surfaces.set_prompts,
            "assistant.threads.setTitle": self.surfaces.set_title,
            "auth.test": lambda _: self._identity(),
            "chat.appendStream": self.streams.append,
            "chat.delete": self.conversations.delete,
            "chat.getPermalink": self.conversations.permalink,
            "chat.postEphemeral": self._tell_alone,
            "chat.postMessage": lambda params: self.conversations.post(params, own_names=own_names),
            "chat.startStream": lambda params: self.streams.start(params, own_names=own_names),
            "chat.stopStream": self.streams.stop,
            "chat.update": self.conversations.update,
            "conversations.history": self.conversations.history,
            "conversations.info": self.conversations.info,
            "conversations.open": self._direct,
            "conversations.replies": self.conversations.replies,
            "files.completeUploadExternal": self.files.complete,
            "files.delete": self.files.delete,
            "files.getUploadURLExternal": self.files.place,
            "files.info": self.files.info,
            "oauth.v2.access": self._granted,
            "reactions.add": self.conversations.react,
            "reactions.get": self.conversations.reactions,
            "reactions.remove": self.conversations.take_back,
            "users.conversations": self._conversations_of_bot,
            "views.open": self.surfaces.open_view,
            "users.info": self._person,
        }

    def _direct(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """conversations.open: the direct message with a person, the same each time."""
        if params.get("users") not in self.names:
            raise Refusal("user_not_found")
        channel = DIRECT if params["users"] == PERSON else f"D{params['users'][1:]}"
        return {"channel": {"id": self.conversations.open(channel).id}}

    def _tell_alone(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """chat.postEphemeral: the person must be in the channel, and nothing of it is kept. Below a message without
        replies it is not shown.
        """
        channel = self.conversations.channel(params, to_write=True)
        text, blocks = content(params, update=False)
        self.conversations.check_kinds(blocks)
        if params.get("user") not in self.names:
            raise Refusal("user_not_in_channel")
        thread = params.get("thread_ts")
        if thread is None or any(message.thread_ts == thread for message in channel.messages):
            self.alone.append((params["user"], channel.id, thread, Posted("", "", text, blocks).shown))
        return {"message_ts": "1.000001"}

    def _check_token(self, method: str, token: str) -> None:
        if method == "oauth.v2.access":
            return
        if not token:
            raise Refusal("not_authed")
        if token not in (*self.tokens, self.bot_token, self.app_token):
            raise Refusal("invalid_auth")
        if (token == self.app_token) != (method == "apps.connections.open"):
            raise Refusal("not_allowed_token_type")
        needed = NEEDS.get(method)
        if needed is not None and needed not in self.scopes:
            raise Refusal("missing_scope", more={"needed": needed, "provided": ",".join(sorted(self.scopes))})

    def _conversations_of_bot(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """users.conversations: each kind that is asked for needs its scope."""
        for kind in params.get("types", "public_channel").split(","):
            if (needed := SCOPE_OF_KIND[kind]) not in self.scopes:
                raise Refusal("missing_scope", more={"needed": needed, "provided": ",".join(sorted(self.scopes))})
        return self.conversations.listed(params)

    def _identity(self) -> dict[str, Any]:
        found = self.conversations.team
        name = "Analytical Engines" if found == TEAM else "Difference Engines"
        team = {"team": name, "team_id": found, "url": "https://engines.slack.example/"}
        return team | {"user": "parley", "user_id": BOT_USER, "bot_id": BOT_ID}

    def _granted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if (params.get("client_id"), params.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            raise Refusal("bad_client_secret")
        if params.get("code") not in self.codes:
            raise Refusal("invalid_code")
        team, token = self.codes.pop(params["code"])
        self.tokens[token] = team
        named = {"id": team, "name": "Analytical Engines" if team == TEAM else "Difference Engines"}
        return {"access_token": token, "token_type": "bot", "team": named, "bot_user_id": BOT_USER}

    def _person(self, params: Mapping[str, Any]) -> dict[str, Any]:
        user = params.get("user", "")
        if user not in self.names:
            raise Refusal("user_not_found")
        profile = {"display_name": self.names[user], "real_name": self.names[user]}
        known = {"id": user, "team_id": self.teams.get(user, TEAM), "name": user.casefold(), "profile": profile}
        return {"user": known | ({"locale": "en-GB"} if params.get("include_locale") else {})}
