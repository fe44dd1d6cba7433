"""The form of what a task asks at the model door: its pictures are in the request, and none is fetched."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.exceptions import HTTPException

from gateway.clients.model.wire import read_asked
from gateway.isolation.agent.models import _asked
from runtime.llm.client import ChatMessage, CompletionRequest, Picture

PICTURE = Picture("image/png", "iVBORw0KGgo=")


def test_what_a_task_asks_arrives_with_its_pictures() -> None:
    messages = (
        ChatMessage("system", "Look.", cacheable=True),
        ChatMessage("user", "What is it?", pictures=(PICTURE, PICTURE)),
    )
    asked = read_asked(_asked("default", CompletionRequest(messages, purpose="execute")), pictures=True)
    assert asked.request.messages == messages


@pytest.mark.parametrize(
    "url",
    ["https://example.org/a.png", "file:///etc/passwd", "data:text/html;base64,AAAA", "data:image/png;base64,!AAA", 7],
)
def test_a_picture_that_is_not_in_the_request_is_refused(url: object) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}
    data: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": [part]}]}
    with pytest.raises(HTTPException) as refused:
        read_asked(data, pictures=True)
    assert refused.value.detail == "A picture is a data URL of a PNG, JPEG, WebP or GIF."
    with pytest.raises(HTTPException) as client:
        read_asked(data)
    assert client.value.detail.startswith("The content of a message is text")
