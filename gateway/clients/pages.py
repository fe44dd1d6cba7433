"""Pages of what is read as a whole: a stretch of it, by a cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.requests import Request

from gateway.clients.requests import number

MOST = 200
"""The most of one answer."""

Item = TypeVar("Item")


def limit_of(request: Request) -> int:
    """The `limit` of a request."""
    return int(number(request, "limit", 50, MOST)) or 1


def page_of(
    request: Request, items: Sequence[Item], name: Callable[[Item], str], data: Callable[[Item], Any]
) -> tuple[list[Any], str | None]:
    """The items behind the one that `after` names, as data, and the cursor of the next page; None at the end.

    Where the named one is gone, the list begins anew.
    """
    after, limit = request.query_params.get("after", ""), limit_of(request)
    names = [name(item) for item in items]
    first = names.index(after) + 1 if after in names else 0
    shown = items[first : first + limit]
    return [data(item) for item in shown], names[first + limit - 1] if len(items) > first + limit else None
