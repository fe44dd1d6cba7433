"""A Discord of simcord's with one server, and what people do there.

simcord keeps the world and knows the rules of most calls. What it does differently from Discord, and matters here, is
put right in `as_told` and `answer`: nonces, threads of webhooks, the order of history, ids of applications and roles.
"""

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import discord
from msgspec import Struct
from simcord import interactions
from simcord._clock import Clock as SimcordClock
from simcord.backend import Backend
from simcord.backend.cdn import CDN_BASE
from simcord.backend.errors import BackendError
from simcord.backend.models import Channel, User, Webhook

from runtime.core.clock import Clock
from tests.fakes.discord.calls import choices_of
from tests.fakes.discord.people import People

MAX_HOOKS = 15
NONCE_LASTS_S = 300.0
"""How long a nonce is known: Discord says "a few minutes"."""
_NAMES_REFUSED = ("discord", "clyde")
_READS_MESSAGES = 1 << 19


class _Time(SimcordClock):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def now(self) -> datetime.datetime:
        return self._clock.now()


class Posted(Struct, frozen=True):
    """A message that people see; `hook` where a webhook said it, `history` all the texts it had."""

    id: str
    author: str
    text: str
    hook: str | None
    history: list[str]
    pings: bool
    answers: str | None = None
    choices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    picture: str | None = None


