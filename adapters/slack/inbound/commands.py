"""The slash command and its form: their effects, and the immediate answer to the person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Admits, Inbound
from adapters.markdown.mentions import with_mentions
from adapters.slack.api.streams import StreamReader
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import PLATFORM, SlackBot, blocks_of
from adapters.slack.codec.interactions import (
    SLASH_COMMAND,
    SlackEntry,
    answer_form,
    in_form,
    new_form,
    only_you,
    slash_command_in,
    submission_in,
    wish_in,
)
from adapters.slack.inbound.deliveries import Delivery
from adapters.slack.outbound.answers import SlackThreads
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import BadMarkup, MessageGone, NotDelivered
from runtime.core.texts import Texts

DONE: Final = "\u2713"
REFUSED: Final = (NotDelivered, BadMarkup, MessageGone)
"""Slack's answers that the same words get again. Who wrote them is told."""
Answer = tuple[Inbound | None, Mapping[str, Any] | None]


class SlackCommands(Struct, frozen=True):
    """Commands and forms. Slack does not repeat them, so the person reads of a failure and may try again."""

    threads: SlackThreads
    clock: Clock
    commands: Mapping[str, str]
    """Our commands with their descriptions."""
    texts: Texts
    admits: Admits
    direct_threads: bool

    async def command(self, delivery: Delivery, workspace: SlackWorkspace) -> Answer:
        """`/parley …`. Raises KeyError for other forms, RateLimited and OutcomeUncertain when Slack fails."""
        given = slash_command_in(delivery.body, self.commands)
        if given.name == "help":
            lines = [f"`{SLASH_COMMAND} {name}` {what}" for name, what in self.commands.items()]
            return None, only_you("\n".join(lines))
        threaded = self.direct_threads or not given.channel.startswith("D")
        refusal = await self._refusal(given, delivery, workspace.bot)
        if refusal is not None:
            return None, only_you(refusal)
        conversation = f"{workspace.bot.team_id}:{given.channel}"
        at = self.threads.latest(conversation, given.user) if threaded else None
        if threaded and (given.name in ("start", "") or (given.name == "new" and at is None)):
            return await self._beginning(given, delivery, workspace)
        at = at or Address(PLATFORM, conversation)
        return self._inbound(given, delivery, workspace.bot, at, given.name or None), only_you(DONE)

    async def submission(self, delivery: Delivery, workspace: SlackWorkspace) -> Answer:
        """The content of a form: the start of a conversation, or an answer. Errors appear in the form."""
        sent = submission_in(delivery.body)
        if not sent.argument:
            return None, None
        refusal = await self._refusal(sent, delivery, workspace.bot)
        if refusal is not None:
            return None, in_form(refusal)
        if not sent.answers:
            inbound, words = await self._beginning(sent, delivery, workspace)
            return inbound, None if inbound is not None or words is None else in_form(words["text"])
        try:
            return await self._said(sent, delivery, workspace), None
        except REFUSED as error:
            return None, in_form(str(error))

    async def answering(self, delivery: Delivery, workspace: SlackWorkspace) -> None:
        wish = wish_in(delivery.body)
        if await self._refusal(wish, delivery, workspace.bot) is None:
            await workspace.api.open_form(wish.trigger_id, answer_form(wish, self.texts))

    async def _said(self, given: SlackEntry, delivery: Delivery, workspace: SlackWorkspace) -> Inbound:
        """A person's answer, shown to the others in the question's channel or thread."""
        said = blocks_of(with_mentions(given.argument, {}), given.user_name)
        answer = await workspace.api.send(given.channel, given.thread, said, None, delivery.event_id)
        at = Address(PLATFORM, f"{workspace.bot.team_id}:{given.channel}", given.thread)
        inbound = self._inbound(given, delivery, workspace.bot, at, None)
        return replace(inbound, message_id=str(answer["ts"]), choice=given.choice)

    async def _refusal(self, given: SlackEntry, delivery: Delivery, bot: SlackBot) -> str | None:
        """The words for a person without access; in private the gateway tells them itself."""
        if given.channel.startswith("D"):
            return None
        at = Address(PLATFORM, f"{bot.team_id}:{given.channel}", given.thread)
        return await self.admits(self._inbound(given, delivery, bot, at, given.name or None))

    async def _beginning(self, given: SlackEntry, delivery: Delivery, workspace: SlackWorkspace) -> Answer:
        """A conversation in a new thread below the person's text."""
        if not given.argument:
            await workspace.api.open_form(given.trigger_id, new_form(given.channel, self.texts))
            return None, None
        try:
            said = blocks_of(with_mentions(given.argument, {}), given.user_name)
            answer = await workspace.api.send(given.channel, None, said, None, delivery.event_id)
        except REFUSED as error:
            return None, only_you(str(error))
        at = Address(PLATFORM, f"{workspace.bot.team_id}:{given.channel}", str(answer["ts"]))
        self.threads.ours.keep(at.key, True)
        self.threads.heard(at, str(answer["ts"]), StreamReader(given.user, workspace.bot.team_id))
        return self._inbound(given, delivery, workspace.bot, at, None), only_you(DONE)

    def _inbound(
        self, given: SlackEntry, delivery: Delivery, bot: SlackBot, at: Address, command: str | None
    ) -> Inbound:
        return Inbound(
            address=at,
            event_id=delivery.event_id,
            person_id=f"{PLATFORM}:{bot.team_id}:{given.user}",
            person_name=given.user_name,
            text=given.argument,
            sent_at=self.clock.now(),
            private=given.channel.startswith("D"),
            addressed=True,
            command=command,
            message_id=at.thread,
            space=bot.team_id,
            outsider=not bot.knows(given.team),
        )
