"""The words for people about a program that has changed, or cannot go on: guests hear nothing of how it is made."""

from __future__ import annotations

from runtime.core.texts import Texts
from runtime.language.pbasm.versions import listed
from runtime.sessions.node_context import NodeContext
from runtime.tape.state.session import SessionState


def news_of(state: SessionState, texts: Texts) -> str:
    """What has changed in the program."""
    if state.has_guests:
        return texts("session.program_news_alone")
    changes = [texts(f"session.program_{kind}", names=listed(names)) for kind, names in state.news.items()]
    return texts("session.program_news", changes="; ".join(changes))


def trouble_of(state: SessionState, program: str, why: str | None, around: NodeContext) -> str:
    """Why the program of this name cannot go on. Guests may know that it is not there any more."""
    hides = state.has_guests and program in around.programs
    return around.texts("session.trouble", error=around.texts("session.failed") if hides else why)
