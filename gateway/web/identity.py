"""The identity of a person at a page: a name of their choice, in a cookie signed by the gateway. Names of agents and of
Parley, and similar ones, are not for people.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer

from adapters.web.codec import WebVisitor
from gateway.whole_files import replace_file
from runtime.core.clock import Clock
from runtime.language.program import AgentKind, Program

COOKIE = "parley_person"
COOKIE_LASTS_S = 365 * 24 * 3600
MAX_NAME = 40
"""The longest name of a person, in code points."""

_LEAST_SECRET_CHARS = 32

_OURS = ("Parley",)

_LOOK_LIKE = str.maketrans(
    {
        # Cyrillic and Greek letters that look like Latin ones, and signs that pass for letters, in small letters
        **dict(zip("авекмнорстухіјѕԁԛԝһѵгё", "abekmhopctyxijsdqwhvre", strict=True)),
        **dict(zip("αβεζηικνορτυχω", "abezhiknoptyxw", strict=True)),
        **dict(zip("013457$@|", "oleasts" + "al", strict=True)),
        **dict(zip("ıłøđħƅɡɩ", "ilodhbgi", strict=True)),
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
    }
)


def persistent_secret(file: Path) -> str:
    """The key that signs cookies: read from `file`, or made and kept there, readable by us only.

    The file has all of it or does not exist: who knows half a key can make cookies. One without a whole key, which a
    full disk or a kill has left, is written anew.
    """
    with suppress(FileNotFoundError):
        kept = file.read_text().strip()
        if len(kept) >= _LEAST_SECRET_CHARS:
            return kept
    secret = secrets.token_urlsafe(32)
    replace_file(file, f"{secret}\n".encode(), mode=0o600)
    return secret


def clean_name(name: str) -> str:
    """A name without invisible characters, at most 40 long; empty if none are left."""
    visible = "".join(char for char in " ".join(name.split()) if char.isprintable())
    return visible[:MAX_NAME].strip()


class WebIdentities:
    """Makes and reads the cookies. A new password makes all earlier cookies void."""

    def __init__(self, secret: str, password: str | None, clock: Clock) -> None:
        self._clock = clock
        self._password = password
        salt = hashlib.sha256((password or "").encode()).hexdigest()
        self._serializer = URLSafeTimedSerializer(secret, salt=f"parley.person.{salt}")

    @property
    def need_password(self) -> bool:
        return bool(self._password)

    def admits(self, password: str) -> bool:
        """Whether the password is right; always when there is none."""
        return not self._password or hmac.compare_digest(
            password.encode(errors="surrogatepass"), self._password.encode(errors="surrogatepass")
        )

    def cookie(self, person: WebVisitor) -> str:
        return str(self._serializer.dumps({"id": person.id, "name": person.name}))

    def person(self, cookie: str | None) -> WebVisitor | None:
        """The person of the cookie; None when it is missing, not ours, or a year old.

        A cookie from the future is accepted: the clock was moved back, or another node's is ahead.
        """
        if not cookie:
            return None
        try:
            loaded: Any = self._serializer.loads(cookie, return_timestamp=True)
        except BadData:
            return None
        data, signed_at = loaded
        if self._clock.now() - signed_at > timedelta(seconds=COOKIE_LASTS_S):
            return None
        return WebVisitor(data["id"], data["name"])

    @staticmethod
    def newcomer(name: str) -> WebVisitor:
        return WebVisitor(f"web:{secrets.token_urlsafe(9)}", name)


def likeness(name: str) -> str:
    """The form that names share if people confuse them: letters without case, accents and signs."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_LOOK_LIKE)
    plain = "".join(char for char in unicodedata.normalize("NFKD", letters) if char.isalnum())
    return plain.replace("i", "l").replace("rn", "m").replace("vv", "w")


class ReservedNames:
    def __init__(self, agents: Iterable[str] = ()) -> None:
        self._likenesses = {likeness(name) for name in (*_OURS, *agents)} - {""}

    def __contains__(self, name: str) -> bool:
        return likeness(name) in self._likenesses


def names_of_agents(programs: Iterable[Program]) -> set[str]:
    """The names of all agents of these programs that are no people."""
    return {agent.name for program in programs for agent in program.agents if agent.kind is not AgentKind.HUMAN}
