"""What schemathesis does not know to write: files of JSON lines."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def json_lines(_context: Any, value: Any) -> bytes:
    """A text as it is, and anything else as its text."""
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
