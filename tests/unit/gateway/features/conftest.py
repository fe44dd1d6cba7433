"""What features are tried with: sessions as those of the runtime's tests."""

from tests.unit.runtime.sessions.conftest import anyio_backend as anyio_backend
from tests.unit.runtime.sessions.conftest import sandbox as sandbox
