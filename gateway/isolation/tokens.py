"""The tokens of isolated tasks: signed, each for one task under one lease, and void when the process has ended."""

from __future__ import annotations

import secrets
from typing import Generic, TypeVar

from itsdangerous import BadData, URLSafeSerializer

Holder = TypeVar("Holder")


class TaskTokens(Generic[Holder]):
    """The tokens that this node has given out. They are worth nothing to another node, nor after a restart of this
    one."""

    def __init__(self) -> None:
        self._signer = URLSafeSerializer(secrets.token_hex(32), salt="task")
        self._holders: dict[str, Holder] = {}

    def issue(self, session: str, epoch: int, holder: Holder) -> str:
        """A new token for a task."""
        token = str(self._signer.dumps([session, epoch, secrets.token_hex(8)]))
        self._holders[token] = holder
        return token

    def holder(self, token: str) -> Holder | None:
        """Whose token it is; None for one that is void, or none of ours."""
        try:
            self._signer.loads(token)
        except BadData:
            return None
        return self._holders.get(token)

    def void(self, token: str) -> None:
        """The token is worth nothing from now on."""
        self._holders.pop(token, None)
