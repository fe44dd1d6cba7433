"""Which program serves which place."""

from pathlib import Path
from typing import Any

import pytest

from gateway.inbound.commands import COMMANDS
from gateway.inbound.routing import Routes, build_routes, only
from gateway.settings.execution import RouteSettings, read_routes
from runtime.core.errors import ConfigError
from tests.unit.gateway.inbound.arrivals import event

PLATFORMS = ("web", "telegram", "slack", "discord")


def read(tmp_path: Path, *rows: dict[str, Any]) -> list[RouteSettings]:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.pb").write_text(f"# {name.upper()}\n")
    return read_routes(list(rows), place="parley.toml", directory=tmp_path)


def table(tmp_path: Path, *rows: dict[str, Any]) -> Routes:
    return build_routes(read(tmp_path, *rows), platforms=PLATFORMS, reserved=COMMANDS)


def test_the_first_route_whose_conditions_all_hold_serves(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": "a.pb", "platform": "slack", "workspace": "T1", "channel": ["T1:C1", "T1:C2"]},
        {"program": "b.pb", "platform": ["slack", "discord"]},
        {"program": "c.pb"},
    )
    assert routes.program(event(platform="slack", space="T1", chat="T1:C2")) == "a"
    assert routes.program(event(platform="slack", space="T1", chat="T1:C3")) == "b"
    assert routes.program(event(platform="slack", space="T2", chat="T1:C2")) == "b"
    assert routes.program(event(platform="discord")) == "b"
    assert routes.program(event(platform="telegram")) == "c"


def test_who_opens_the_bot_on_a_platform_is_served_by_the_first_route_that_asks_for_no_place(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": "a.pb", "platform": "slack", "channel": "T1:C1"},
        {"program": "b.pb", "platform": ["slack", "discord"]},
        {"program": "c.pb", "command": "tax"},
    )
    assert [routes.first_on(platform) for platform in PLATFORMS] == [None, None, "b", "b"]


def test_a_guild_is_a_space_a_chat_a_channel_and_threads_are_told_apart(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": "a.pb", "guild": 77, "chat": -5, "thread": "9"},
        {"program": "b.pb", "guild": "77"},
    )
    assert routes.program(event(space="77", chat="-5", thread="9")) == "a"
    assert routes.program(event(space="77", chat="-5", thread="8")) == "b"
    assert routes.program(event(space="78", chat="-5", thread="9")) is None


def test_a_command_begins_its_program_and_nothing_else_does(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": "a.pb", "command": ["tax", "vat"], "platform": "slack"},
        {"program": "b.pb", "command": "tax"},
        {"program": "c.pb"},
    )
    assert routes.program(event(command="vat", platform="slack")) == "a"
    assert routes.program(event(command="tax", platform="telegram")) == "b"
    assert routes.program(event(command="vat", platform="telegram")) is None
    assert routes.program(event(platform="slack")) == "c"
    assert routes.program(event(command="new", platform="slack")) == "c"
    assert routes.commands == {"tax": "a", "vat": "a"}


def test_what_may_be_chosen_depends_on_the_place_and_not_on_the_order(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": "a.pb"},
        {"program": "b.pb", "choose": True},
        {"program": "c.pb", "choose": True, "platform": "slack"},
    )
    assert routes.choices(event()) == ["b"]
    assert routes.choices(event(platform="slack")) == ["b", "c"]
    assert routes.program(event(platform="slack")) == "a"


def test_names_and_files_of_programs(tmp_path: Path) -> None:
    routes = table(
        tmp_path,
        {"program": ["a.pb", "b.pb"], "name": "ab", "platform": "web", "busy": "steer"},
        {"program": "c.pb"},
    )
    assert routes.files == {"ab": (tmp_path / "a.pb", tmp_path / "b.pb"), "c": (tmp_path / "c.pb",)}
    assert routes.busy == {"ab": "steer"}
    assert routes.single is None
    assert routes.lines()[0].startswith("platform web → ab (")


def test_programs_of_the_command_line_are_one_program_for_everybody() -> None:
    routes = only([Path("x/hello.pb"), Path("y.pb")])
    assert routes.single == routes.program(event()) == "hello"
    assert routes.choices(event()) == []


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"program": "a.pb", "platfrom": "slack"}, r'\[\[route\]\] 1: .* key "platfrom"; did you mean "platform"\?'),
        ({"platform": "slack"}, r"\[\[route\]\] 1: it names no program"),
        ({"program": []}, r"\[\[route\]\] 1: program is "),
        ({"program": "a.pb", "choose": "perhaps"}, r'\[\[route\]\] 1: choose is "perhaps"'),
        ({"program": "a.pb", "busy": "ignore"}, r'\[\[route\]\] 1: busy is "ignore"'),
        ({"program": "a.pb", "name": "a b"}, r'\[\[route\]\] 1: name is "a b"'),
        ({"program": "nowhere.pb"}, r"\[\[route\]\] 1 \(nowhere\.pb\): there is no file .*nowhere\.pb; "),
        ({"program": "a.pb", "platform": "slak"}, r'no platform "slak"; did you mean "slack"\?'),
        ({"program": "a.pb", "command": "stop"}, 'the command "stop" is Parley\'s own'),
        ({"program": "a.pb", "command": "/tax"}, '"/tax" cannot be a command'),
    ],
)
def test_a_wrong_route_is_refused_with_its_number_and_advice(tmp_path: Path, row: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        table(tmp_path, row)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"platform": "slack"}),
        ({}, {}),
        ({"platform": ["slack", "web"]}, {"platform": "slack", "channel": "T1:C1"}),
        ({"command": ["tax", "vat"]}, {"command": "tax"}),
    ],
)
def test_a_route_that_can_never_serve_is_refused(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"\[\[route\]\] 2 \(b\.pb\): it can never serve, because \[\[route\]\] 1"):
        table(tmp_path, {"program": "a.pb", **first}, {"program": "b.pb", **second})


def test_two_programs_need_two_names_and_one_program_one_policy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='"a" is the name of another program'):
        table(tmp_path, {"program": "a.pb", "platform": "web"}, {"program": "b.pb", "name": "a"})
    with pytest.raises(ConfigError, match='"a" has busy = "steer"'):
        table(tmp_path, {"program": "a.pb", "platform": "web", "busy": "steer"}, {"program": "a.pb", "busy": "queue"})


@pytest.mark.parametrize("value", ["a.pb", 3, ["a.pb"], {"program": "a.pb"}])
def test_anything_but_tables_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(ConfigError, match=r"write each as \[\[route\]\]"):
        read_routes(value, place="parley.toml", directory=tmp_path)
