"""Facts about people: who they are, what they say and send, and what they see: pages, closed questions, and marks on
their messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Attachment, FilePart, Mark, Message
from runtime.tape.facts.content import (
    ADDRESS,
    ATTACHMENT,
    ATTACHMENTS,
    FILE_PARTS,
    MESSAGE,
    PARTS,
    URLS,
    FactContent,
    fact,
    key,
)


@fact("person", session=True)
class PersonMet(FactContent, frozen=True):
    """A person did something for the first time, by a new name, or as a guest or no longer as one.

    `since` is in seconds since the epoch. A guest sees nothing of how programs work.
    """

    id: PersonId = key("id")
    name: str = key("name")
    since: float = key("since", default=0.0, always=True)
    alike: bool = key("alike", default=False)
    guest: bool = key("guest", default=False)


@fact("bound", session=True)
class PersonBound(FactContent, frozen=True):
    """A person is a declared human of the program."""

    id: PersonId = key("id")
    human: str = key("human")


@fact("file", session=True)
class FileReceived(FactContent, frozen=True):
    """Somebody sent a file. `parts` are what a model is given of it, `note` what else is said about it."""

    name: str = key("name")
    media_type: str = key("type")
    url: str = key("url")
    size_bytes: int | None = key("size", default=None, always=True)
    parts: tuple[FilePart, ...] = key("given", default=(), form=FILE_PARTS)
    note: str = key("note", default="")


@fact("heard", session=True)
class MessageHeard(FactContent, frozen=True):
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
class MessageEdited(FactContent, frozen=True):
    """A person changed a message that the agent had not read. `files` are what comes with it now, none if those have
    stayed.
    """

    agent: AgentId = key("agent")
    message: str = key("message")
    platform_id: str = key("pid")
    text: str = key("text")
    files: tuple[Attachment, ...] = key("files", default=(), form=ATTACHMENTS)


@fact("recalled")
class MessageDeleted(FactContent, frozen=True):
    """A person deleted a message that the agent had not read."""

    agent: AgentId = key("agent")
    message: str = key("message")
    platform_id: str = key("pid")


@fact("quoted", session=True)
class PeopleQuoted(FactContent, frozen=True):
    """Words of people came with what others said: quoted, passed on, or said before in its place."""

    people: tuple[str, ...] = key("people", form=URLS)


@fact("feedback", session=True)
class FeedbackGiven(FactContent, frozen=True):
    """A person rated what an agent said, in place of their earlier rating of it, or took that back: "none". `step` is
    the place in the program that said it, `model` the one that answered last by then."""

    platform_id: str = key("pid")
    person: PersonId = key("person")
    rating: Literal["up", "down", "none"] = key("rating")
    agent: AgentId = key("agent")
    step: str = key("step")
    model: str = key("model", default="")


@fact("aside")
class AsideAdded(FactContent, frozen=True):
    """An agent is told of something with the next message that it reads."""

    agent: AgentId = key("agent")
    message: Message = key("message", form=MESSAGE)


@fact("page")
class PageBegun(FactContent, frozen=True):
    """An utterance begins; the fact's number is the page's id.

    `to` is whom it is for, `reply` what it quotes; each of `choices` is an id and a label. `place` is where it stands,
    if not in the session's conversation. A page without an agent is a notice of the runtime. `alone` is the
    one person who is to see it, where the platform can do that.
    """

    frame: str = key("f")
    agent: str = key("agent")
    to: str = key("to")
    choices: Sequence[Sequence[Any]] = key("choices", default=())
    file: Attachment | None = key("file", default=None, form=ATTACHMENT)
    reply: str | None = key("reply", default=None, when=lambda fact: fact.agent and fact.to != "file")
    place: Address | None = key("place", default=None, form=ADDRESS)
    alone: str = key("alone", default="")


@fact("opening")
class PartOpening(FactContent, frozen=True):
    """A part of a page is about to be sent, with this text."""

    page: str = key("page")
    part: int = key("part")
    text: str = key("text")

    def owes(self) -> str:
        return self.page


@fact("grew")
class PageGrew(FactContent, frozen=True):
    """People may see a page's text, from character `at` on."""

    page: str = key("page")
    at: int = key("at")
    text: str = key("text")


@fact("sent")
class PartSent(FactContent, frozen=True):
    """A part of a page was sent."""

    page: str = key("page")
    part: int = key("part")
    platform_id: str = key("pid")


@fact("fin")
class PageFinished(FactContent, frozen=True):
    """A page has its last text. Where a call has said it, this is the call's result."""

    page: str = key("page")
    text: str = key("text")
    frame: str | None = key("f", default=None)
    pos: str | None = key("pos", default=None)
    name: str | None = key("name", default=None)
    digest: str | None = key("dig", default=None)
    value: Any = key("val", default=None, when=lambda fact: fact.pos is not None)
    to: str | None = key("to", default=None)

    def owes(self) -> str:
        return self.page


@fact("held")
class PageHeld(FactContent, frozen=True):
    """A page's text is held back until `due`, in seconds since the epoch. As in `PageFinished`, perhaps a result."""

    page: str = key("page")
    text: str = key("text")
    due: float = key("due")
    frame: str | None = key("f", default=None)
    pos: str | None = key("pos", default=None)
    name: str | None = key("name", default=None)
    digest: str | None = key("dig", default=None)
    value: Any = key("val", default=None, when=lambda fact: fact.pos is not None)
    to: str | None = key("to", default=None)


@fact("close")
class PageClosed(FactContent, frozen=True):
    """Nothing will finish a page: it ends with this text."""

    page: str = key("page")
    text: str = key("text")


@fact("moved")
class PageMoved(FactContent, frozen=True):
    """A page could not be shown in its place: it starts again at `to`, or where the session lives."""

    page: str = key("page")
    to: Address | None = key("place", form=ADDRESS, default=None)


@fact("shown")
class PageShown(FactContent, frozen=True):
    """People see all of a page, or never will: then it is `lost`."""

    page: str = key("page")
    lost: bool = key("lost", default=False, always=True)

    def pays(self) -> str:
        return self.page


@fact("closed")
class QuestionClosed(FactContent, frozen=True):
    """The choices of a question have to go; `free`: it asked for words. `parts` are the platform's ids of its page, and
    `chosen` is the line that takes the choices' place."""

    page: str = key("page")
    agent: str = key("agent")
    text: str = key("text")
    free: bool = key("free")
    reply: str | None = key("reply")
    parts: Mapping[int, str] = key("parts", form=PARTS)
    place: Address | None = key("place", default=None, form=ADDRESS, always=True)
    chosen: str = key("chosen", default="")

    def owes(self) -> str:
        return f"choices.{self.page}"


@fact("settled")
class QuestionSettled(FactContent, frozen=True):
    """The choices of a question are gone."""

    page: str = key("page")

    def pays(self) -> str:
        return f"choices.{self.page}"


@fact("marking")
class MarkWanted(FactContent, frozen=True):
    """A person's message is to have a mark. `place` is where it was written, for one of which that is not known."""

    platform_id: str = key("pid")
    mark: Mark = key("mark")
    place: Address | None = key("place", default=None, form=ADDRESS)

    def owes(self) -> str:
        return f"mark.{self.platform_id}"


@fact("marked")
class MarkPlaced(FactContent, frozen=True):
    """A person's message has its mark, or is gone."""

    platform_id: str = key("pid")

    def pays(self) -> str:
        return f"mark.{self.platform_id}"
