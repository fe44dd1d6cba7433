"""A small form of any content is a JSON object of texts that can be kept, or nothing."""

from __future__ import annotations

import json

import anyio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from gateway.web.forms import small_json

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
data = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def read(body: bytes) -> dict[str, str] | None:
    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return anyio.run(small_json, Request({"type": "http", "method": "POST", "headers": []}, receive))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=100) | data.map(json.dumps).map(str.encode))
@example(rb'{"endpoint": "\ud800"}')
@example(b"[" * 4_000)
@example(b'{"a": ' + b"1" * 4_050 + b"}")
@example(b'{"a": NaN, "b": "c"}')
def test_a_form_of_any_content_is_texts_that_can_be_kept_or_nothing(body: bytes) -> None:
    for name, value in (read(body) or {}).items():
        assert f"{name}{value}".encode()
