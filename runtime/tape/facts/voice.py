"""Facts about voices: what recordings say, and what is spoken."""

from __future__ import annotations

from runtime.core.ids import PersonId
from runtime.core.message import SpokenMessage
from runtime.tape.facts.content import Content, Form, fact, key

_SPOKEN = Form(
    lambda spoken: [spoken.words, spoken.language, spoken.beside, spoken.why], lambda data: SpokenMessage(*data)
)


@fact("transcribed", session=True)
class VoiceTranscribed(Content):
    """A message was spoken. `message` is the platform's id of it, `page` what shows its words to people."""

    page: str = key("page")
    message: str = key("message")
    person: PersonId = key("person")
    spoken: SpokenMessage = key("spoken", form=_SPOKEN)
