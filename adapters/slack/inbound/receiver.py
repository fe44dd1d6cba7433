"""The receiver of Slack's events: each delivery is decoded, passed on, and confirmed once it is safe.

What a person has open comes with the messages to an app with an `agent_view` that takes `app_context_changed`
(docs.slack.dev/changelog/2026/07/02/app-context): entities in the order of relevance.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.recent import RecentValues
from adapters.retrying import MayFail
from adapters.slack.api.streams import StreamReader
from adapters.slack.api.workspaces import SlackWorkspace, SlackWorkspaces
from adapters.slack.codec.addresses import SlackPerson
from adapters.slack.codec.events import SlackHappening, address_of, happening_in, inbound_of, mentions
from adapters.slack.codec.interactions import pressed
from adapters.slack.inbound.catch_up import ChannelMarks, microseconds
from adapters.slack.inbound.commands import SlackCommands
from adapters.slack.inbound.deliveries import Delivery, SlackDeliveries, message_id
from adapters.slack.outbound.answers import REMEMBERED
from runtime.core.errors import AdapterError, AuthFailed, NotDelivered, OutcomeUncertain, RateLimited
from runtime.core.plain_text import one_line
from runtime.core.texts import Texts

AFTERWARDS_WITHIN_S: Final = 2.0
"""The time that work after an event, such as a thread's title, may delay the next event."""
MAX_TITLE: Final = 80
MAX_PROMPTS: Final = 4
"""The number of prompts in an assistant's thread (assistant.threads.setSuggestedPrompts)."""
_BEGINNING: Final = ("new", "start")
"""Commands that begin a conversation. Others, written where each message begins one, are about the last one."""
_NOT_DONE: Final = "Something beside a message could not be done on Slack"
_log = logging.getLogger(__name__)

MOST_ENTITIES: Final = 3  # Slack has the most relevant ones first
_NAMES_KEPT: Final = 1_000
_TYPE: Final = "slack#/types/"


class AppContexts:
    """Words for contexts, with the names of channels as far as the app may know them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._names = RecentValues[str, str](_NAMES_KEPT)

    async def in_words(self, context: Mapping[str, Any] | None, workspace: SlackWorkspace) -> str:
        """What the context names; "" for none, and for one of another form: the message counts without it."""
        with MayFail(_log.warning, "What somebody looks at on Slack is not understood", NOT_UNDERSTOOD):
            entities = (context or {}).get("entities") or ()
            own = [one for one in entities if one.get("team_id") in (None, workspace.bot.team_id)]
            told = [await self._entity(one, workspace) for one in own[:MOST_ENTITIES]]
            return ", ".join(dict.fromkeys(text for text in told if text))
        return ""

    async def _entity(self, entity: Mapping[str, Any], workspace: SlackWorkspace) -> str:
        value = entity["value"]
        match entity["type"].removeprefix(_TYPE):
            case "channel_id" if not value.startswith("D"):
                return self._texts("context.channel", name=await self._name(value, workspace))
            case "message_context" if not value["channel_id"].startswith("D"):
                name = await self._name(value["channel_id"], workspace)
                return self._texts("context.message", name=name, number=value["message_ts"])
            case "canvas_id":
                return self._texts("context.canvas", id=value)
            case "list_id":
                return self._texts("context.list", id=value)
        return ""  # a private conversation, or a kind that is new

    async def _name(self, channel: str, workspace: SlackWorkspace) -> str:
        """The channel's name; its id where Slack does not tell the app."""
        key = f"{workspace.bot.team_id}:{channel}"
        name = self._names.get(key)
        if name is None:
            with MayFail(_log.info, "The name of a channel on Slack cannot be looked up"):
                name = await workspace.api.channel_name(channel)
                self._names.keep(key, name)
        return name or channel


class Heard(Struct, frozen=True):
    """What a delivery is: an event, words for its author, calls for when it is safe, and afterwards."""

    inbound: Inbound | None = None
    words: Mapping[str, Any] | None = None
    afterwards: Callable[[], Awaitable[None]] | None = None
    taken: Callable[[], Awaitable[None]] | None = None


