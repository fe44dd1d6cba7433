"""The roles that a person can have, and what each permits.

| role | may |
| --- | --- |
| owner | everything: also approve, block and promote others; limits do not hold for owners |
| member | what guests may; stop, begin again, choose a program, invite to meetings and end them |
| guest | talk, answer choices, look and leave, where a chat or a space is open to them |
| blocked | nothing |
"""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """In the order of what they may do; each may do everything that a lesser one may."""

    BLOCKED = 0
    GUEST = 1
    MEMBER = 2
    OWNER = 3

    @property
    def word(self) -> str:
        """As people write it: `member`."""
        return self.name.lower()


def role_named(word: str) -> Role | None:
    """The role that is written so; None when there is none."""
    return next((role for role in Role if role.word == word.strip().lower()), None)
