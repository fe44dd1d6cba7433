"""Every kind of fact on the tapes, as a class: `docs/journal.md` says when each is written."""

from runtime.tape.facts import agents, calls, frames, meetings, pages, people, session
from runtime.tape.facts.content import KINDS, Content, content_of, read_as

__all__ = [
    "KINDS",
    "Content",
    "agents",
    "calls",
    "content_of",
    "frames",
    "meetings",
    "pages",
    "people",
    "read_as",
    "session",
]
