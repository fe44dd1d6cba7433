"""Fixtures as those for tests of sessions."""

from tests.unit.runtime.sessions.conftest import anyio_backend as anyio_backend
from tests.unit.runtime.sessions.conftest import sandbox as sandbox
