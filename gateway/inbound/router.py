"""The way in for people's events: checked for access, read as a command or a message, and stored before they are
acknowledged.

event ──> may they? ──> a command of ours? ──> too long? over a limit? ──> which program ──> inbox
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import anyio
from msgspec.structs import replace

from adapters.adapter import Adapter, BringsTogether, CanDelete, CanTellAlone, Inbound
from gateway.access.admission import AccessCommands, AccessJudgement, AccessVerdict, PlatformAccess
from gateway.access.people import Role
from gateway.inbound.commands import COMMANDS, PROGRAM_ROLE, help_text
from gateway.inbound.entrance import CarryOut, Entrance, GivenCommand
from gateway.inbound.late import LateMessages
from gateway.inbound.sanitizing import says_something, tidied
from runtime.core.address import GATEWAY
from runtime.core.background import beside
from runtime.core.errors import AdapterError, ConversationFull, InboxFull
from runtime.core.json_text import plain_data
from runtime.core.message import Choice
from runtime.core.plain_text import whole_number
from runtime.events.service import AccessPaired, AccessRefused
from runtime.events.talk import AdapterConnected, MessageAdmitted
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import HeldPlace

MAX_OWNERS = 3

MAX_TOLD = 10_000
"""The number of conversations remembered as told that they are full."""

_ANSWERS = {
    AccessVerdict.PAIRED: "access.paired",
    AccessVerdict.REFUSE: "access.refused",
    AccessVerdict.BLOCKED: "access.blocked",
}

PROGRAM_CHOICE = "program."
"""The prefix of a choice's id that starts a program; the number of the program among the choices follows."""


def kind_of(event: Inbound) -> str:
    command = COMMANDS.get(event.command or "")
    return command.kind if command is not None else event.command or event.act


def inbox_event(event: Inbound, kind: str, text: str, program: str, *, rated: bool) -> InboxEvent:
    """The event with this kind and text, for this program. Unless `rated`, a reaction is no rating."""
    return InboxEvent(
        id=event.event_id,
        address=event.address,
        person_id=event.person_id,
        person_name=event.person_name,
        text=text,
        sent_at=event.sent_at,
        kind=kind,
        attachments=tuple(plain_data(attachment) for attachment in event.attachments),
        message_id=event.message_id,
        quote=event.quote,
        around=event.around,
        choice=event.choice or (event.rating if rated else None),
        private=event.private,
        program=program,
        looking_at=event.looking_at,
    )


