"""What the files in deploy/ promise: processes apart, by commands and settings that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main
import yaml

from gateway.cli.commands import app

ROOT = Path(__file__).parents[2]
UNITS = {path.name: path.read_text() for path in sorted((ROOT / "deploy/systemd").iterdir())}
CONTAINERS = {path.name: path.read_text() for path in sorted((ROOT / "deploy/quadlet").glob("*.container"))}
COMPOSE: Mapping[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
OWN = {name: service for name, service in COMPOSE["services"].items() if "build" in service}


def commands() -> dict[str, list[str]]:
    """What each file starts, as the words behind `parley`."""
    found = {name: shlex.split(_value(text, "ExecStart"))[1:] for name, text in UNITS.items()}
    found |= {name: shlex.split(_value(text, "Exec")) for name, text in CONTAINERS.items()}
    return found | {f"compose.yaml {name}": service["command"] for name, service in OWN.items()}


def _value(text: str, key: str) -> str:
    (value,) = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    return str(value)


@pytest.mark.parametrize("file", commands())
def test_what_a_file_starts_is_a_command_with_options_that_there_are(file: str) -> None:
    words = [word.replace("%i", "8431") for word in commands()[file]]
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    command = group.commands[words[0]]
    context = command.make_context(words[0], words[1:])
    context.close()
    assert context.params["config"] is None


@pytest.mark.parametrize("files", [UNITS, CONTAINERS, OWN], ids=["systemd", "quadlet", "compose"])
def test_each_way_starts_a_front_agents_the_bus_and_the_tapes(files: Mapping[str, Any]) -> None:
    started = [words for name, words in commands().items() if name.removeprefix("compose.yaml ") in files]
    assert {" ".join(words[:3]) for words in started} == {
        *("run --role front", "run --role agents", "run --role bus", "run --role tape")
    }


def test_only_agents_are_given_the_file_with_the_keys_of_models() -> None:
    given = {name: Path(_value(text, "EnvironmentFile")).name for name, text in (UNITS | CONTAINERS).items()}
    given |= {name: service["env_file"][0] for name, service in OWN.items()}
    assert given == {name: "agents.env" if "agents" in name else "front.env" for name in given}


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_limits_and_writes_only_its_own_state(name: str) -> None:
    text = UNITS[name]
    assert _value(text, "ProtectSystem") == "strict"
    assert _value(text, "NoNewPrivileges") == "true"
    assert _value(text, "Environment") == f"PARLEY_DATA_DIR=%S/{_value(text, 'StateDirectory')}"
    assert _value(text, "MemoryMax")
    assert (_value(text, "User") == "parley-agents") == ("agents" in name)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_of_podman_writes_only_its_own_state_and_is_published_here_alone(name: str) -> None:
    text = CONTAINERS[name]
    assert [_value(text, key) for key in ("ReadOnly", "DropCapability", "NoNewPrivileges")] == ["true", "ALL", "true"]
    assert all(port.startswith("127.0.0.1:") for port in re.findall(r"^PublishPort=(.*)$", text, re.MULTILINE))
    volumes = {path.name for path in (ROOT / "deploy/quadlet").glob("*.volume")}
    named = [volume.split(":")[0] for volume in re.findall(r"^Volume=(.*)$", text, re.MULTILINE)]
    assert {one for one in named if one.endswith(".volume")} <= volumes


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_of_compose_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = COMPOSE["services"][name]
    assert [service["read_only"], service["cap_drop"]] == [True, ["ALL"]]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"]
    assert service["mem_limit"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    named = {mount.split(":")[0] for mount in service["volumes"] if mount[0] not in "./"}
    assert named <= COMPOSE["volumes"].keys()
