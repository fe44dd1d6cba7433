"""Agents that run in another process: participants, and servers, the `remote:` block of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.program import AgentKind, AgentSpec, Program

Transport = Literal["stdio", "streamable-http", "memory", "a2a"]

MAX_TIMEOUT_S = 3600.0
"""The largest time limit of a call of a remote playbook."""

_TRANSPORTS: tuple[Transport, ...] = ("stdio", "streamable-http", "memory")
_TYPES = ("mcp", "a2a")
_KEYS = ("type", "transport", "url", "command", "args", "env", "auth", "timeout")
_A2A_KEYS = ("type", "url", "auth", "timeout")
_LONGEST_NAME = 100
_EXAMPLE = "For example: transport: streamable-http and url: https://example.org/mcp."
_A2A_EXAMPLE = "For example: url: https://example.org"
_NO_SECRET = "A program names a secret, the settings know it: auth: WEATHER_TOKEN"

PARTICIPANT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The form of a participant's name in programs and settings."""


class RemoteSpec(Struct, frozen=True):
    """The way to a server of remote playbooks. "stdio" starts `command`, or the Python file `url`, with `args` in
    `directory`, with the variables named in `env`; "streamable-http" calls `url`, with the secret named `secret` in
    `header`; "memory" runs the server of the Python file `url` in this process; "a2a" finds the agent card below `url`.
    `timeout_s` bounds one call, None leaves it to the settings."""

    transport: Transport
    directory: Path
    url: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    secret: str | None = None
    header: str = "Authorization"
    timeout_s: float | None = None

    @property
    def shown(self) -> str:
        """The server's place, for people: "stdio python server.py", "https://example.org/mcp"."""
        return " ".join(("stdio", self.command or self.url, *self.args)) if self.transport == "stdio" else self.url

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of values that only the settings have."""
        return (*self.env, self.secret) if self.secret else self.env


def remote_of(agent: AgentSpec) -> RemoteSpec | None:
    """The server of the agent's playbooks; None for an agent without one."""
    if not agent.kind.on_server:
        return None
    said: Mapping[str, Any] = agent.metadata["remote"]
    auth = said.get("auth")
    named = auth if isinstance(auth, dict) else {"header": "Authorization", "secret": auth}
    return RemoteSpec(
        transport=_transport(said) or "streamable-http",
        directory=Path(agent.span.file).absolute().parent,
        url=str(said.get("url", "")),
        command=str(said.get("command") or ""),
        args=tuple(map(str, said.get("args") or ())),
        env=tuple(map(str, said.get("env") or ())),
        secret=named["secret"],
        header=str(named["header"]),
        timeout_s=None if said.get("timeout") is None else float(said["timeout"]),
    )


def servers_of(programs: Iterable[Program]) -> list[tuple[AgentSpec, RemoteSpec]]:
    """The agents whose playbooks are elsewhere, each with its server."""
    agents = [agent for program in programs for agent in program.agents]
    return [(agent, spec) for agent in agents if (spec := remote_of(agent)) is not None]


def is_tool(program: Program, name: str) -> bool:
    """Whether a call of this name, as in `Weather.forecast`, is one of a tool of a server."""
    agent = program.agent(name.partition(".")[0])
    return agent is not None and remote_of(agent) is not None


def check_remote(said: Mapping[str, Any], lines: Sequence[SourceLine], problems: DiagnosticList) -> None:
    """Note what is wrong with a `remote:` block; its first line is `remote:`."""

    def wrong(key: str, message: str, hint: str = "") -> None:
        line = next((row for row in lines if row.text.strip().startswith(f"{key}:")), lines[0])
        problems.at(line, message, hint=hint)

    keys = _A2A_KEYS if said.get("type") == "a2a" else _KEYS
    for key in said:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            wrong(key, f"`remote` has no `{key}`", f"Did you mean {near[0]}?" if near else f"Known: {', '.join(keys)}.")
    if said.get("type") not in _TYPES:
        what = f"`type` cannot be {said['type']!r}" if said.get("type") else "`remote` needs `type: mcp` or `type: a2a`"
        wrong("type", what, "Expected mcp or a2a." if said.get("type") else "")
    if _transport(said) is None:
        named, hint = said.get("transport"), f"Expected one of {', '.join(_TRANSPORTS)}."
        given_up = "MCP has given up sse; servers that spoke it speak streamable-http now."
        wrong("transport", f"`transport` cannot be {named!r}", given_up if named == "sse" else hint)
        return
    for check in (_check_place, _check_auth, _check_lists):
        check(said, wrong)
    timeout = said.get("timeout")
    if timeout is not None and not _is_time(timeout):
        hint = f"Expected seconds, above 0 and up to {MAX_TIMEOUT_S:.0f}."
        wrong("timeout", f"`timeout` cannot be {timeout!r}", hint)