class InboundRouter:
    """Takes the events of one adapter. An event is in the inbox, or answered, before the next is requested."""

    def __init__(
        self, adapter: Adapter, access: PlatformAccess, entrance: Entrance, late: LateMessages | None = None
    ) -> None:
        """Without `late` every message is answered, however old."""
        self._adapter = adapter
        self._late = late
        self._access = access
        self._entrance = entrance
        self._texts = entrance.texts.marked(adapter.capabilities.command_mark)
        self._access_commands = AccessCommands(access.people, self._texts)
        self._routes = entrance.routes
        self._told: set[str] = set()
        own = {"help": self._help, "access": self._change_access, "programs": self._programs}
        self.own_commands = own | {
            name: partial(self._carry_out, does) for name, does in entrance.features.commands.items()
        }
        """The handlers of the commands that sessions do not handle."""

    async def run(self) -> None:
        """Take events until cancelled. Raises AuthFailed when the platform refuses our token."""
        async with beside() as tasks:
            if self._late is not None:
                tasks.start_soon(self._late.run)
            await self._listen()

    async def _listen(self) -> None:
        if isinstance(self._adapter, BringsTogether):
            async with self._adapter.connect_together() as arrivals:
                self._entrance.bus.publish(AdapterConnected(self._adapter.name))
                async for several in arrivals:
                    await self.take_together(several)
            return
        async with self._adapter.connect() as events:
            self._entrance.bus.publish(AdapterConnected(self._adapter.name))
            async for event in events:
                await self.take(event)

    async def take_together(self, events: Sequence[Inbound]) -> None:
        """Take several events: those of one conversation in order, different conversations independently."""
        conversations: dict[str, list[Inbound]] = {}
        for event in events:
            conversations.setdefault(event.address.conversation, []).append(event)
        async with anyio.create_task_group() as tasks:
            for of_one in conversations.values():
                tasks.start_soon(self._take_in_order, of_one)

    async def _take_in_order(self, events: Sequence[Inbound]) -> None:
        for event in events:
            await self.take(event)

    async def take(self, event: Inbound) -> None:
        event = tidied(event)
        for hears in self._entrance.features.hears:
            await hears(event)
        if not event.person_id:
            return
        if not event.addressed and await self._held(event) is not None:
            await self._entrance.places.repeat(event.address)
            event = replace(event, addressed=True)  # a place is there for nothing else
        judged = await self._access.judge(event)
        if judged.verdict is AccessVerdict.ADMIT:
            if judged.role is Role.OWNER and self._access.is_private(event):
                await self._entrance.owners.seen(event.person_id, event.address, alone=event.private)
            await self._admit(event, judged.role)
        elif judged.verdict is not AccessVerdict.IGNORE:
            await self._answer(event, judged)
        else:
            self._entrance.places.keep(event, self.take)

    async def admits(self, event: Inbound) -> str | None:
        """See `adapters.adapter.Admits`. Asks for nothing and remembers nothing: what is admitted is taken later."""
        role = await self._access.role(event)
        if role is None:
            return self._texts("access.refused")
        if role is Role.BLOCKED:
            return self._texts("access.blocked")
        if role < self._least(event):
            return self._texts("commands.not_allowed", command=event.command or "programs")
        if event.program is not None:
            choices = self._routes.choices(event)
            return None if event.program in choices else self._unknown_program(event.program, choices)
        command = COMMANDS.get(event.command or "")
        if (command is None or command.to_session) and await self._serving(event) is None:
            return self._texts("programs.no_route")
        return None

    def _least(self, event: Inbound) -> Role:
        command = COMMANDS.get(event.command or "")
        if event.program is not None or (command is None and event.command is not None):
            return PROGRAM_ROLE
        return Role.GUEST if command is None else command.least_for(event.text)

    def _unknown_program(self, program: str, choices: Sequence[str]) -> str:
        listed = ", ".join(choices) or "–"  # noqa: RUF001 - a dash: there are none
        return self._texts("programs.unknown", program=program, programs=listed)

    async def _answer(self, event: Inbound, judged: AccessJudgement) -> None:
        platform, bus = self._adapter.name, self._entrance.bus
        if judged.verdict is AccessVerdict.PAIRED:
            bus.publish(AccessPaired(platform, event.person_id))
            await self._take_back(event)
        else:
            bus.publish(AccessRefused(platform, event.person_id))
        if judged.verdict is AccessVerdict.STRANGER:
            advice = self._texts(self._access.advice(), owners=await self._owners())
            self._entrance.outbound.tell_alone(event.address, event.person_id, advice)
        elif judged.request is not None:
            await self._tell(event, "access.requested", code=judged.request.code, minutes=f"{judged.minutes:g}")
        else:
            await self._reply(event, self._texts(_ANSWERS[judged.verdict]))

    async def _take_back(self, event: Inbound) -> None:
        if event.message_id is not None and not event.private and isinstance(self._adapter, CanDelete):
            with suppress(AdapterError):
                await self._adapter.delete(event.address, event.message_id, speaker=GATEWAY)

    async def _owners(self) -> str:
        known = await self._access.people.all()
        here = f"{self._adapter.name}:"
        names = [one.name for one in known if one.role is Role.OWNER and one.id.startswith(here) and one.name]
        return " / ".join(names[:MAX_OWNERS]) or self._texts("access.owner")

    async def _admit(self, event: Inbound, role: Role) -> None:
        if self._late is not None and await self._late.takes(event):
            return
        choices = self._entrance.features.choices.items()
        takes = [does for begins, does in choices if (event.choice or "").startswith(begins)]
        if event.act == "message" and event.command is not None:
            await self._command(event, event.command, role)
        elif event.program is not None:
            await self._begin(event, event.program, role)
        elif event.act == "choice" and (event.choice or "").startswith(PROGRAM_CHOICE):
            await self._choose(event, role)
        elif event.act == "choice" and takes:
            await self._carry_out(takes[0], event, role)
        else:
            await self._keep(event, role)

    async def _command(self, event: Inbound, name: str, role: Role) -> None:
        command = COMMANDS.get(name)
        if command is None and name not in self._routes.commands:
            await self._tell(event, "commands.unknown", command=name)
        elif role < self._least(event):
            await self._tell(event, "commands.not_allowed", command=name)
        elif name in self.own_commands:
            await self.own_commands[name](event, role)
        elif event.program is not None:
            await self._begin(event, event.program, role)
        else:
            await self._keep(event, role)

    async def _help(self, event: Inbound, role: Role) -> None:
        await self._reply(event, help_text(self._texts, role, self._routes.commands, whole=event.text.strip() == "all"))

    async def _change_access(self, event: Inbound, _role: Role) -> None:
        if not self._access.is_private(event):
            await self._tell(event, "access.private_only")
            return
        answer, approved = await self._access_commands.run(event.text)
        if approved is not None:
            await self._entrance.outbound.say(approved.address, self._texts("access.approved"))
        await self._reply(event, answer)

    async def _carry_out(self, carry_out: CarryOut, event: Inbound, role: Role) -> None:
        """Have a command carried out, and give the answer to who gave it."""
        private, program = self._access.is_private(event), await self._serving(event)
        said = await carry_out(GivenCommand(event, role, program, self._texts, private))
        if event.command is None:
            await self._entrance.outbound.say(event.address, said.text)
        elif said.alone and not event.private and isinstance(self._adapter, CanTellAlone):
            self._entrance.outbound.tell_alone(event.address, event.person_id, said.text)
        else:
            await self._reply(event, said.text, said.otherwise)

    async def _programs(self, event: Inbound, role: Role) -> None:
        choices = self._routes.choices(event)
        if wanted := event.text.strip():
            number = (whole_number(wanted) or 0) if wanted not in choices else 0
            await self._begin(event, choices[number - 1] if 1 <= number <= len(choices) else wanted, role)
            return
        if not choices:
            await self._tell(event, "programs.none")
            return
        now = await self._serving(event)
        all_of_them = self._routes.choosable
        offered = [
            Choice(f"{PROGRAM_CHOICE}{all_of_them.index(name)}", f"{name} ✓" if name == now else name)
            for name in choices
        ]
        await self._entrance.outbound.say(event.address, self._texts("programs.list"), offered)

    async def _choose(self, event: Inbound, role: Role) -> None:
        """Start the program whose button was pressed below our list, as by a command."""
        number = (event.choice or "").removeprefix(PROGRAM_CHOICE)
        programs = dict(zip(map(str, range(len(self._routes.choosable))), self._routes.choosable, strict=True))
        asked = replace(event, act="message", command="programs", text="", choice=None, message_id=None, quote=None)
        await self._begin(asked, programs.get(number, event.text), role)

    async def _begin(self, event: Inbound, program: str, role: Role) -> None:
        """Start a session with a program that a person chose, and remember the choice for this conversation."""
        choices = self._routes.choices(event)
        if role < PROGRAM_ROLE:
            await self._tell(event, "commands.not_allowed", command="programs")
        elif program not in choices:
            await self._reply(event, self._unknown_program(program, choices))
        else:
            await self._entrance.origins.chosen.put(event.address.key, program)
            await self._keep(event, role, kind="new", text="")

    async def _serving(self, event: Inbound) -> str | None:
        """The program of the command, else the chosen one, else the route's, else that of the place beside."""
        if event.command not in self._routes.commands:
            choices = self._routes.choices(event)
            chosen = await self._entrance.origins.chosen.get(event.address.key) if choices else None
            if chosen in choices:
                return chosen
        program = self._routes.program(event)
        if program is None and (origin := await self._entrance.origins.of(event.address)) is not None:
            return self._routes.program(replace(event, address=origin))
        return program

    async def _keep(self, event: Inbound, role: Role, *, kind: str | None = None, text: str | None = None) -> None:
        """Put the event into the inbox, unless it is empty, too long or over a limit, or no program serves here."""
        program = await self._serving(event)
        if program is None:
            await self._not_taken(event, "programs.no_route", tell=event.private or event.command is not None)
        elif len(event.text) > (limit := self._entrance.limits.settings.message_chars):
            length = len(event.text)
            await self._not_taken(event, "inbound.too_long", length=length, limit=limit)
        elif not says_something(event) or await self._over_limit(event, role):
            return
        else:
            kind = "new" if event.command in self._routes.commands else kind or kind_of(event)
            said, rated = event.text if text is None else text, self._entrance.features.rates
            kept = inbox_event(event, kind, said, program, rated=rated)
            kept = replace(kept, by_owner=role is Role.OWNER, by_guest=role is Role.GUEST)
            held = await self._held(event)
            if held is not None:
                kept = replace(kept, address=held.home, place=event.address)
            admitted = MessageAdmitted(self._adapter.name, kept.address.key, f"in.{kept.id}", kept.kind)
            self._entrance.bus.publish(admitted)
            try:
                await self._entrance.inbox.add(kept)
            except ConversationFull as full:
                await self._crowded(event, "inbound.crowded", limit=full.bound)
            except InboxFull:
                await self._crowded(event, "inbound.full")
            else:
                self._told.discard(event.address.key)
                for hears in self._entrance.features.kept:
                    hears(kept)

    async def _held(self, event: Inbound) -> HeldPlace | None:
        """What the conversation is there for, where it belongs to a session that lives elsewhere."""
        opens = self._adapter.capabilities.threads
        return await self._entrance.places.get(event.address) if opens else None

    async def _crowded(self, event: Inbound, key: str, **values: object) -> None:
        """Mark a message that is not taken for now; only the author of the first of several is told why."""
        first = event.address.key not in self._told
        self._told.add(event.address.key)
        if len(self._told) > MAX_TOLD:
            self._told.clear()
        await self._not_taken(event, key, tell=first, **values)

    async def _over_limit(self, event: Inbound, role: Role) -> bool:
        command = COMMANDS.get(event.command or "")
        if event.act not in ("message", "edit") or (command is not None and command.free):
            return False
        over = await self._entrance.limits.take(event, role)
        if over is None:
            return False
        self._mark_failed(event)
        if over.tell:
            await self._entrance.outbound.say(event.address, over.sentence)
        return True

    async def _not_taken(self, event: Inbound, key: str, *, tell: bool = True, **values: object) -> None:
        self._mark_failed(event)
        if tell and event.act not in ("reaction", "deletion"):
            await self._tell(event, key, **values)

    def _mark_failed(self, event: Inbound) -> None:
        if event.message_id is not None and event.act in ("message", "edit"):
            self._entrance.outbound.mark(event.address, event.message_id, "failed")

    async def _reply(self, event: Inbound, text: str, otherwise: str | None = None) -> None:
        if event.private:
            await self._entrance.outbound.say(event.address, text)
        else:
            self._entrance.outbound.answer(event.address, event.person_id, text, otherwise)

    async def _tell(self, event: Inbound, key: str, /, **values: object) -> None:
        text = self._texts(key, **values)
        await (self._entrance.outbound.say(event.address, text) if event.command is None else self._reply(event, text))
