"""CloudEvents as other programs write them: everything that the standard allows is taken, and given back as it was."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.core.cloud_event import event_from

NOW = datetime(2026, 11, 28, tzinfo=UTC)
HEAD = {"specversion": "1.0", "id": "1", "type": "a.b", "source": "/clients/ci", "time": "2026-11-28T00:00:00+00:00"}
PICTURE = base64.b64encode(b"\x89PNG\x00\xff").decode()


def read(**written: Any) -> dict[str, Any]:
    """An event once it was taken and is given to a reader."""
    return event_from({**HEAD, **written}, source="/clients/ci", now=NOW).as_data(content=True)


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"data": {"n": 1}, "datacontenttype": "application/json"},
        {"data": "<a/>", "datacontenttype": "text/xml"},
        {"data": {"n": 1}, "datacontenttype": "application/json; charset=utf-8"},
        {"data_base64": PICTURE, "datacontenttype": "image/png"},
        {"data_base64": PICTURE},
        {"dataschema": "https://example.org/order.json", "subject": "42"},
        {"traceparent": "00-1-2-01", "replyto": "x", "correlationid": "7", "sequence": "12"},
        {"comexampleurgent": True, "retries": 3, "partitionkey": "a" * 1000},
    ],
)
def test_what_the_standard_allows_comes_back_as_it_was(written: dict[str, Any]) -> None:
    assert read(**written) == {**HEAD, **written}
    assert event_from(read(**written), source="/clients/ci", now=NOW).as_data(content=True) == {**HEAD, **written}


def test_json_in_base64_is_its_data_and_what_is_null_is_left_out() -> None:
    coded = base64.b64encode(b'{"left": 2}').decode()
    assert read(data_base64=coded, subject=None, urgent=None)["data"] == {"left": 2}
    assert read(subject=None, urgent=None) == HEAD


@pytest.mark.parametrize(
    "written",
    [
        {"Urgent": True},
        {"a-b": "c"},
        {"urgent": {"very": True}},
        {"urgent": 2**31},
        {"urgent": 1.5},
        {"urgent": "a\x00"},
        {"urgent": "a" * 1001},
        {"data": 1, "data_base64": PICTURE},
        {"data_base64": "not base64!"},
        {"data_base64": 7},
        {"datacontenttype": "json"},
        {"specversion": "0.3"},
    ],
)
def test_what_it_does_not_allow_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        read(**written)