def _transport(said: Mapping[str, Any]) -> Transport | None:
    if said.get("type") == "a2a":
        return "a2a"
    named = said.get("transport")
    if named is not None:
        return next((known for known in _TRANSPORTS if named == known), None)
    if said.get("command"):
        return "stdio"
    return "memory" if str(said.get("url", "")).startswith("memory:") else "streamable-http"


def _check_place(said: Mapping[str, Any], wrong: Callable[..., None]) -> None:
    transport, url = _transport(said), said.get("url")
    if transport == "stdio":
        if bool(said.get("command")) == bool(url):
            wrong("transport", "stdio needs a `command` or, in `url`, a Python file", "For example: command: uvx")
        elif url and not str(url).endswith(".py"):
            wrong("url", f"`url` cannot be {url!r} with stdio", "Expected a Python file; else use command and args.")
        return
    for key in ("command", "args", "env"):
        if key in said:
            wrong(key, f"`{key}` is for the transport stdio, this is {transport}", _EXAMPLE)
    if transport == "memory":
        if not str(url).startswith("memory://") or ".py" not in str(url):
            wrong("url", f"`url` cannot be {url!r} with memory", "For example: url: memory://./server.py?var=mcp")
        return
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        needed, example = ("a `url`", _A2A_EXAMPLE) if transport == "a2a" else ("a `url` or a `command`", _EXAMPLE)
        wrong("url", f"`url` cannot be {url!r}" if url else f"`remote` needs {needed}", example)
    elif parts.username or parts.password:
        wrong("url", "a secret does not belong in a program's URL", _NO_SECRET)


def _split(url: Any) -> SplitResult | None:
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and len(text) <= _LONGEST_NAME


def _check_auth(said: Mapping[str, Any], wrong: Callable[..., None]) -> None:
    auth = said.get("auth")
    if auth is None:
        return
    if _transport(said) not in ("streamable-http", "a2a"):
        wrong("auth", "`auth` is for the transport streamable-http", "With stdio, name the variable in env.")
        return
    header, secret = (auth.get("header"), auth.get("secret")) if isinstance(auth, dict) else ("Authorization", auth)
    if isinstance(auth, dict) and set(auth) != {"header", "secret"}:
        wrong("auth", "`auth` needs a `header` and a `secret`, and nothing else", _NO_SECRET)
    elif not isinstance(secret, str) or not _is_name(secret):
        wrong("auth", "`auth` is not the name of a secret", _NO_SECRET)
    elif not _is_name(f"_{header}".replace("-", "_")):
        wrong("auth", f"`header` cannot be {header!r}", "For example: header: X-Api-Key")


def _check_lists(said: Mapping[str, Any], wrong: Callable[..., None]) -> None:
    for key in ("args", "env"):
        listed = said.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(one, str | int | float) for one in listed):
            wrong(key, f"`{key}` cannot be {listed!r}", "Expected a list, for example [one, two].")
        elif key == "env" and not all(_is_name(str(name)) for name in listed):
            message = "`env` contains a text that is not the name of a variable"
            wrong(key, message, "Write only names here; the settings have the values.")


def _is_time(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 < value <= MAX_TIMEOUT_S


def participant_of(agent: AgentSpec) -> str | None:
    """The participant's name of an agent; None for one that runs here."""
    return str(agent.metadata.get("participant") or agent.name.lower()) if agent.kind is AgentKind.REMOTE else None


def participants(program: Program) -> dict[str, str]:
    """The names of the participants in other processes, by agent class."""
    found = ((agent.name, participant_of(agent)) for agent in program.agents)
    return {klass: name for klass, name in found if name is not None}
