"""`GET /bus/v1/usage`: what was spent."""

from __future__ import annotations

from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.clients.requests import answer, number
from gateway.feature import FeatureDoor
from gateway.features.usage.ledger import By, Ledger, grouped
from gateway.features.usage.store import KEPT_DAYS, total
from gateway.models.answers import shown


def usage_route(ledger: Ledger, door: FeatureDoor) -> Route:
    """The route, to be mounted with those of the bus."""

    async def usage(request: Request) -> Response:
        """What models were used and what they cost in some days up to today (UTC), in sums."""
        client = door.reader(request)
        by = request.query_params.get("by", "day")
        if by not in get_args(By):
            raise HTTPException(422, f"by is one of {', '.join(get_args(By))}.")
        if by == "person" and not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        rows = await ledger.rows(int(number(request, "days", 30, KEPT_DAYS)) or 1)
        sums = [{"name": name, **shown(amounts)} for name, amounts in grouped(rows, by)]  # type: ignore[arg-type]
        return answer({"by": by, "sums": sums, "all": shown(total(rows))})

    return Route("/usage", usage, methods=["GET"])
