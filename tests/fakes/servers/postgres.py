"""A real PostgreSQL for tests, on a unix socket, that can be stopped at once and started again on the same data."""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

_USER = "postgres"


def _program(name: str) -> str:
    """Where Debian or the PATH has it; Debian keeps one directory for each version."""
    kept = Path("/usr/lib/postgresql").glob(f"[0-9]*/bin/{name}")
    newest = max(kept, key=lambda path: float(path.parts[-3]), default=None)
    found = shutil.which(name) or newest
    assert found is not None, f"{name} is not on this machine; `make test` installs PostgreSQL"
    return str(found)


class RealPostgres:
    """A server with a database of its own. The super user of the machine may not run one: then `postgres` does."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
        self._as: dict[str, Any] = {"cwd": self._directory}
        self._name = pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            owner = pwd.getpwnam(_USER)
            os.chown(self._directory, owner.pw_uid, owner.pw_gid)
            self._as |= {"user": _USER, "group": owner.pw_gid, "extra_groups": []}
            self._name = _USER
        arguments = ["-D", str(self._data), "-U", self._name, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        self._call("initdb", *arguments)

    @property
    def url(self) -> str:
        return f"postgresql://{quote(self._name)}@/postgres?host={quote(str(self._directory))}"

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def start(self) -> None:
        """Return when the server answers."""
        options = f"-k {shlex.quote(str(self._directory))} -c listen_addresses= -c fsync=off"
        log = str(self._directory / "log")
        self._call("pg_ctl", "start", "--wait", "-D", str(self._data), "-l", log, "-o", options)

    def kill(self) -> None:
        """End it at once."""
        self._call("pg_ctl", "stop", "--wait", "-m", "immediate", "-D", str(self._data))

    def remove(self) -> None:
        """Take its data away."""
        shutil.rmtree(self._directory)

    def _call(self, program: str, *arguments: str) -> None:
        # Its output goes to a file: the server that pg_ctl starts keeps what it was given open.
        with (self._directory / "calls").open("ab") as output:
            done = subprocess.run(
                [_program(program), *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output, **self._as
            )
        assert done.returncode == 0, (self._directory / "calls").read_text()
