"""The fixtures of sessions, whose failures are reported."""

from tests.unit.runtime.sessions.conftest import anyio_backend as anyio_backend
from tests.unit.runtime.sessions.conftest import sandbox as sandbox
