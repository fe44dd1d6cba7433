"""The settings' tables of publishers: the events that programs may publish, and the programs that begin on them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import field_validator

from gateway.clients.scopes import Scopes, scopes_from
from gateway.settings.forms import Section, Words


class PublisherSettings(Section):
    """One `[publishers.<program>]`: patterns of the types of events that the program may publish, and the programs that
    may begin on them, `*` for any part of a name."""

    types: Words = ()
    begins: Words = ()

    @field_validator("types")
    @classmethod
    def _are_patterns(cls, types: tuple[str, ...]) -> tuple[str, ...]:
        scopes_from(f"events:write:{pattern}" for pattern in types)
        return types


def publisher_scopes(publishers: Mapping[str, PublisherSettings]) -> dict[str, Scopes]:
    """What each program may publish, and begin by it."""
    return {name: Scopes(events_write=each.types, triggers=each.begins) for name, each in publishers.items()}
