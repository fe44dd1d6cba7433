"""The commands people may give in a chat: their names, who may give them, and what the menus say about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, field

from gateway.access.people import Role
from runtime.core.texts import Texts, other_texts
from runtime.stores.inbox import FORK_WANTED, SESSION_COMMANDS

MAX_DESCRIPTION = 100
"""Characters. Discord takes 1 to 100 (Application Commands), Telegram 1 to 256 (BotCommand)."""

ALONE = frozenset({"help", "usage", "memory", "voice"})
"""The commands whose answers are for who gives them; where the platform can, nobody else sees the command either."""

GROUPS = ("talk", "look", "set", "own")
"""The headings of /help: this conversation, what is going on, what lasts, and what owners do for all."""

PROGRAM_ROLE = Role.MEMBER
"""The lowest role that may start a program by its route's command."""


class Command(Struct, frozen=True):
    """A chat command. `least` is the lowest role that may give it.

    `free`: it has no limit, since it costs nothing, or ends work that costs. `as_kind` is its name for sessions, if
    that differs. Its texts are `commands.NAME.what` and, for its arguments, `commands.NAME.argument`.
    """

    name: str
    least: Role
    group: str = ""
    """The heading below which /help has it; "" for one that only `/help all` has."""
    free: bool = False
    as_kind: str = ""
    words: Mapping[str, Role] = field(default_factory=dict)
    """The lowest role for an argument that contains this word."""

    @property
    def kind(self) -> str:
        return self.as_kind or self.name

    @property
    def to_session(self) -> bool:
        """Whether a session handles it; the gateway handles the others."""
        return self.kind in SESSION_COMMANDS

    def least_for(self, argument: str) -> Role:
        return max((self.least, *(self.words.get(word.lower(), self.least) for word in argument.split())))


_ALL = (
    Command("start", Role.GUEST),
    Command("help", Role.GUEST),
    Command("new", Role.MEMBER, "talk"),
    Command("stop", Role.MEMBER, "talk", free=True),
    Command("undo", Role.MEMBER, "talk"),
    Command("fork", Role.MEMBER, "talk", as_kind=FORK_WANTED),
    Command("status", Role.MEMBER, "look", free=True),
    Command("who", Role.GUEST, "look", free=True),
    Command("iam", Role.MEMBER, free=True),
    Command("agents", Role.MEMBER, free=True),
    Command("tasks", Role.MEMBER, "look", free=True),
    Command("schedule", Role.MEMBER, "set"),
    Command("memory", Role.GUEST, "set", free=True),
    Command("voice", Role.GUEST, "set", free=True),
    Command("meeting", Role.GUEST, free=True, words={"end": Role.MEMBER, "set": Role.MEMBER}),
    Command("invite", Role.MEMBER),
    Command("leave", Role.GUEST, free=True),
    Command("programs", Role.MEMBER),
    Command("usage", Role.MEMBER, "look", free=True),
    Command("access", Role.OWNER, "own"),
    Command("reload", Role.OWNER, "own", free=True),
)


COMMANDS: Mapping[str, Command] = MappingProxyType({command.name: command for command in _ALL})
"""The commands by name, in the order of menus and /help."""


def menu(texts: Texts, programs: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Every command with its description, for the menus of platforms. `programs`: a route's command to its program."""
    found = {name: texts(f"commands.{name}.what") for name in COMMANDS}
    found |= {name: texts("commands.program.what", program=program) for name, program in programs.items()}
    return {
        name: what if len(what) <= MAX_DESCRIPTION else f"{what[: MAX_DESCRIPTION - 1]}…"
        for name, what in found.items()
    }


def translated_menus(spoken: Texts, directory: Path | None, programs: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """`menu` in every further language that has texts, by language. Raises as `load_texts`."""
    return {texts.language: menu(texts, programs) for texts in other_texts(spoken, directory)}


def help_text(
    texts: Texts, role: Role, programs: Mapping[str, str] = MappingProxyType({}), *, whole: bool = False
) -> str:
    """What a person of this role may do: the commands that are used most, in groups; with `whole` all of them."""
    allowed = [command for command in COMMANDS.values() if role >= command.least]
    groups = ("",) if whole else GROUPS
    lines = [texts("commands.help_begins")]
    for group in groups:
        found = [_line(texts, command.name) for command in allowed if whole or command.group == group]
        lines += ["", *([f"**{texts(f'commands.groups.{group}')}**"] if group else []), *found] if found else []
    if role >= PROGRAM_ROLE and programs:
        argument, what = texts("commands.program.argument"), partial(texts, "commands.program.what")
        lines += [
            "",
            *(f"{texts.mark}{name} {argument}: {what(program=program)}" for name, program in programs.items()),
        ]
    return "\n".join(lines if whole else [*lines, "", texts("commands.help_ends")])


def _line(texts: Texts, name: str) -> str:
    command, argument = f"{texts.mark}{name}", f"commands.{name}.argument"
    what = texts(f"commands.{name}.what")
    return f"{command} {texts(argument)}: {what}" if argument in texts else f"{command}: {what}"
