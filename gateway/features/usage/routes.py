"""The count of use where it is asked for: `GET /bus/v1/usage`, the command, the console; and where it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer, number
from gateway.feature import EntrancePart, FeatureDoor, FeatureGround, ServingGround
from gateway.features.usage.ledger import KEPT_DAYS, By, Ledger, grouped, ledger_in, total
from gateway.models.answers import shown


def _ledger(ground: FeatureGround) -> Ledger:
    return ledger_in(ground.connection, ground.clock)


def entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    return EntrancePart({"usage": _ledger(ground).answer})


def open_node(ground: FeatureGround, serving: ServingGround) -> None:
    """Counts from the start of the process, and takes no part in sessions."""
    if serving.answers is not None:
        serving.tasks.start_soon(_ledger(ground).follow, serving.answers)


def usage_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    async def usage(request: Request) -> Response:
        """What models were used and what they cost in some days up to today (UTC), in sums."""
        client = door.reader(request)
        by = request.query_params.get("by", "day")
        if by not in get_args(By):
            raise HTTPException(422, f"by is one of {', '.join(get_args(By))}.")
        if by == "person" and not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        rows = await _ledger(ground).rows(int(number(request, "days", 30, KEPT_DAYS)) or 1)
        sums = [{"name": name, **shown(amounts)} for name, amounts in grouped(rows, by)]  # type: ignore[arg-type]
        return answer({"by": by, "sums": sums, "all": shown(total(rows))})

    return (Route("/usage", usage, methods=["GET"]),)


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    return {"spent_today": await _ledger(ground).spent_today()}


async def models(ground: FeatureGround, names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    return await _ledger(ground).of_models(names)
