"""`POST /bus/v1/sessions/{session}/test`: a session as a talk for `parley test`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer
from gateway.feature import FeatureDoor
from gateway.overview.saving.talks import NotSaved, TalkMaker
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.language.remote import is_tool
from runtime.stores.catalog import SessionCatalog
from runtime.tape.facts.calls import EffectIntended
from runtime.tape.facts.registry import read_as
from runtime.tape.tape import TapeReader


@dataclass(frozen=True, slots=True)
class SavingRoutes:
    """The request for a talk. The conversation is held again for it, so it needs the scope `gateway:write`."""

    catalog: SessionCatalog
    tapes: TapeReader
    maker: TalkMaker
    programs: Mapping[str, Program]
    door: FeatureDoor

    def routes(self) -> list[BaseRoute]:
        """The route, to be mounted with those of the bus."""
        return [Route("/sessions/{session}/test", self.save, methods=["POST"])]

    async def save(self, request: Request) -> Response:
        """The talk of a session, and the recorded answers of its model. What has used anything else than tools of
        servers is not held again: their results are on the tape."""
        client, session = self.door.writer(request), SessionId(str(request.path_params["session"]))
        known = await self.catalog.find(session)
        if known is None:
            raise HTTPException(404, "There is no such session.")
        await self.door.rooms.check(client, known.record)
        program = self.programs.get(known.record.program)
        if program is None or not program.agents:
            raise HTTPException(409, f"The program {known.record.program} is not served here.")
        async for fact in self.tapes.read_session(session):
            intended = read_as(fact, EffectIntended)
            if intended is not None and not is_tool(program, intended.name):
                raise HTTPException(409, f"It used {intended.name}, which a test of it would use again.")
        try:
            talk = await self.maker.make(session, Path(program.agents[0].span.file))
        except NotSaved as error:
            raise HTTPException(409, str(error)) from error
        texts = [{"name": name, "text": text, "base64": None} for name, text in talk.texts.items()]
        sent = [{"name": name, "text": None, "base64": b64encode(data).decode()} for name, data in talk.files.items()]
        return answer({"files": [*texts, *sent]})
