"""A session for people, folded from its tapes."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.cli.operate.database import say_json, shortened
from gateway.cli.output.terminal import say
from runtime.core.errors import Divergence
from runtime.tape.facts.people import MessageHeard, PageClosed, PageFinished
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import MessageQueued
from runtime.tape.facts.tasks import WordToOrderer, WordToTask
from runtime.tape.fold import apply_fact
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState
from runtime.tape.step_listing import stretches
from runtime.tape.tape import last_facts

if TYPE_CHECKING:
    from runtime.core.ids import SessionId
    from runtime.stores.catalog import WholeSession
    from runtime.tape.tape import Fact, TapeReader

LAST_MESSAGES = 10


def view_of(whole: WholeSession) -> dict[str, Any]:
    """Agents with their stacks, people, meetings, pages and the last messages, as JSON data.

    `trouble` says where the tape cannot be read any further; the rest is the state up to there.
    """
    state, said = SessionState(), deque[dict[str, str]](maxlen=LAST_MESSAGES)
    trouble = None
    for fact in whole.facts:
        said.extend(_said(state, fact))
        try:
            apply_fact(state, fact)
        except (Divergence, LookupError) as error:
            trouble = str(error)
            break
    agents = [
        {
            "agent": agent.id,
            "class": agent.klass,
            "name": f"{agent.klass}{state.number_of(agent)}",
            "stack": [_shown(frame.playbook, frame.step) for frame in state.frames.values() if frame.agent == agent.id],
            "waiting": len(agent.queue),
        }
        for agent in state.agents.values()
    ]
    meetings = [_meeting(meeting) for meeting in state.meetings.values() if meeting.status != "ended"]
    pages = [{"page": page.id, "status": page.status, "text": page.text} for page in state.pages.values()]
    return {
        "agents": agents,
        "people": {person: known.name for person, known in state.people.items()},
        "meetings": meetings,
        "pages": pages,
        "last": list(said),
        "broken": state.broken,
        "trouble": trouble,
    }


def _meeting(meeting: MeetingState) -> dict[str, Any]:
    return {
        "meeting": meeting.id,
        "topic": meeting.topic,
        "status": meeting.status,
        "joined": meeting.joined,
        "shared": {name: {"value": v.value, "version": v.version, "by": v.by} for name, v in meeting.shared.items()},
    }


def _shown(playbook: str, step: str | None) -> str:
    return playbook if step is None else f"{playbook}:{step}"


def _said(state: SessionState, fact: Fact) -> list[dict[str, str]]:
    at = fact.at.isoformat()
    heard = read_as(fact, MessageHeard)
    if heard is not None:
        return [{"at": at, "who": heard.name, "text": heard.text}]
    told = read_as(fact, WordToTask) or read_as(fact, WordToOrderer)
    if told is not None:
        return [{"at": at, "who": f"{state.agents[told.agent].klass} to {told.whom}", "text": told.text}]
    came = read_as(fact, MessageQueued)
    if came is not None and came.message.hops is not None:
        message = came.message
        sender = state.agent(message.sender_id)
        number = f" ({message.sender_id})" if sender is None else state.number_of(sender)
        return [{"at": at, "who": f"{message.sender_class}{number}", "text": message.content}]
    finished = read_as(fact, PageFinished) or read_as(fact, PageClosed)
    page = None if finished is None else state.pages.get(finished.page)
    if finished is not None and page is not None and finished.text:
        agent = state.agent(page.agent)
        return [{"at": at, "who": agent.klass if agent is not None else "Parley", "text": finished.text}]
    return []


def say_view(view: Mapping[str, Any]) -> None:
    for name in ("session", "conversation", "program", "started_at", "last_at", "state", "facts", "node"):
        say(f"{name:<14}{'none' if view[name] is None else view[name]}")
    if view["parent"] is not None:
        session, seq = view["parent"]
        say(f"{'continues':<14}{session}, after fact {seq}")
    if view["replaced_by"] is not None:
        say(f"{'replaced by':<14}{view['replaced_by']}")
    for name in ("broken", "trouble"):
        if view[name]:
            say(f"{name:<14}{view[name]}")
    for id_, person in view["people"].items():
        say(f"{'person':<14}{person} ({id_})")
    for agent in view["agents"]:
        doing = " → ".join(agent["stack"]) or "idle"
        waiting = f", {agent['waiting']} messages wait" if agent["waiting"] else ""
        say(f"{'agent':<14}{agent['name']}: {doing}{waiting}")
    _say_meetings(view["meetings"])
    for page in view["pages"]:
        say(f"{'page':<14}{page['page']} {page['status']}: {shortened(page['text'])}")
    for message in view["last"]:
        say(f"{message['at'][:19].replace('T', ' ')}  {message['who']}: {shortened(message['text'], 90)}")


def _say_meetings(meetings: Sequence[Mapping[str, Any]]) -> None:
    for meeting in meetings:
        joined = ", ".join(meeting["joined"])
        say(f"{'meeting':<14}{meeting['meeting']} {meeting['status']}, {meeting['topic']}: {joined}")
        for name, known in meeting["shared"].items():
            value = shortened(json.dumps(known["value"], ensure_ascii=False))
            say(f"{'shared':<14}{name} = {value}, version {known['version']} by {known['by']}")


def say_fact(fact: Fact, *, as_json: bool) -> None:
    tape = fact.tape.rpartition("/")[2]
    at = fact.at.isoformat()
    if as_json:
        say_json({"seq": fact.seq, "tape": tape, "kind": fact.kind, "at": at, "data": fact.data})
    else:
        say(f"{fact.seq:>6}  {at[:23]}  {tape:<8}  {fact.kind:<10}  {json.dumps(fact.data, ensure_ascii=False)}")


def say_steps(whole: WholeSession, *, as_json: bool) -> None:
    for number, stretch in enumerate(stretches(whole.facts)):
        if as_json:
            say_json(stretch.as_json())
            continue
        if number:
            say()
        say(f"{stretch.at:%Y-%m-%d %H:%M:%S}  {stretch.agent_class}.{stretch.playbook} ({stretch.agent})")
        say(stretch.text)


async def say_coming(tapes: TapeReader, session: SessionId, last: int, *, as_json: bool) -> None:
    """Print the last facts of a session and each new one, until the session is deleted."""
    found = await last_facts(tapes, session, last + 1)
    async for fact in tapes.follow(session, after=found[-last - 1].seq if len(found) > last else 0):
        say_fact(fact, as_json=as_json)
