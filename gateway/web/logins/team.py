"""A team: people who came by a link, their names, and the devices on which they are logged in.

All of it is one table, whose texts are changed together, so a kill leaves no link used without a person, and no name
taken by nobody. Secrets are stored as digests.

    link:<digest>     an invitation; its outcome stays until it would have ended
    name:<likeness>   whose name it is, also one of earlier
    person:<id>       names and log-ins of a person
    login:<digest>    a device
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct, field

from adapters.records import ChangedTogether, readable
from adapters.web.codec import WebVisitor
from gateway.access.people import KnownPeople, Role, role_named
from gateway.web.identity import ReservedNames, clean_name, likeness
from runtime.core.clock import Clock, aware
from runtime.core.ids import digest_of

TEAM_TABLE = "web:team"

LOGIN_LASTS_S = 180 * 86_400
"""The time after which a device has to log in again."""

_INVITATION_LASTS_S = 3 * 86_400
_DEVICE_LINK_LASTS_S = 15 * 60

MAX_LOGINS = 20
"""The devices of one person; the one that logged in the longest ago is logged out for another."""

MAX_NAMES = 5
"""The names that one person can have had."""

MAX_LINKS = 200
MAX_DEVICE_LINKS = 5
"""The links for further devices of one person that wait; the first ones are forgotten."""
"""The links that can wait to be followed."""

_Changes = dict[str, tuple[str | None, str | None]]

_USED = "This link has been used already. Ask for a new one."
_TAKEN = "{name} is somebody's name here, or looks like one. Choose another."


class NotAdmitted(Exception):
    """Somebody cannot come in, or cannot do it; the text says why, for the person."""


class _TeamInvitation(Struct, frozen=True):
    """A link that waits to be followed. `person` is the one whose further device it lets in, None for somebody new."""

    role: Role
    invited_by: str
    person: WebVisitor | None = None


class _LoggedIn(Struct, frozen=True):
    """A person on a new device; `secret` is what the device shows from now on."""

    person: WebVisitor
    secret: str


async def _unheard(_person_id: str) -> None:
    """Nobody else has pages of the person."""


class LoginTeam(Struct, frozen=True):
    """Raises StorageUnavailable, and NotAdmitted where it says so. `owners` are ids without "web:". `news` hears the id
    of a person whose log-ins ended."""

    _records: ChangedTogether
    _people: KnownPeople
    _clock: Clock
    _reserved: ReservedNames = field(default_factory=ReservedNames)
    owners: frozenset[str] = frozenset()
    news: Callable[[str], Awaitable[None]] = _unheard

    # Links

    async def invite(self, role: Role, invited_by: str, *, lasts_s: float = _INVITATION_LASTS_S) -> str:
        """A link for somebody new; the secret in it. Raises NotAdmitted when too many wait."""
        return await self._link({"role": role.word, "by": invited_by}, lasts_s)

    async def invite_device(self, person: WebVisitor, invited_by: str, *, lasts_s: float = _DEVICE_LINK_LASTS_S) -> str:
        """A link for a further device of a person; the secret in it. Raises NotAdmitted when too many wait."""
        return await self._link({"person": person.id, "by": invited_by}, lasts_s)

    async def invitation(self, secret: str) -> _TeamInvitation:
        """The link with this secret. Raises NotAdmitted when it is not one, or is used, or has ended."""
        link = await self._open_link(secret)
        whose = None if "person" not in link else await self._known(link["person"])
        role = role_named(link.get("role", "")) or Role.GUEST
        return _TeamInvitation(role, link["by"], whose)

    async def join(self, secret: str, name: str, attempt: str) -> _LoggedIn:
        """Follow a link under a name, or, where it is for a further device, as the person whose it is.

        `attempt` is a secret that the browser makes: whoever has it can repeat what was not answered. Raises
        NotAdmitted.
        """
        key = f"link:{digest_of(secret)}"
        kept = await self._records.get(key)
        used = readable(key, kept, _read_link)
        if kept is not None and used is not None and used.get("attempt") == digest_of(attempt):
            return await self._again(key, kept, used)
        link = await self._open_link(secret)
        id_ = link.get("person") or f"web:{secrets.token_urlsafe(9)}"
        changes: _Changes = {}
        if "person" in link:
            person = await self._known(id_)
            login = await self._log_in(id_, changes)
        else:
            person = WebVisitor(id_, self._checked(name))
            login = await self._newcomer(person, link["role"], changes)
        used = {**link, "attempt": digest_of(attempt), "used_by": id_, "login": digest_of(login)}
        if not await self._records.change({**changes, key: (kept, json.dumps(used))}):
            await self._open_link(secret)
            raise NotAdmitted(_TAKEN.format(name=person.name))
        await self._settle(id_)
        return _LoggedIn(person, login)

    # People

    async def find(self, login: str | None) -> WebVisitor | None:
        """The person of a log-in; None where there is none, it has ended, or the person is not admitted any more."""
        return await self.person_of(digest_of(login)) if login else None

    async def person_of(self, login: str) -> WebVisitor | None:
        """As `find`, by what a log-in is known by: a digest, from which its secret cannot be had."""
        name = f"login:{login}"
        data = readable(name, await self._records.get(name), _read_login)
        if data is None or aware(data["ends_at"]) <= self._clock.now():
            return None
        await self._settle(data["person"])
        if await self.role(data["person"]) <= Role.BLOCKED:
            return None
        return await self._person(data["person"])

    async def knows(self, person_id: str) -> bool:
        """Whether somebody came by a link, admitted still or not."""
        return await self._person(person_id) is not None

    async def role(self, person_id: str) -> Role:
        """The role of somebody in the team; BLOCKED for anybody else."""
        if person_id.removeprefix("web:") in self.owners:
            return Role.OWNER
        known = await self._people.find(person_id)
        return Role.BLOCKED if known is None else known.role

    async def rename(self, person: WebVisitor, name: str) -> WebVisitor:
        """Give a person another name; the ones before stay theirs. Raises NotAdmitted."""
        renamed, key = WebVisitor(person.id, self._checked(name)), f"person:{person.id}"
        kept = await self._records.get(key)
        data = readable(key, kept, _read_person)
        if data is None:
            raise NotAdmitted("You are not in this team any more.")
        changes: _Changes = {}
        claim = name_field(renamed.name)
        owner = await self._records.get(claim)
        if owner is None:
            if len(data["names"]) >= MAX_NAMES:
                raise NotAdmitted(f"You have had {MAX_NAMES} names already. Choose one of them: {_listed(data)}.")
            changes[claim] = (None, person.id)
        elif owner != person.id:
            raise NotAdmitted(_TAKEN.format(name=renamed.name))
        names = [each for each in data["names"] if name_field(each) != claim]
        changes[key] = (kept, json.dumps({**data, "names": [*names, renamed.name]}))
        if not await self._records.change(changes):
            raise NotAdmitted(_TAKEN.format(name=renamed.name))
        await self._people.rename(person.id, renamed.name)
        return renamed

    async def log_out(self, login: str) -> None:
        """End one log-in, on all the pages of its device."""
        key = f"login:{digest_of(login)}"
        kept = await self._records.get(key)
        await self._records.remove(key)
        if (data := readable(key, kept, _read_login)) is not None:
            await self.news(data["person"])

    async def log_out_everywhere(self, person_id: str) -> None:
        """End all log-ins of a person, and the links for further devices."""
        for name, link in (await self._waiting_links()).items():
            if link.get("person") == person_id:
                await self._records.remove(name)
        _, data = await self._kept(person_id)
        for login in data["logins"] if data is not None else ():
            await self._records.remove(f"login:{login}")
        await self.news(person_id)

    # How it is done

    async def _link(self, about: Mapping[str, str], lasts_s: float) -> str:
        """Raises NotAdmitted when too many links wait. Of those for a person's devices the first ones end."""
        waiting = await self._waiting_links()
        if len(waiting) >= MAX_LINKS:
            raise NotAdmitted(f"{MAX_LINKS} links wait to be followed. Wait until some have ended.")
        own = [name for name, link in waiting.items() if "person" in about and link.get("person") == about["person"]]
        for name in own[: max(0, len(own) - MAX_DEVICE_LINKS + 1)]:
            await self._records.remove(name)
        secret, now = secrets.token_urlsafe(24), self._clock.now()
        text = json.dumps({**about, "ends_at": (now + timedelta(seconds=lasts_s)).isoformat()})
        await self._records.put(f"link:{digest_of(secret)}", text)
        return secret

    async def _waiting_links(self) -> dict[str, dict[str, str]]:
        """The links that can be followed, by the names of their records, those that end first at the front.

        Ended ones are forgotten.
        """
        waiting: dict[str, dict[str, str]] = {}
        for name, text in (await self._records.all()).items():
            if name.startswith("link:"):
                link = readable(name, text, _read_link)
                if link is None or aware(link["ends_at"]) <= self._clock.now():
                    await self._records.remove(name)
                elif "attempt" not in link:
                    waiting[name] = link
        return dict(sorted(waiting.items(), key=lambda one: aware(one[1]["ends_at"])))

    async def _open_link(self, secret: str) -> dict[str, str]:
        name = f"link:{digest_of(secret)}"
        link = readable(name, await self._records.get(name), _read_link)
        if link is None:
            raise NotAdmitted("This link is not known, or it has ended. Ask for a new one.")
        if aware(link["ends_at"]) <= self._clock.now():
            raise NotAdmitted("This link has ended. Ask for a new one.")
        if "attempt" in link:
            raise NotAdmitted(_USED)
        return link

    async def _again(self, key: str, kept: str, used: Mapping[str, str]) -> _LoggedIn:
        """Log in who followed a link and did not get the answer, in place of the log-in that was in it."""
        if aware(used["ends_at"]) <= self._clock.now():
            raise NotAdmitted("This link has ended. Ask for a new one.")
        await self._settle(used["used_by"])
        if await self.role(used["used_by"]) <= Role.BLOCKED:
            raise NotAdmitted("You are not in this team any more.")
        unheard = f"login:{used.get('login')}"
        before = await self._records.get(unheard)
        if before is None:
            raise NotAdmitted(_USED)
        changes: _Changes = {unheard: (before, None)}
        person = await self._known(used["used_by"])
        login = await self._log_in(person.id, changes)
        changes[key] = (kept, json.dumps({**used, "login": digest_of(login)}))
        if not await self._records.change(changes):
            raise NotAdmitted("Two devices log in at this moment. Try again.")
        return _LoggedIn(person, login)

    async def _newcomer(self, person: WebVisitor, role: str, changes: _Changes) -> str:
        claim = name_field(person.name)
        if await self._records.get(claim) is not None:
            raise NotAdmitted(_TAKEN.format(name=person.name))
        changes[claim] = (None, person.id)
        login = self._new_login(person.id, changes)
        data = {"names": [person.name], "logins": [digest_of(login)], "role": role}
        changes[f"person:{person.id}"] = (None, json.dumps(data))
        return login

    async def _log_in(self, person_id: str, changes: _Changes) -> str:
        """Add a device of a person; the one that logged in the longest ago goes when there is one too many."""
        kept, data = await self._kept(person_id)
        assert data is not None
        login = self._new_login(person_id, changes)
        living: list[str] = []
        for each in data["logins"]:
            text = await self._records.get(f"login:{each}")
            if text is None:
                continue
            living.append(each)
        for oldest in living[: max(0, len(living) - MAX_LOGINS + 1)]:
            changes[f"login:{oldest}"] = (await self._records.get(f"login:{oldest}"), None)
            living.remove(oldest)
        changes[f"person:{person_id}"] = (kept, json.dumps({**data, "logins": [*living, digest_of(login)]}))
        return login

    def _new_login(self, person_id: str, changes: _Changes) -> str:
        login = secrets.token_urlsafe(32)
        ends_at = self._clock.now() + timedelta(seconds=LOGIN_LASTS_S)
        changes[f"login:{digest_of(login)}"] = (
            None,
            json.dumps({"person": person_id, "ends_at": ends_at.isoformat()}),
        )
        return login

    async def _settle(self, person_id: str) -> None:
        """Give a newcomer the role of the link, once: what an owner says afterwards holds."""
        kept, data = await self._kept(person_id)
        role = None if data is None else role_named(data.pop("role", ""))
        if role is None or data is None:
            return
        if await self._people.find(person_id) is None:
            await self._people.set(person_id, role, data["names"][-1])
        await self._records.change({f"person:{person_id}": (kept, json.dumps(data))})

    async def _kept(self, person_id: str) -> tuple[str | None, dict[str, Any] | None]:
        """What is kept of a person, as it stands there and read; None for nobody, and for what cannot be read."""
        key = f"person:{person_id}"
        kept = await self._records.get(key)
        return kept, readable(key, kept, _read_person)

    async def _person(self, person_id: str) -> WebVisitor | None:
        _, data = await self._kept(person_id)
        return None if data is None else WebVisitor(person_id, data["names"][-1])

    async def _known(self, person_id: str) -> WebVisitor:
        person = await self._person(person_id)
        if person is None:
            raise NotAdmitted("This link is for somebody who is not in this team.")
        return person

    def _checked(self, name: str) -> str:
        cleaned = clean_name(name)
        if not cleaned:
            raise NotAdmitted("A name needs at least one visible character.")
        if cleaned in self._reserved:
            raise NotAdmitted(f"{cleaned} is the name of an agent here, or looks like one. Choose another.")
        return cleaned


def _read_link(text: str) -> dict[str, str]:
    link = json.loads(text)
    aware(link["ends_at"])
    return {key: str(value) for key, value in link.items()}


def _read_login(text: str) -> dict[str, str]:
    login = json.loads(text)
    aware(login["ends_at"])
    return {"person": str(login["person"]), "ends_at": login["ends_at"]}


def _read_person(text: str) -> dict[str, Any]:
    data = json.loads(text)
    names, logins = [str(name) for name in data["names"]], [str(login) for login in data["logins"]]
    if not names:
        raise ValueError("somebody without a name")
    return {**data, "names": names, "logins": logins}


def name_field(name: str) -> str:
    """The field by which a name belongs to somebody: names that look alike have the same."""
    return f"name:{likeness(name) or '=' + name.casefold()}"


def _listed(data: Mapping[str, Any]) -> str:
    return ", ".join(data["names"])
