"""How Slack's Web API says no: HTTP 200 with `ok` false, but for rate limits."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """An answer that is not ok: the error's name, HTTP status and headers, and further keys such as `needed`."""

    def __init__(
        self,
        error: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    @property
    def body(self) -> dict[str, Any]:
        return {"ok": False, "error": self.error} | self.more


def too_many_requests(retry_after_s: int) -> Refusal:
    return Refusal("ratelimited", status=429, headers={"Retry-After": str(retry_after_s)})