class SlackReceiver:
    def __init__(
        self, workspaces: SlackWorkspaces, commanding: SlackCommands, marks: ChannelMarks, prompts: Sequence[str]
    ) -> None:
        own = {_title(prompt): prompt for prompt in prompts}
        commands = {what: f"!{name}" for name, what in commanding.commands.items()}
        self._prompts = dict(list((own | commands).items())[:MAX_PROMPTS])
        self._workspaces = workspaces
        self._threads = commanding.threads
        self._commanding = commanding
        self._marks = marks
        self._people = RecentValues[str, SlackPerson](REMEMBERED)
        self._contexts = AppContexts(commanding.texts)

    async def inbound(self, deliveries: SlackDeliveries) -> AsyncGenerator[Inbound, None]:
        """People's events, without end. A delivery is confirmed when the next item is requested."""
        while True:
            delivery = await deliveries.next()
            try:
                heard = await self._read(delivery)
            except (RateLimited, OutcomeUncertain) as error:
                _log.warning("A message on Slack is left to come again", extra={"error": str(error)})
                deliveries.leave(delivery)
                continue
            if heard.inbound is not None:
                yield heard.inbound
            if heard.taken is not None:
                await heard.taken()
            deliveries.acknowledge(delivery, heard.words)
            if heard.afterwards is not None:
                with MayFail(_log.info, _NOT_DONE, (AdapterError, *NOT_UNDERSTOOD)):
                    with anyio.move_on_after(AFTERWARDS_WITHIN_S):
                        await heard.afterwards()

    async def _read(self, delivery: Delivery) -> Heard:
        """The decoded delivery. Raises RateLimited or OutcomeUncertain without Slack's answer, and AuthFailed."""
        with MayFail(_log.warning, "An event of Slack's is not understood and is ignored", NOT_UNDERSTOOD):
            try:
                return await self._heard(delivery, await self._workspaces.of(delivery.team))
            except (RateLimited, OutcomeUncertain, AuthFailed):
                raise
            except AdapterError as error:
                _log.warning("Something on Slack is ignored", extra={"error": str(error)})
        return Heard()

    async def _heard(self, delivery: Delivery, workspace: SlackWorkspace) -> Heard:
        match delivery.kind:
            case "event":
                return await self._event(delivery, workspace)
            case "command":
                return Heard(*await self._commanding.command(delivery, workspace))
            case "choice" | "rating":
                return Heard(pressed(delivery.body, delivery.event_id, workspace.bot, self._commanding.clock.now()))
            case "answer":
                await self._commanding.answering(delivery, workspace)
                return Heard()
            case "form":
                return Heard(*await self._commanding.submission(delivery, workspace))

    async def _event(self, delivery: Delivery, workspace: SlackWorkspace) -> Heard:
        event = delivery.body["event"]
        match event.get("type"):
            case "app_home_opened":
                # Somebody looks at the app: at its messages, or at its home, which it has none.
                looks = event.get("tab") == "messages"
                return self._suggesting(event["channel"], None, workspace) if looks else Heard()
            case "assistant_thread_started":
                # Somebody opened the panel of an app that is still an `assistant_view`: it has no words yet.
                channel, ts = event["assistant_thread"]["channel_id"], event["assistant_thread"]["thread_ts"]
                place = self._threads.placed(f"{workspace.bot.team_id}:{channel}", ts, ts)
                self._threads.untitled.keep(place.key, True)
                return self._suggesting(channel, ts, workspace)
            case "agent_session_stopped":
                return await self._stopped(delivery, event, workspace)
            case _:
                happening = happening_in(event, workspace.bot)
                return Heard() if happening is None else await self._happened(delivery, happening, workspace)

    def _suggesting(self, channel: str, thread: str | None, workspace: SlackWorkspace) -> Heard:
        offer = partial(workspace.api.suggest, channel, thread, self._prompts)
        return Heard(afterwards=offer if self._prompts else None)

    async def _stopped(self, delivery: Delivery, event: Mapping[str, Any], workspace: SlackWorkspace) -> Heard:
        happening = SlackHappening(
            "message",
            event["channel"],
            event["user"],
            event["event_ts"],
            event["event_ts"],
            text="!stop",
            thread=event.get("thread_ts"),
            direct=event["channel"].startswith("D"),
        )
        people = await self._people_in(happening, workspace)
        inbound = inbound_of(happening, delivery.event_id, workspace.bot, people, ("stop",), addressed=True)
        thread = event.get("thread_ts")
        rest = None if thread is None else partial(workspace.api.set_session, event["channel"], thread, "active")
        return Heard(replace(inbound, message_id=None), afterwards=rest)

    async def _happened(self, delivery: Delivery, happening: SlackHappening, workspace: SlackWorkspace) -> Heard:
        for stamp in (happening.ts, happening.thread):
            microseconds(stamp or "0")  # refused here, not where it is compared with others
        if not happening.thread_told:
            happening = await self._placed(happening, workspace)
        outside = happening.direct and happening.thread_told and happening.thread is None
        begins = self._commanding.direct_threads and outside
        if begins:
            happening = replace(happening, thread=happening.ts)
        event_id = delivery.event_id
        if happening.named_late and not await self._was_heard(happening, workspace):
            happening = replace(happening, act="message")
            event_id = message_id({"channel": happening.channel, "ts": happening.ts})
        addressed = await self._is_addressed(happening, workspace, fresh=not delivery.again)
        people = await self._people_in(happening, workspace)
        inbound = inbound_of(happening, event_id, workspace.bot, people, self._commanding.commands, addressed=addressed)
        if happening.act != "message":
            return Heard(inbound)
        if happening.direct:
            context = delivery.body["event"].get("app_context")
            inbound = replace(inbound, looking_at=await self._contexts.in_words(context, workspace))
        at = inbound.address
        ours = at.thread if addressed else None
        return replace(
            self._said(happening, inbound, begins=begins, workspace=workspace),
            taken=partial(self._marks.taken, at.conversation, happening.ts, ours),
        )

    def _said(self, happening: SlackHappening, inbound: Inbound, *, begins: bool, workspace: SlackWorkspace) -> Heard:
        if begins and inbound.command not in (None, *_BEGINNING):
            at = self._threads.latest(inbound.address.conversation, happening.user)
            return Heard(inbound if at is None else replace(inbound, address=at))
        reader = StreamReader(happening.user, happening.user_team or workspace.bot.team_id)
        self._threads.heard(inbound.address, happening.ts, reader)
        key = inbound.address.key
        titled = not begins and key not in self._threads.untitled
        if titled or happening.thread is None or not inbound.text:
            return Heard(inbound)
        self._threads.untitled.forget(key)
        name = partial(workspace.api.set_title, happening.channel, happening.thread, _title(inbound.text))
        return Heard(inbound, afterwards=name)

    async def _placed(self, happening: SlackHappening, workspace: SlackWorkspace) -> SlackHappening:
        """The event with its thread, from memory or from Slack."""
        conversation = f"{workspace.bot.team_id}:{happening.channel}"
        place = self._threads.place(conversation, happening.ts)
        if place is None:
            thread = await workspace.api.thread_of(happening.channel, happening.ts)
            root = happening.direct and thread == happening.ts and not self._commanding.direct_threads
            place = self._threads.placed(conversation, happening.ts, None if root else thread)
        return replace(happening, thread=place.thread)

    async def _is_addressed(self, happening: SlackHappening, workspace: SlackWorkspace, *, fresh: bool) -> bool:
        if happening.direct:
            return True
        bot = workspace.bot
        key = address_of(happening, bot).key
        if mentions(happening, bot):
            self._threads.ours.keep(key, True)
            if fresh and happening.thread is None and happening.act == "message":
                self._threads.spoken_in.keep(key, True)
            return True
        return happening.thread is not None and await self._is_ours(key, happening, workspace)

    async def _was_heard(self, happening: SlackHappening, workspace: SlackWorkspace) -> bool:
        """Whether a message was for us before it named us."""
        key = address_of(replace(happening, text=""), workspace.bot).key
        return happening.direct or (happening.thread is not None and await self._is_ours(key, happening, workspace))

    async def _is_ours(self, key: str, happening: SlackHappening, workspace: SlackWorkspace) -> bool:
        """Whether the bot takes part in the thread, from memory or from Slack."""
        if happening.starter == workspace.bot.user_id:
            return True
        known = self._threads.ours.get(key)
        if known is None and happening.thread is not None:
            with MayFail(_log.warning, "Who takes part in a thread cannot be looked up", (NotDelivered,)):
                known = await workspace.api.takes_part(happening.channel, happening.thread, workspace.bot)
                self._threads.ours.keep(key, known)
        return bool(known)

    async def _people_in(self, happening: SlackHappening, workspace: SlackWorkspace) -> dict[str, SlackPerson]:
        return {
            user: person
            for user in dict.fromkeys(happening.people)
            if user != workspace.bot.user_id and (person := await self.person(user, workspace)) is not None
        }

    async def person(self, user: str, workspace: SlackWorkspace) -> SlackPerson | None:
        """A person; None if Slack does not answer now."""
        key = f"{workspace.bot.team_id}:{user}"
        person = self._people.get(key)
        if person is None:
            with MayFail(_log.info, "A name on Slack cannot be looked up"):
                person = await workspace.api.person(user)
                self._people.keep(key, person)
        return person


def _title(text: str) -> str:
    return one_line(text, MAX_TITLE)
