"""The fold's rules about people, their messages and the pages that they see. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from runtime.core.address import Address
from runtime.core.message import Attachment, message_from_data
from runtime.tape.acks import settle_page
from runtime.tape.people_state import (
    MAX_FILES,
    MAX_REMEMBERED,
    ClosedQuestion,
    HeardState,
    PageState,
    PersonState,
    SaidState,
)
from runtime.tape.state import SessionState

Data = Mapping[str, Any]

_Known = TypeVar("_Known")

MAX_ASIDES = 50
"""So much of what happened to messages is kept for an agent to see."""

MAX_QUOTED_CHARS = 500
"""So much of what an agent said is kept to be quoted."""


def _remember(known: dict[str, _Known], key: str, value: _Known) -> None:
    known.pop(key, None)
    known[key] = value
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]


def _person(state: SessionState, _: int, data: Data) -> None:
    known = state.people.setdefault(data["id"], PersonState(data["name"], since=data.get("since", 0.0)))
    known.name, known.alike = data["name"], data.get("alike", False)


def _bound(state: SessionState, _: int, data: Data) -> None:
    state.people[data["id"]].declared = data["human"]


def _file(state: SessionState, _: int, data: Data) -> None:
    file = Attachment(data["name"], data["type"], data["url"], data.get("size"))
    state.files = [*(known for known in state.files if known.url != file.url), file][-MAX_FILES:]


def _heard(state: SessionState, _: int, data: Data) -> None:
    state.person, state.private = data["person"], data["private"]
    if data.get("pid") is not None:
        heard = HeardState(data["message"], data["agent"], data["person"], data["name"], data["text"])
        _remember(state.heard, data["pid"], heard)
        _note_place(state, data)


def _note_place(state: SessionState, data: Data) -> None:
    if data.get("place"):
        _remember(state.written_at, data["pid"], Address(*data["place"]))


def _changed(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    agent.queue = [replace(m, content=data["text"]) if m.id == data["message"] else m for m in agent.queue]
    state.heard[data["pid"]].text = data["text"]
    for meeting in state.meetings.values():
        meeting.history = [replace(m, content=data["text"]) if m.id == data["message"] else m for m in meeting.history]


def _recalled(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    agent.queue = [message for message in agent.queue if message.id != data["message"]]
    state.heard.pop(data["pid"], None)
    for meeting in state.meetings.values():
        meeting.history = [message for message in meeting.history if message.id != data["message"]]


def _aside(state: SessionState, _: int, data: Data) -> None:
    asides = state.agents[data["agent"]].asides
    asides.append(message_from_data(data["message"]))
    del asides[:-MAX_ASIDES]


def _page(state: SessionState, seq: int, data: Data) -> None:
    file = Attachment(*data["file"]) if data.get("file") else None
    page = PageState(str(seq), data["f"], data["agent"], data["to"], file=file)
    page.reply_to, page.choices = data.get("reply"), list(data.get("choices") or ())
    page.place = Address(*data["place"]) if data.get("place") else None
    state.pages[page.id] = page
    agent = state.agents.get(page.agent)
    if agent is not None and page.reply_to is not None:
        agent.answering = None


def _opening(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.get(data["page"])
    if page is not None:
        page.opened.setdefault(data["part"], data["text"])


def _grew(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.get(data["page"])
    if page is not None:
        page.stands = page.stands[: data["at"]] + data["text"]


def _sent(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.get(data["page"])
    if page is not None:
        page.parts[data["part"]] = data["pid"]
        text = page.text or page.opened.get(data["part"], "")
        _remember(state.said, data["pid"], SaidState(page.agent, text[:MAX_QUOTED_CHARS]))
    if data["page"] in state.closed:
        state.closed[data["page"]].parts[data["part"]] = data["pid"]
    for question in state.questions.values():
        if question.page == data["page"]:
            question.parts[data["part"]] = data["pid"]


def _closed(state: SessionState, _: int, data: Data) -> None:
    parts = {int(part): pid for part, pid in data["parts"].items()}
    state.closed[data["page"]] = ClosedQuestion(
        data["page"], data["agent"], data["text"], data["free"], data["reply"], parts
    )
    if data.get("place"):
        state.closed[data["page"]].place = Address(*data["place"])


def _settled(state: SessionState, _: int, data: Data) -> None:
    state.closed.pop(data["page"], None)


def _marking(state: SessionState, _: int, data: Data) -> None:
    _remember(state.marks, data["pid"], data["mark"])
    _note_place(state, data)


def _marked(state: SessionState, _: int, data: Data) -> None:
    state.marks.pop(data["pid"], None)


def _close(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.status, page.text = "closed", data["text"]
    if not page.opened:
        del state.pages[page.id]


def _moved(state: SessionState, _: int, data: Data) -> None:
    """A page could not be shown in its place: it starts again where the session lives."""
    page = state.pages[data["page"]]
    page.place, page.reply_to, page.parts, page.opened, page.stands = None, None, {}, {}, ""
    for question in state.questions.values():
        if question.page == page.id:
            question.place, question.reply_to, question.parts = None, None, {}


def _shown(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.pop(data["page"], None)
    settle_page(state.acks, data["page"], has_it=not data.get("lost"))
    for pid in page.parts.values() if page is not None else ():
        if page is not None and pid in state.said:
            state.said[pid].text = page.text[:MAX_QUOTED_CHARS]


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "person": _person,
    "bound": _bound,
    "file": _file,
    "heard": _heard,
    "changed": _changed,
    "recalled": _recalled,
    "aside": _aside,
    "page": _page,
    "opening": _opening,
    "grew": _grew,
    "sent": _sent,
    "close": _close,
    "moved": _moved,
    "shown": _shown,
    "closed": _closed,
    "settled": _settled,
    "marking": _marking,
    "marked": _marked,
}
