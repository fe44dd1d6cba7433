"""The fold's rules about people, their messages and the pages that they see. See `fold` for the kinds."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.message import Attachment, Message
from runtime.tape.facts import people as facts
from runtime.tape.facts.frames import AcksAwaited, MessageAcknowledged
from runtime.tape.facts.registry import rule
from runtime.tape.facts.session import MessagesFetched, MessagesPosted
from runtime.tape.rules.frames import note_addressed, take_messages
from runtime.tape.state import people as states
from runtime.tape.state.frames import AckState, CallKey, WaitState, settle_message, settle_page
from runtime.tape.state.session import SessionState

_Known = TypeVar("_Known")

MAX_ASIDES = 50
"""The number of things that happened to messages and are kept for an agent to see."""

MAX_QUOTED_CHARS = 500
"""The length to which what an agent said is kept to be quoted."""


@rule(AcksAwaited)
def _acks(state: SessionState, seq: int, fact: AcksAwaited) -> None:
    """A text needs an acknowledgement: its call waits."""
    key = CallKey(fact.frame, fact.pos)
    if fact.frame not in state.frames:
        return
    note_addressed(state.agents[state.frames[fact.frame].agent], fact.to)
    state.acks[key] = AckState(fact.message, list(fact.who), fact.page)
    state.waits[key] = WaitState(fact.frame, fact.pos, fact.name, fact.digest, None, fact.due, seq)


@rule(MessageAcknowledged)
def _acked(state: SessionState, _: int, fact: MessageAcknowledged) -> None:
    settle_message(state.acks, fact.message, fact.who, has_it=fact.has_it)


@rule(MessagesPosted)
def _posted(state: SessionState, _: int, fact: MessagesPosted) -> None:
    agent = state.agents[fact.agent]
    queue = {message.id for message in agent.queue}
    agent.posted += [message for message in fact.messages if message in queue and message not in agent.posted]


@rule(MessagesFetched)
def _fetched(state: SessionState, _: int, fact: MessagesFetched) -> None:
    take_messages(state, fact.agent, list(fact.messages))


def _remember(known: dict[str, _Known], key: str, value: _Known) -> None:
    known.pop(key, None)
    known[key] = value
    while len(known) > states.MAX_REMEMBERED:
        del known[next(iter(known))]


@rule(facts.PersonMet)
def _person(state: SessionState, seq: int, fact: facts.PersonMet) -> None:
    known = state.people.setdefault(fact.id, states.PersonState(fact.name, since=fact.since, named_at=seq))
    if known.name != fact.name:
        known.named_at = seq
    known.name, known.alike, known.guest = fact.name, fact.alike, fact.guest


@rule(facts.PeopleQuoted)
def _quoted(_state: SessionState, _: int, _fact: facts.PeopleQuoted) -> None:
    """Whoever erases people reads it on the tape."""


@rule(facts.PersonBound)
def _bound(state: SessionState, _: int, fact: facts.PersonBound) -> None:
    state.people[fact.id].declared = fact.human


@rule(facts.FileReceived)
def _file(state: SessionState, _: int, fact: facts.FileReceived) -> None:
    file = Attachment(fact.name, fact.media_type, fact.url, fact.size_bytes, fact.parts, fact.note)
    state.files = [*(known for known in state.files if known.url != file.url), file][-states.MAX_FILES :]


@rule(facts.MessageHeard)
def _heard(state: SessionState, _: int, fact: facts.MessageHeard) -> None:
    state.person, state.private = fact.person, fact.private
    if fact.platform_id is not None:
        heard = states.HeardState(fact.message, fact.agent, fact.person, fact.name, fact.text, fact.files)
        _remember(state.heard, fact.platform_id, heard)
        _note_place(state, fact.platform_id, fact.place)


def _note_place(state: SessionState, message: str, place: Address | None) -> None:
    if place is not None:
        _remember(state.written_at, message, place)


@rule(facts.MessageEdited)
def _changed(state: SessionState, _: int, fact: facts.MessageEdited) -> None:
    agent = state.agents[fact.agent]
    agent.queue = [_edited(m, fact) if m.id == fact.message else m for m in agent.queue]
    heard = state.heard[fact.platform_id]
    heard.text = fact.text
    if fact.files:
        heard.files = (*heard.files, *(file.url for file in fact.files))
    for meeting in state.meetings.values():
        meeting.history = [_edited(m, fact) if m.id == fact.message else m for m in meeting.history]


def _edited(message: Message, fact: facts.MessageEdited) -> Message:
    """A message as it is now. Of an album each file is edited by itself: the others stay."""
    stay = message.attachments if len(message.attachments) > len(fact.files) else ()
    return replace(message, content=fact.text, attachments=(*stay, *(f for f in fact.files if f not in stay)))


@rule(facts.MessageDeleted)
def _recalled(state: SessionState, _: int, fact: facts.MessageDeleted) -> None:
    agent = state.agents[fact.agent]
    agent.queue = [message for message in agent.queue if message.id != fact.message]
    state.heard.pop(fact.platform_id, None)
    for meeting in state.meetings.values():
        meeting.history = [message for message in meeting.history if message.id != fact.message]


@rule(facts.FeedbackGiven)
def _rated(state: SessionState, _: int, fact: facts.FeedbackGiven) -> None:
    _remember(state.ratings, states.rated(fact.person, fact.platform_id), fact.rating)


@rule(facts.AsideAdded)
def _aside(state: SessionState, _: int, fact: facts.AsideAdded) -> None:
    asides = state.agents[fact.agent].asides
    asides.append(fact.message)
    del asides[:-MAX_ASIDES]


@rule(facts.PageBegun)
def _page(state: SessionState, seq: int, fact: facts.PageBegun) -> None:
    page = states.PageState(str(seq), fact.frame, fact.agent, fact.to, file=fact.file)
    page.reply_to, page.choices = fact.reply, [list(choice) for choice in fact.choices]
    page.place, page.alone = fact.place, fact.alone
    frame = state.frames.get(fact.frame)
    if frame is not None:
        page.step = f"{state.name_of(fact.agent)}.{frame.playbook} {frame.at or frame.step or ''}".rstrip()
        page.model = "" if frame.version.startswith("python") else state.answered_by.get("execute", "")
    state.pages[page.id] = page
    agent = state.agent(page.agent)
    if agent is not None and page.reply_to is not None:
        agent.answering = None


@rule(facts.PartOpening)
def _opening(state: SessionState, _: int, fact: facts.PartOpening) -> None:
    page = state.pages.get(fact.page)
    if page is not None:
        page.opened.setdefault(fact.part, fact.text)


@rule(facts.PageGrew)
def _grew(state: SessionState, _: int, fact: facts.PageGrew) -> None:
    page = state.pages.get(fact.page)
    if page is not None:
        page.stands = page.stands[: fact.at] + fact.text


@rule(facts.PartSent)
def _sent(state: SessionState, _: int, fact: facts.PartSent) -> None:
    page = state.pages.get(fact.page)
    if page is not None:
        page.parts[fact.part] = fact.platform_id
        text = page.text or page.opened.get(fact.part, "")
        _remember(
            state.said, fact.platform_id, states.SaidState(page.agent, text[:MAX_QUOTED_CHARS], page.step, page.model)
        )
    if fact.page in state.closed:
        state.closed[fact.page].parts[fact.part] = fact.platform_id
    for question in state.questions.values():
        if question.page == fact.page:
            question.parts[fact.part] = fact.platform_id


@rule(facts.QuestionClosed)
def _closed(state: SessionState, _: int, fact: facts.QuestionClosed) -> None:
    state.closed[fact.page] = states.ClosedQuestion(
        fact.page, fact.agent, fact.text, fact.free, fact.reply, dict(fact.parts), fact.place, fact.chosen
    )


@rule(facts.QuestionSettled)
def _settled(state: SessionState, _: int, fact: facts.QuestionSettled) -> None:
    state.closed.pop(fact.page, None)


@rule(facts.MarkWanted)
def _marking(state: SessionState, _: int, fact: facts.MarkWanted) -> None:
    _remember(state.marks, fact.platform_id, fact.mark)
    _note_place(state, fact.platform_id, fact.place)


@rule(facts.MarkPlaced)
def _marked(state: SessionState, _: int, fact: facts.MarkPlaced) -> None:
    state.marks.pop(fact.platform_id, None)


@rule(facts.PageClosed)
def _close(state: SessionState, _: int, fact: facts.PageClosed) -> None:
    page = state.pages[fact.page]
    page.status, page.text = "closed", fact.text
    if not page.opened:
        del state.pages[page.id]


@rule(facts.PageMoved)
def _moved(state: SessionState, _: int, fact: facts.PageMoved) -> None:
    page = state.pages[fact.page]
    page.place, page.reply_to, page.parts, page.opened, page.stands = fact.to, None, {}, {}, ""
    page.moved = fact.to is not None
    for question in state.questions.values():
        if question.page == page.id:
            question.place, question.reply_to, question.parts = fact.to, None, {}


@rule(facts.PageShown)
def _shown(state: SessionState, _: int, fact: facts.PageShown) -> None:
    page = state.pages.pop(fact.page, None)
    settle_page(state.acks, fact.page, has_it=not fact.lost)
    for pid in page.parts.values() if page is not None else ():
        if page is not None and pid in state.said:
            state.said[pid].text = page.text[:MAX_QUOTED_CHARS]
