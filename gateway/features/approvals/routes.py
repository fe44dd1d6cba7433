"""`/bus/v1/questions`: what agents ask people, and what tools ask to be allowed, answered from elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.clients.requests import BusClient, answer, body_of, limit_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.feature import FeatureGround
from gateway.features.approvals.register import GivenAnswer, OpenQuestion, QuestionsView, register_in
from runtime.core.address import CLIENT
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.stores.inbox import ANSWER, Inbox, InboxEvent

MAX_WORDS = 10_000

SETTLED_WITHIN_S = 5.0

MOST = 50
"""The most questions of one page: each is looked up in its session."""


class QuestionRoutes(GatewayView, frozen=True):
    questions: QuestionsView
    inbox: Inbox
    clock: Clock

    @looks("/questions")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The open questions, the latest first. Their words need the scope `content`."""
        limit, after = min(limit_of(request), MOST), request.query_params.get("after", "")
        noted = await self.questions.register.all()
        names = [place.name for place in noted]
        rows: list[dict[str, Any]] = []
        left = list(noted[names.index(after) + 1 if after in names else 0 :])
        last = ""
        while left and len(rows) < limit:
            place = left.pop(0)
            found, last = await self.questions.at(place), place.name
            if found is not None:
                rows.append(_question(found, await self.door.rooms.words(client.scopes, found.record)))
        return answer({"questions": rows, "next": last if left else None})

    @acts("/questions/{session}/{page}/answer")
    async def answer(self, request: Request, client: BusClient) -> Response:
        """Answer one with {"option": n} or {"text"}. The first answer counts, wherever it is given."""
        session, page = SessionId(request.path_params["session"]), str(request.path_params["page"])
        body = await body_of(request)
        found = await self.questions.find(session, page)
        if found is None:
            raise await self._closed(client, session, page)
        await self.door.rooms.check_room(client, found.record)
        if found.of:
            who = ", ".join(found.of) if client.scopes.content else "somebody else"
            raise HTTPException(409, f"Only {who} can answer this.")
        event = self._event(client, found, *_said(body, found))
        await self.inbox.add(event)
        if not await self.questions.until_closed(found, SETTLED_WITHIN_S):
            return answer({"settled": False, "counted": None, "answer": None, "by": None}, 202)
        how = await self.questions.answered(session, found.call, int(found.asked.page))
        return answer(_outcome(how, event, content=client.scopes.content))

    async def _closed(self, client: BusClient, session: SessionId, page: str) -> HTTPException:
        """The refusal of an answer to what is no longer open."""
        call = await self.questions.asked_on(session, page)
        if call is None or (not client.scopes.private and await self.door.rooms.has(session)):
            return HTTPException(404, "There is no such question.")
        how = await self.questions.answered(session, call, int(page))
        if how is None or not how.answer:
            return HTTPException(409, "This question is no longer open: it was closed before anybody answered.")
        if not client.scopes.content:
            return HTTPException(409, "This question was answered already.")
        by = f", by {how.by}" if how.by else ""
        return HTTPException(409, f"This question was answered already: {how.answer}{by}.")

    def _event(self, client: BusClient, found: OpenQuestion, choice: str, text: str) -> InboxEvent:
        """The answer as an event. Whoever answers the same question is told by its words which answer counts."""
        record, page = found.record, found.asked.page
        named = hashlib.sha256(f"{client.source}\0{client.shown}\0{record.id}\0{page}\0{text}".encode()).hexdigest()
        return InboxEvent(
            f"{ANSWER}.{named[:32]}",
            record.address,
            f"{CLIENT}:{client.name}",
            client.shown or client.name,
            text,
            self.clock.now(),
            kind=ANSWER,
            choice=choice,
            private=found.state.private,
            program=record.program,
            by_owner=True,
        )


def _said(body: Any, found: OpenQuestion) -> tuple[str, str]:
    """The id of the choice, and the words. Raises HTTPException."""
    options, page = found.asked.options, f"{str(found.record.id)[:8]}.{found.asked.page}"
    given = body if isinstance(body, dict) else {}
    option, text = given.get("option"), given.get("text")
    if type(option) is int and 0 <= option < len(options):
        return f"{page}.{option}", options[option]
    if isinstance(text, str) and text.strip() and len(text) <= MAX_WORDS and option is None:
        return f"{page}.free", text.strip()
    wanted = f"option, a number below {len(options)}, or text" if options else "text"
    raise HTTPException(422, f"An answer has {wanted} of at most {MAX_WORDS:,} characters.")


def _outcome(how: GivenAnswer | None, event: InboxEvent, *, content: bool) -> dict[str, Any]:
    if how is None:
        return {"settled": True, "counted": False, "answer": None, "by": None}
    said, by = (how.answer, how.by or None) if content else (None, None)
    return {"settled": True, "counted": how.event == event.id, "answer": said, "by": by}


def _question(found: OpenQuestion, content: bool) -> dict[str, Any]:
    record, asked, order = found.record, found.asked, found.state.order
    place = record.address if order is None else order.home
    return {
        "session": record.id,
        "page": asked.page,
        "seq": int(asked.page),
        "kind": "approval" if found.noted.approval else "question",
        "conversation": place.key,
        "program": record.program,
        "agent": found.agent,
        "asked_at": found.noted.noted_at.isoformat(),
        "of": found.of if content else [""] * len(found.of),
        "text": asked.text if content else None,
        "options": list(asked.options) if content else None,
    }


def question_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    own, clock = ground.database, ground.clock
    questions = QuestionsView(register_in(ground), own.catalog, own.tapes, door.moments, clock)
    return QuestionRoutes(door, questions, own.inbox, clock).routes()
