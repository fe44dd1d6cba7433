"""How the Bot API says no."""

from typing import Any


class Refusal(Exception):
    """An answer that is not ok: HTTP status, description, and `parameters` such as retry_after."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    @property
    def body(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return answer | ({"parameters": self.parameters} if self.parameters else {})


def too_many_requests(retry_after_s: int) -> Refusal:
    return Refusal(429, f"Too Many Requests: retry after {retry_after_s}", retry_after=retry_after_s)
