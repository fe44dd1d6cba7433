"""Facts about people: who they are, and what they say and send."""

from __future__ import annotations

from typing import Literal

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Attachment, FilePart, Message, SpokenMessage
from runtime.tape.facts.content import ADDRESS, ATTACHMENTS, FILE_PARTS, MESSAGE, URLS, Content, StoredForm, fact, key

_SPOKEN = StoredForm(
    lambda spoken: [spoken.words, spoken.language, spoken.beside, spoken.why], lambda data: SpokenMessage(*data)
)


@fact("transcribed", session=True)
class VoiceTranscribed(Content):
    """A message was spoken, or its words were corrected. `message` is the platform's id of it, `page` what shows its
    words to people.
    """

    page: str = key("page")
    message: str = key("message")
    person: PersonId = key("person")
    spoken: SpokenMessage = key("spoken", form=_SPOKEN)


@fact("voice", session=True)
class VoiceSwitched(Content):
    """A person wants answers spoken from now on, or no longer."""

    person: PersonId = key("person")
    on: bool = key("on", default=False, always=True)


@fact("speech", session=True)
class SpeechWanted(Content):
    """A page is to be spoken as well. `text` is what of it can be read aloud."""

    page: str = key("page")
    agent: AgentId = key("agent")
    text: str = key("text")
    place: Address | None = key("place", default=None, form=ADDRESS)


@fact("spoken", session=True)
class SpeechMade(Content):
    """A page was spoken: its voice note is `note`, a page of its own. Without one it failed."""

    page: str = key("page")
    note: str = key("note", default="", always=True)


@fact("person", session=True)
class PersonMet(Content):
    """A person did something for the first time, by a new name, or as a guest or no longer as one.

    `since` is in seconds since the epoch. A guest sees nothing of how programs work.
    """

    id: PersonId = key("id")
    name: str = key("name")
    since: float = key("since", default=0.0, always=True)
    alike: bool = key("alike", default=False)
    guest: bool = key("guest", default=False)


@fact("bound", session=True)
class PersonBound(Content):
    """A person is a declared human of the program."""

    id: PersonId = key("id")
    human: str = key("human")


@fact("file", session=True)
class FileReceived(Content):
    """Somebody sent a file. `parts` are what a model is given of it, `note` what else is said about it."""

    name: str = key("name")
    media_type: str = key("type")
    url: str = key("url")
    size_bytes: int | None = key("size", default=None, always=True)
    parts: tuple[FilePart, ...] = key("given", default=(), form=FILE_PARTS)
    note: str = key("note", default="")


@fact("heard", session=True)
class MessageHeard(Content):
    """A person's message went to an agent. `place` is where it was written, if not in the session's conversation;
    `files` are the addresses of what came with it.
    """

    message: str = key("message")
    agent: AgentId = key("agent")
    person: PersonId = key("person")
    name: str = key("name")
    private: bool = key("private")
    text: str = key("text")
    platform_id: str | None = key("pid", default=None, always=True, first=True)
    place: Address | None = key("place", default=None, form=ADDRESS)
    files: tuple[str, ...] = key("files", default=(), form=URLS)


@fact("changed")
class MessageEdited(Content):
    """A person changed a message that the agent had not read. `files` are what comes with it now, none if those have
    stayed.
    """

    agent: AgentId = key("agent")
    message: str = key("message")
    platform_id: str = key("pid")
    text: str = key("text")
    files: tuple[Attachment, ...] = key("files", default=(), form=ATTACHMENTS)


@fact("recalled")
class MessageDeleted(Content):
    """A person deleted a message that the agent had not read."""

    agent: AgentId = key("agent")
    message: str = key("message")
    platform_id: str = key("pid")


@fact("quoted", session=True)
class PeopleQuoted(Content):
    """Words of people came with what others said: quoted, passed on, or said before in its place."""

    people: tuple[str, ...] = key("people", form=URLS)


@fact("feedback", session=True)
class FeedbackGiven(Content):
    """A person rated what an agent said, in place of their earlier rating of it, or took that back: "none". `step` is
    the place in the program that said it, `model` the one that answered last by then."""

    platform_id: str = key("pid")
    person: PersonId = key("person")
    rating: Literal["up", "down", "none"] = key("rating")
    agent: AgentId = key("agent")
    step: str = key("step")
    model: str = key("model", default="")


@fact("aside")
class AsideAdded(Content):
    """An agent is told of something with the next message that it reads."""

    agent: AgentId = key("agent")
    message: Message = key("message", form=MESSAGE)
