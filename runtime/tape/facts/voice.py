"""Facts about voices: what recordings say, and what is spoken."""

from __future__ import annotations

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import SpokenMessage
from runtime.tape.facts.content import ADDRESS, Content, StoredForm, fact, key

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