class DiscordWorld:
    """One bot, one server with the channel `general`, and Ada and Bob, who are in it. Ids are text."""

    def __init__(self, clock: Clock) -> None:
        self.tells_applications = True
        """Whether webhooks say whose application made them."""
        self._clock = clock
        self.backend = Backend(clock=_Time(clock))
        self.guild = self.backend.create_guild("Us")
        self.general = str(self.backend.create_channel(self.guild.id, "general").id)
        self.ada = self.person("Ada Lovelace")
        self.bob = self.person("Bob")
        self.people = People(self.backend)
        self.reads_messages = True
        self.typing: list[str] = []
        self.files_at = CDN_BASE.removesuffix("/files")
        self.takes_voice = True
        self.files_valid = "1"
        self.files_moved_to: str | None = None
        self._nonces: dict[str, tuple[float, dict[str, Any]]] = {}
        self._texts: dict[str, list[str]] = {}
        self.backend.subscribers.append(self._remember)

    @property
    def bot(self) -> str:
        return str(self.backend.bot_user.id)

    @property
    def bot_role(self) -> str:
        return next(str(role.id) for role in self.guild.roles.values() if role.managed)

    def person(self, name: str) -> User:
        """Somebody new in the server."""
        user = self.backend.make_user(name.split()[0].lower(), global_name=name)
        self.backend.add_member(self.guild.id, user.id)
        return user

    def channel(self, name: str) -> str:
        return str(self.backend.create_channel(self.guild.id, name).id)

    def private(self, person: User | None = None) -> str:
        """The channel of a person's conversation with the bot."""
        return str(self.backend.get_dm_channel((person or self.ada).id).id)

    def thread(self, name: str, *, by_bot: bool = False) -> str:
        """A thread in `general`."""
        owner = self.backend.bot_user if by_bot else self.ada
        return str(self.backend.create_thread(int(self.general), name, owner.id).id)

    def say(self, text: str, channel: str | None = None, person: User | None = None, **more: Any) -> str:
        """A person writes; `reply_to`: a message of this channel, `files`: names and contents."""
        where = int(channel or self.general)
        reply_to = more.pop("reply_to", None)
        reference = None if reply_to is None else {"channel_id": str(where), "message_id": reply_to}
        files = self.backend.store_attachments(where, more.pop("files", ()))
        author = person or self.ada
        return str(
            self.backend.create_message(where, author.id, text, reference=reference, attachments=files, **more).id
        )

    def forward(self, message: str, channel: str, person: User | None = None) -> str:
        """A person passes a message of `general` on."""
        reference = {"channel_id": self.general, "message_id": message, "type": 1}
        author = person or self.ada
        return str(self.backend.create_message(int(channel), author.id, "", reference=reference).id)

    def hook_says(self, text: str, **more: Any) -> str:
        """Somebody else's webhook speaks in `general`; `embeds`: its cards."""
        hook = self.backend.create_webhook(int(self.general), "News", self.ada.id)
        said = self.backend.create_message(int(self.general), hook.webhook_user_id, text, webhook_id=hook.id, **more)
        return str(said.id)

    def choose(self, command: str, channel: str | None = None, text: str = "") -> str:
        """Ada chooses a command from the menu; returns the interaction's id."""
        where = self.backend.get_channel(int(channel or self.general))
        known = self.backend.find_command(command, where.guild_id)
        if known is None:
            raise LookupError(f"the bot has no command {command}")
        options = [{"name": "text", "type": 3, "value": text}] if text else []
        data = {"id": known["id"], "name": command, "type": 1, "options": options}
        record, payload = interactions.base_payload(
            self.backend, type=2, channel_id=where.id, guild_id=where.guild_id, user_id=self.ada.id, data=data
        )
        self.backend.emit("INTERACTION_CREATE", payload)
        return str(record.id)

    def press(self, channel: str, message: str, label: str, person: User | None = None) -> str:
        """Somebody, Ada unless told otherwise, presses a choice under a message; the interaction's id."""
        return self.people.press(person or self.ada, channel, message, label)

    def receipt(self, interaction: str) -> str | None:
        """What the person sees: None nothing yet, "" that something will follow, else the text."""
        record = self.backend.interactions[int(interaction)]
        if record.message_id is None:
            return None
        return self.backend.get_message(record.channel_id, record.message_id).content

    def messages(self, channel: str) -> list[Posted]:
        """What of the bot's and its webhooks' is visible, in order."""
        said = self.backend.messages.get(int(channel), {}).values()
        return [
            Posted(
                str(each.id),
                each.author_name or self.backend.users[each.author_id].name,
                each.content,
                str(each.webhook_id) if each.webhook_id is not None else None,
                self._texts[str(each.id)],
                bool(each.ping_user_ids or each.ping_role_ids or each.mention_everyone),
                (each.reference or {}).get("message_id"),
                choices_of(each.components),
                tuple(file["filename"] for file in each.attachments),
                each.author_avatar,
            )
            for each in said
            if (each.author_id == self.backend.bot_user.id or each.webhook_id is not None) and not each.is_ephemeral
            if each.system_metadata is None
        ]

    def delete(self, channel: str, message: str) -> None:
        self.backend.delete_message(int(channel), int(message))

    def forbid(self, *permissions: str) -> None:
        """Take permissions from the bot's role and from everybody's."""
        for role in self.guild.roles.values():
            role.permissions &= ~discord.Permissions(**dict.fromkeys(permissions, True)).value

    def answer(self, operation: str, call: Callable[..., Any], body: Any, query: Mapping[str, str], path: str) -> Any:
        """The result of a call; `call` hands it to simcord. Raises BackendError."""
        match operation:
            case "send":
                self._hear(body)
                return self._once(body, lambda: self._sent(call(body, query)))
            case "hook_send" | "hook_edit" | "hook_delete" if path.split("/")[2] != str(self.backend.application_id):
                return self._by_hook(path, body, query, call)
            case "open_thread":
                return self._opened(path, body, lambda: call(body, query))
            case "make_hook" if len(self.hooks(path.split("/")[2])) >= MAX_HOOKS:
                raise BackendError(400, 30007, "Maximum number of webhooks reached (15)")
            case "history" if "after" in query:
                return call(body, {**query, "limit": "1000000"})[-int(query["limit"]) :]
            case "refresh_files":
                return {"refreshed_urls": [self._refreshed(url) for url in body["attachment_urls"]]}
            case "typing":
                self.typing.append(path.split("/")[2])
        return call(body, query)

    def _hear(self, body: Any) -> None:
        """Refuse a voice message that is none (discord-api-docs, Message Flags: IS_VOICE_MESSAGE)."""
        if not body.get("flags", 0) & 1 << 13:
            return
        if not self.takes_voice:
            raise BackendError(403, 50173, "Cannot send voice messages in this channel")
        files = body.get("attachments", ())
        if body.get("content") or body.get("embeds") or len(files) != 1:
            raise BackendError(400, 50160, "Voice messages do not support additional content.")
        if not files[0].get("duration_secs") or not files[0].get("waveform"):
            raise BackendError(400, 50035, "Invalid Form Body: attachments: duration_secs and waveform are required")

    def as_told(self, event: str, data: Any) -> Any:
        """simcord's answer or event with what Discord says beyond it, and without what it does not say."""
        if event == "GUILD_CREATE":
            for role in data["roles"]:
                if role["managed"]:
                    role["tags"] = {"bot_id": self.bot}
            data["threads"] = [self._with_membership(thread) for thread in data["threads"]]
        elif isinstance(data, dict) and "thread_metadata" in data:
            self._with_membership(data)
        elif event in ("hooks", "make_hook"):
            for hook in data if isinstance(data, list) else [data]:
                ours = hook["user"]["id"] == self.bot
                hook["application_id"] = str(self.backend.application_id) if ours and self.tells_applications else None
        elif event == "servers":
            for guild in data:
                granted = self.backend.compute_permissions(int(guild["id"]), self.backend.bot_user.id)
                guild["permissions"] = str(granted)
        elif event == "application":
            data["flags"] = _READS_MESSAGES if self.reads_messages else 0
        else:
            self._tell_messages(data, live=event.isupper())
        return data

    def expire_files(self) -> None:
        """A day passes: addresses of files are good no longer, and others are told from now on."""
        self.files_valid = f"{int(self.files_valid, 16) + 1:x}"

    def _refreshed(self, url: str) -> dict[str, str]:
        if not url.startswith(f"{self.files_at}/files/"):
            raise BackendError(400, 50035, "Invalid Form Body: attachment_urls: not an address of an attachment")
        return {"original": url, "refreshed": f"{url.partition('?')[0]}?ex={self.files_valid}"}

    def _tell_messages(self, data: Any, *, live: bool) -> None:
        for message in data if isinstance(data, list) else [data]:
            if not isinstance(message, dict) or "author" not in message:
                continue
            if not live:
                message.pop("guild_id", None)
            for each in (message, message.get("referenced_message") or {}):
                for file in each.get("attachments", ()):
                    file["url"] = file["url"].replace(CDN_BASE, f"{self.files_at}/files") + f"?ex={self.files_valid}"
                hook = self.backend.webhooks.get(int(each.get("webhook_id", 0)))
                if hook is not None and str(hook.creator_id) == self.bot:
                    each["application_id"] = str(self.backend.application_id)

    def _with_membership(self, thread: dict[str, Any]) -> dict[str, Any]:
        joined = self.backend.get_channel(int(thread["id"])).thread_members.get(self.backend.bot_user.id)
        if joined is not None:
            thread["member"] = {"id": thread["id"], "user_id": self.bot, "join_timestamp": joined, "flags": 0}
        return thread

    def _once(self, body: Mapping[str, Any], post: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Post, unless the bot has used this nonce before and asked for it to be looked at."""
        nonce = str(body.get("nonce", ""))
        if len(nonce) > 25:
            raise BackendError(400, 50035, "Invalid Form Body: nonce: Must be 25 or fewer in length.")
        at_s, known = self._nonces.get(nonce, (0.0, {}))
        if nonce and body.get("enforce_nonce") and known and self._clock.monotonic() - at_s < NONCE_LASTS_S:
            return known
        made = post()
        self._nonces[nonce] = (self._clock.monotonic(), made)
        return made

    def _sent(self, message: dict[str, Any]) -> dict[str, Any]:
        """Whoever speaks in a thread is a member of it from then on."""
        channel: Channel = self.backend.get_channel(int(message["channel_id"]))
        if channel.is_thread:
            self.backend.add_thread_member(channel.id, self.backend.bot_user.id)
        return message

    def _by_hook(
        self, path: str, body: dict[str, Any] | None, query: Mapping[str, str], call: Callable[..., Any]
    ) -> Any:
        """A webhook speaks in its own channel, or in a thread of it that the call names."""
        name = str((body or {}).get("username", "")).lower()
        if any(refused in name for refused in _NAMES_REFUSED):
            raise BackendError(400, 50035, "Invalid Form Body: username")
        hook = self.backend.webhooks.get(int(path.split("/")[2]))
        if hook is None or "thread_id" not in query:
            return self._with_choices(hook, path, body, query, call)
        thread = self.backend.channels.get(int(query["thread_id"]))
        own = hook.channel_id
        if thread is None or thread.parent_id != own:
            raise BackendError(404, 10003, "Unknown Channel")
        hook.channel_id = thread.id
        try:
            return self._with_choices(hook, path, body, query, call)
        finally:
            hook.channel_id = own

    def _with_choices(
        self,
        hook: Webhook | None,
        path: str,
        body: dict[str, Any] | None,
        query: Mapping[str, str],
        call: Callable[..., Any],
    ) -> Any:
        """simcord knows no webhooks of applications; theirs may offer choices, where the call says so."""
        if hook is None or body is None or "components" not in body:
            return call(body, query)
        rest = {name: value for name, value in body.items() if name != "components"}
        answer = call(rest, query)
        if query.get("with_components") == "true" and str(hook.creator_id) == self.bot:
            changed = {"components": body["components"]}
            self.backend.edit_message(hook.channel_id, int(path.split("/")[5]), changed)
        return answer

    def hooks(self, channel: str) -> list[Webhook]:
        """The webhooks of a channel."""
        return [hook for hook in self.backend.webhooks.values() if hook.channel_id == int(channel)]

    def _opened(self, path: str, body: Mapping[str, Any], open_it: Callable[[], Any]) -> Any:
        """A message has one thread at most, and a thread a name that is not too long."""
        parts = path.split("/")
        if parts[3] == "messages" and int(parts[4]) in self.backend.channels:
            raise BackendError(400, 160004, "A thread has already been created for this message")
        if not 1 <= len(body["name"]) <= 100:
            raise BackendError(400, 50035, "Invalid Form Body: name: Must be between 1 and 100 in length.")
        return open_it()

    def _remember(self, event: str, payload: Mapping[str, Any]) -> None:
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            self._texts.setdefault(str(payload["id"]), []).append(str(payload["content"]))
