"""The data that may enter or leave the sandbox: JSON, within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_DEPTH = 64
MAX_CHARS = 1_000_000
MAX_INT_BITS = 4096
"""The longest whole number, about 1,200 digits: Python does not write much longer ones."""


class NotData(ValueError):
    """The value is no JSON data, or too big or too deep."""


def as_data(value: Any, *, max_chars: int = MAX_CHARS) -> Any:
    """`value` as JSON data: tuples become lists, plain keys become strings.

    `max_chars` bounds the characters of all strings together, counting every other value as eight. Raises NotData.
    """
    left = max_chars

    def spend(amount: int) -> None:
        nonlocal left
        left -= amount
        if left < 0:
            raise NotData(f"it has more than {max_chars} characters of data")

    return _copied(value, spend, MAX_DEPTH)


def _copied(value: Any, spend: Callable[[int], None], depth: int) -> Any:
    if depth == 0:
        raise NotData(f"it is nested more than {MAX_DEPTH} deep")
    spend(len(value) if type(value) is str else 8)
    if value is None or type(value) in (bool, float, str):
        return value
    if type(value) is int:
        if value.bit_length() > MAX_INT_BITS:
            raise NotData(f"it has a number of more than {MAX_INT_BITS} bits")
        return value
    if isinstance(value, list | tuple):
        return [_copied(item, spend, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_key(key, spend): _copied(item, spend, depth - 1) for key, item in value.items()}
    raise NotData(f"a value of type {type(value).__name__} is not JSON data")


def _key(key: object, spend: Callable[[int], None]) -> str:
    if type(key) is str:
        spend(len(key))
        return key
    if type(key) is int and key.bit_length() <= MAX_INT_BITS:
        return str(key)
    raise NotData(f"a key of type {type(key).__name__} is not JSON data")
