"""The places of tasks in the settings."""

import pytest

from gateway.features.tasks.settings import TaskSettings
from runtime.core.address import Address
from runtime.core.errors import ConfigError

PLATFORMS = ("web", "chat")


def test_places_are_addresses_by_name() -> None:
    own = TaskSettings(places={"team": "chat:-100", "lobby": "web:lobby", "topic": "chat:T1:C2#77"})
    assert own.addresses(PLATFORMS) == {
        "team": Address("chat", "-100"),
        "lobby": Address("web", "lobby"),
        "topic": Address("chat", "T1:C2", "77"),
    }


@pytest.mark.parametrize(
    ("name", "place", "why"),
    [
        ("team", "-100", "is not a place; expected <platform>:<id of the conversation>, with one of web, chat"),
        ("team", "chat:", "is not a place"),
        ("team", "task:4f0c", "is not a place"),
        ("team", "client:ci", "is not a place"),
        ("caller", "chat:-100", '"caller" has a meaning already'),
        ("nobody", "chat:-100", '"nobody" has a meaning already'),
    ],
)
def test_what_is_no_place_is_refused_in_words(name: str, place: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        TaskSettings(places={name: place}).addresses(PLATFORMS)
