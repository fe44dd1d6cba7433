"""What people do on Discord besides writing: change, take back, mark, press, fill in, post in a forum."""

from typing import Any

from simcord import interactions
from simcord.backend import Backend, serializers
from simcord.backend.models import User
from simcord.enums import ChannelType

_COMMAND, _PRESS, _SUGGESTING = 2, 3, 4
_PART = 1
_BUTTON, _MENU = 2, 3


class People:
    """Ids are text. Interactions are refused as Discord refuses them: only what was offered can be chosen."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def change(self, channel: str, message: str, text: str) -> None:
        """Somebody edits what they wrote."""
        self._backend.edit_message(int(channel), int(message), {"content": text})

    def take_back(self, channel: str, message: str) -> None:
        self._backend.delete_message(int(channel), int(message))

    def mark(self, person: User, channel: str, message: str, emoji: str) -> None:
        self._backend.add_reaction(int(channel), int(message), emoji, person.id)

    def unmark(self, person: User, channel: str, message: str, emoji: str) -> None:
        self._backend.remove_reaction(int(channel), int(message), emoji, person.id)

    def press(self, person: User, channel: str, message: str, label: str) -> str:
        """Press the button, or choose the option, of that label; the interaction's id."""
        there = self._backend.get_message(int(channel), int(message))
        for row in there.components:
            for each in row["components"]:
                if each.get("label") == label:
                    chosen = {"custom_id": each["custom_id"], "component_type": _BUTTON}
                    return self._interaction(person, channel, _PRESS, chosen, message)
                for option in each.get("options", ()):
                    if option["label"] == label:
                        chosen = {"values": [option["value"]], "component_type": _MENU}
                        chosen["custom_id"] = each["custom_id"]
                        return self._interaction(person, channel, _PRESS, chosen, message)
        raise LookupError(f"message {message} offers no {label}")

    def session(self, person: User, channel: str, part: str, /, **filled: str) -> str:
        """Choose a part of /session; the interaction's id."""
        return self._interaction(person, channel, _COMMAND, self._filled(part, filled))

    def suggest(self, person: User, channel: str, typed: str) -> str:
        """Type into the program of /session start; the interaction's id."""
        data = self._filled("start", {"program": typed})
        data["options"][0]["options"][0]["focused"] = True
        return self._interaction(person, channel, _SUGGESTING, data)

    def suggested(self, interaction: str) -> list[str] | None:
        """What was offered for what was typed; None before there was an answer."""
        choices = self._backend.interactions[int(interaction)].autocomplete_choices
        return None if choices is None else [choice["name"] for choice in choices]

    def forum_post(self, guild: int, person: User, title: str, text: str) -> str:
        """A post in a new forum; the id of its thread, which is also that of its first message."""
        forum = self._backend.create_channel(guild, "ideas", type=ChannelType.FORUM)
        thread = self._backend.create_thread(forum.id, title, person.id, broadcast=False)
        self._backend.announce_thread_create(thread)
        self._backend.create_message(thread.id, person.id, text)
        return str(thread.id)

    def thread_below(self, person: User, channel: str, message: str, name: str) -> str:
        """Begin a thread below a message; its id, which is also that of the message."""
        self._backend.create_thread(int(channel), name, person.id, message_id=int(message))
        return message

    def members(self, thread: str) -> set[str]:
        """Who is in a thread."""
        return {str(member) for member in self._backend.get_channel(int(thread)).thread_members}

    def threads(self) -> dict[str, str]:
        """All threads there are: names by id."""
        return {str(each.id): str(each.name) for each in self._backend.channels.values() if each.is_thread}

    def _filled(self, part: str, filled: dict[str, str]) -> dict[str, Any]:
        command = self._backend.find_command("session", None)
        if command is None:
            raise LookupError("the bot has no command session")
        offered = next(each for each in command["options"] if each["name"] == part)
        known = {option["name"]: option["type"] for option in offered.get("options", ())}
        if unknown := filled.keys() - known.keys():
            raise LookupError(f"/session {part} has no {unknown}")
        options = [{"name": name, "type": known[name], "value": value} for name, value in filled.items()]
        data = {"name": part, "type": _PART, "options": options}
        return {"id": command["id"], "name": "session", "type": 1, "options": [data]}

    def _interaction(
        self, person: User, channel: str, kind: int, data: dict[str, Any], message: str | None = None
    ) -> str:
        where = self._backend.get_channel(int(channel))
        record, payload = interactions.base_payload(
            self._backend, type=kind, channel_id=where.id, guild_id=where.guild_id, user_id=person.id, data=data
        )
        if message is not None:
            there = self._backend.get_message(where.id, int(message))
            record.source_message_id = there.id
            payload["message"] = serializers.message_payload(self._backend, there)
        self._backend.emit("INTERACTION_CREATE", payload)
        return str(record.id)
