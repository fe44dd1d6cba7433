"""`…/strip` and `…/state` of the tape of a session: what was going on in it, and how it stood at any moment; and all
meetings: `GET /bus/v1/meetings`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.journals import ClosedRooms, journal_of, tape_name
from gateway.clients.requests import BusClient, answer, known_mark, number
from gateway.clients.views import ClientView, GatewayView, looks
from gateway.overview.strip import SESSION_LANE, lane_of, strip_of
from runtime.core.errors import ArchiveUnavailable, ContentLocked, TapeConflict
from runtime.core.ids import ParticipantId, SessionId
from runtime.core.json_text import plain_data
from runtime.language.program import PlaybookSpec, Program, Step
from runtime.playbooks.remote import QUESTION as APPROVAL
from runtime.sessions.commands.alter import changeable
from runtime.sessions.versions import ProgramVersions
from runtime.stores.catalog import KnownSession, SessionCatalog
from runtime.stores.kept import KeptCalls, ModelCall
from runtime.tape.facts.frames import FailureUncaught, FrameReturned
from runtime.tape.facts.people import PageBegun
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ProgramAdopted, SessionBegun
from runtime.tape.facts.tasks import TaskOrdered, TaskOver
from runtime.tape.snapshot import TapeMoments
from runtime.tape.state.frames import CallKey, FrameState
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.people import QuestionState
from runtime.tape.state.session import AgentState, SessionState
from runtime.tape.tape import Fact, TapeReader

MOST_FACTS = 5_000
"""The facts of one strip."""

_MOST = 2**53
_FAILED_BEFORE = 20
"""The facts before a message about a failure among which the failure is looked for."""

_OF_CALLS = (
    *("frame", "agent", "playbook", "model", "purpose", "reply", "whole"),
    *("tokens_in", "tokens_cached", "tokens_out", "estimated", "error"),
)
"""What is told of a call of a model as it is kept."""

_OF_TASKS = {TaskOrdered.kind, TaskOver.kind}
_OF_PROGRAMS = {SessionBegun.kind, ProgramAdopted.kind}


class _Version(Struct, frozen=True):
    """The program that a session had. Its lines are those of the file where it is `served`; of an earlier version the
    steps are kept, and not the file."""

    program: Program | None
    served: bool

    def playbook(self, klass: str, name: str) -> PlaybookSpec | None:
        agent = None if self.program is None else self.program.agent(klass)
        return None if agent is None else agent.playbook(name)


class SessionViews(ClientView, frozen=True):
    """The requests about what went on in a session. `programs` are those that are served now, `versions` those that
    were."""

    catalog: SessionCatalog
    tapes: TapeReader
    moments: TapeMoments
    programs: Mapping[str, Program]
    versions: ProgramVersions
    model_calls: KeptCalls

    @property
    def _rooms(self) -> ClosedRooms:
        return ClosedRooms(self.catalog, self.tapes)

    @looks("/tapes/{tape}/strip")
    async def strip(self, request: Request, client: BusClient) -> Response:
        """The marks of the facts up to `until`, `limit` of them; `next` is the `until` of those before."""
        known = await self._found(request, client)
        head = known.record.seq
        until = min(int(number(request, "until", head, _MOST)), head)
        limit = int(number(request, "limit", 1_000, MOST_FACTS)) or 1
        after = max(0, until - limit)
        facts = [fact async for fact in self.tapes.read_session(known.record.id, after=after, until=until)]
        content = await self._rooms.words(client.scopes, known.record)
        ordered = await self._ordered(known.record.id, after, facts)
        marks = [mark.data(content=content) for mark in strip_of(facts, ordered=ordered)]
        return answer({"marks": marks, "head": head, "first": after + 1, "next": after or None})

    @looks("/tapes/{tape}/state")
    async def state(self, request: Request, client: BusClient) -> Response:
        """The session after fact `at`: its agents, their stacks, variables and steps. It needs the scope `content`."""
        known = await self._found(request, client)
        record = known.record
        await self._rooms.check(client, record)
        at = min(int(number(request, "at", record.seq, _MOST)), record.seq)
        moment = await self.moments.at(record.id, at)
        state = moment.state
        version = await self._version(record.program, state.program)
        last = await self._fact(record.id, at)
        return answer(
            {
                "at": at,
                "head": record.seq,
                "date": None if last is None else last.at.isoformat(),
                "fact": None if last is None else {"kind": last.kind, "payload": last.data},
                "raised_at": await self._raised_at(record.id, last, version),
                "program": record.program,
                "same_program": version.served,
                "ended": state.ended,
                "at_work": state.at_work(),
                "broken": state.broken,
                "trouble": moment.trouble or None,
                "agents": [_agent(state, agent, version) for agent in state.agents.values()],
                "people": [{"id": str(id_), "name": person.name} for id_, person in state.people.items()],
                "questions": [_question(state, call, asked) for call, asked in state.questions.items()],
                "meetings": [
                    {
                        "id": meeting.id,
                        "topic": meeting.topic,
                        "status": meeting.status,
                        "joined": [str(who) for who in meeting.joined],
                        "shared": {name: shared.value for name, shared in meeting.shared.items()},
                    }
                    for meeting in state.meetings.values()
                ],
            }
        )

    @looks("/tapes/{tape}/calls")
    async def calls(self, request: Request, client: BusClient) -> Response:
        """The kept calls of models that were at work after fact `after` and asked before fact `until`, in order. It
        needs the scope `content`."""
        known = await self._found(request, client)
        record = known.record
        await self._rooms.check(client, record)
        after = int(number(request, "after", 0, _MOST))
        until = int(number(request, "until", record.seq, _MOST))
        session = record.id
        while record.parent is not None and until <= record.parent.seq:  # it goes on from there
            session = record.parent.session
            parent = await self.catalog.find(session)
            if parent is None:
                break
            record = parent.record
        found = await self.model_calls.between(session, after, until)
        calls = sorted(found, key=lambda call: call.asked_seq)
        digests = await self._digests(session, [call.asked_seq for call in calls])
        versions = {digest: await self._version(record.program, digest) for digest in set(digests)}
        return answer({"calls": [_call(call, versions[digest]) for call, digest in zip(calls, digests, strict=True)]})

    async def _digests(self, session: SessionId, moments: Sequence[int]) -> Sequence[str]:
        """The program that a session had after each of these facts, which are in order."""
        if not moments:
            return []
        digest, facts = (await self.moments.at(session, moments[0])).state.program, list[tuple[int, str]]()
        async for fact in self.tapes.read_session(session, after=moments[0], until=moments[-1]):
            if fact.kind in _OF_PROGRAMS:
                facts.append((fact.seq, fact.data["program"]))
        return [next((new for seq, new in reversed(facts) if seq <= at), digest) for at in moments]

    async def _version(self, program: str, digest: str) -> _Version:
        served = self.programs.get(program)
        if served is not None and served.digest == digest:
            return _Version(served, served=True)
        return _Version(await self.versions.find(digest), served=False)

    async def _found(self, request: Request, client: BusClient) -> KnownSession:
        session = journal_of(tape_name(client, "read", request))
        if session is None:
            raise HTTPException(409, "Only the tapes of sessions have this; a notebook has entries alone.")
        known = await self.catalog.find(session)
        if known is None:
            raise HTTPException(404, "There is no such session.")
        return known

    async def _ordered(self, session: SessionId, before: int, facts: Sequence[Fact]) -> int:
        """The tasks that were ordered up to fact `before`, where these facts have tasks: they name them by number."""
        if not before or not any(fact.kind in _OF_TASKS for fact in facts):
            return 0
        return (await self.moments.at(session, before)).state.ordered

    async def _raised_at(self, session: SessionId, last: Fact | None, version: _Version) -> dict[str, Any] | None:
        """The place of the failure that a fact tells, or that the message is about which begins with it."""
        if last is None or last.kind != PageBegun.kind or lane_of(last) != SESSION_LANE:
            return None if last is None else _raised_at(last, version)
        before = self.tapes.read_session(session, after=max(0, last.seq - _FAILED_BEFORE), until=last.seq)
        found = [place async for fact in before if (place := _raised_at(fact, version)) is not None]
        return found[-1] if found else None

    async def _fact(self, session: SessionId, seq: int) -> Fact | None:
        async for fact in self.tapes.read_session(session, after=seq - 1, until=seq):
            return fact
        return None


def _call(call: ModelCall, version: _Version) -> dict[str, Any]:
    return {
        **{name: getattr(call, name) for name in _OF_CALLS},
        **_place(version, call.klass, call.playbook, call.step),
        "asked_after": call.asked_seq,
        "heard_after": call.heard_seq,
        "at": call.at.isoformat(),
        "class": call.klass,
        "prompt": [plain_data(message) for message in call.prompt],
        "seconds": round(call.seconds, 3),
        "first_text_s": None if call.first_text_s is None else round(call.first_text_s, 3),
        "usd": call.cost_usd,
    }


def _place(version: _Version, klass: str, playbook: str, location: str | None) -> dict[str, Any]:
    """A step of a playbook in its author's words, with its file and line; the playbook's where there is no step."""
    spec = version.playbook(klass, playbook)
    step = _step(spec, location)
    span = None if spec is None or not version.served else spec.span if step is None else step.span
    return {
        "step": location,
        "text": None if step is None else step.text,
        "file": None if span is None else Path(span.file).name,
        "line": None if span is None else span.line,
    }


def _agent(state: SessionState, agent: AgentState, version: _Version) -> dict[str, Any]:
    frames = [frame for frame in state.frames.values() if frame.agent == agent.id]
    return {
        "id": str(agent.id),
        "class": agent.klass,
        "variables": agent.variables,
        "waiting": len(agent.queue),
        "paused": agent.paused,
        "stack": [_frame(frame, agent, version) for frame in frames],
    }


def _frame(frame: FrameState, agent: AgentState, version: _Version) -> dict[str, Any]:
    records = [frame.records[pos] for pos in frame.order if pos in frame.records]
    return {
        "frame": frame.id,
        "playbook": frame.playbook,
        **_place(version, agent.klass, frame.playbook, frame.step),
        "arguments": {**{str(at): value for at, value in enumerate(frame.args)}, **frame.kwargs},
        "locals": frame.locals,
        "changeable": changeable(frame, version.playbook(agent.klass, frame.playbook)),
        "waits_for": frame.waits_for,
        "caller": None if frame.caller is None else frame.caller.frame,
        "calls": [
            {"name": one.name, "value": one.value, "error": None if one.error is None else list(one.error)}
            for one in records[-20:]
            if not one.hidden
        ],
        "statements": [
            {"source": one.source, "done": one.done, "error": None if one.error is None else list(one.error)}
            for one in frame.statements
        ],
        "refused": frame.rejections,
        "transcript": frame.transcript[-20:],
    }


def _question(state: SessionState, call: CallKey, asked: QuestionState) -> dict[str, Any]:
    """An open question; `of` are those whose answer alone counts, by their ids."""
    several = [id_ for name, id_ in asked.each.items() if name not in asked.answers]
    of = several if asked.each else [] if asked.of is None else [str(asked.of)]
    return {
        "page": asked.page,
        "text": asked.text,
        "options": asked.options,
        "kind": "approval" if call.pos == APPROVAL else "question",
        "of": [{"id": id_, "name": state.called(id_)} for id_ in of],
    }


def _raised_at(fact: Fact, version: _Version) -> dict[str, Any] | None:
    """The place of a failure that this fact tells, whose playbooks are not executed any more."""
    returned, uncaught = read_as(fact, FrameReturned), read_as(fact, FailureUncaught)
    place = returned.raised_at if returned is not None else None if uncaught is None else uncaught.raised_at
    if place is None:
        return None
    return {
        "agent": place.agent,
        "playbook": place.playbook,
        **_place(version, place.agent.split(" ")[0], place.playbook, place.step),
        "lines": list(place.lines),
    }


def _step(spec: PlaybookSpec | None, location: str | None) -> Step | None:
    """The step of `Playbook:line:code`."""
    parts = (location or "").split(":")
    return spec.step(parts[1]) if spec is not None and len(parts) > 1 else None


LOOKED_AT = 40
"""The sessions that one answer looks at."""

_REMEMBERED = 1_000
"""The sessions whose meetings are remembered until something happens in them."""

_OPEN = ("working", "resting")


class MeetingRoutes(GatewayView, frozen=True):
    """The request about meetings. A session is folded once for each time that something has happened in it."""

    catalog: SessionCatalog
    _known: OrderedDict[SessionId, tuple[int, Sequence[dict[str, Any]]]] = field(default_factory=OrderedDict)

    @looks("/meetings")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The meetings of some sessions; those that are over are left out unless `over` is asked for."""
        over = request.query_params.get("over") == "1"
        with known_mark():
            page = await self.catalog.page(request.query_params.get("after", ""), limit=LOOKED_AT)
        shown: list[dict[str, Any]] = []
        for known in page.sessions:
            if known.state not in _OPEN:
                continue
            words = await self.door.rooms.words(client.scopes, known.record)
            meetings = [one for one in await self._meetings(known) if over or one["status"] != "ended"]
            shown += meetings if words else [{name: one[name] for name in one if name != "shared"} for one in meetings]
        return answer({"meetings": shown, "next": page.next or None})

    async def _meetings(self, known: KnownSession) -> Sequence[dict[str, Any]]:
        record = known.record
        kept = self._known.get(record.id)
        if kept is None or kept[0] != record.seq:
            try:
                state = (await self.door.moments.at(record.id, record.seq)).state
            except (ArchiveUnavailable, ContentLocked, TapeConflict):
                return []
            kept = record.seq, [_data(known, state, one) for one in state.meetings.values()]
            self._known[record.id] = kept
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(record.id)
        return kept[1]


def _data(known: KnownSession, state: SessionState, meeting: MeetingState) -> dict[str, Any]:
    return {
        "meeting": f"{known.record.id}.{meeting.id}",
        "session": known.record.id,
        "conversation": known.record.address.key,
        "place": None if meeting.place is None else meeting.place.key,
        "topic": meeting.topic,
        "host": _name(state, meeting.host),
        "status": meeting.status,
        "why": meeting.why,
        "since": datetime.fromtimestamp(meeting.since, UTC).isoformat() if meeting.since else None,
        "joined": [_name(state, who) for who in meeting.joined],
        "asked": [_name(state, who) for who in meeting.invited if who not in meeting.joined],
        "shared": {name: one.value for name, one in meeting.shared.items()},
    }


def _name(state: SessionState, who: ParticipantId) -> str:
    """The name of a person, or the class of an agent, with its number where there are several."""
    for agent in state.agents.values():
        if agent.id == who:
            return f"{agent.klass}{state.number_of(agent)}"
    person = next((person for id_, person in state.people.items() if id_ == who), None)
    return str(who) if person is None else person.name
