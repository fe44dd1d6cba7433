"""What the image and compose.yaml promise about who may do what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.dev.folder import TEMPLATES, WantedFolder, files_of
from gateway.settings.tree import load

ROOT = Path(__file__).parents[2]


FOLDER = files_of(WantedFolder(TEMPLATES[0]), Path("/srv/shop"))["compose.yaml"]
COMPOSE: Mapping[str, dict[str, Any]] = {
    "compose.yaml": yaml.safe_load((ROOT / "compose.yaml").read_text()),
    "parley new": yaml.safe_load(FOLDER),
}
SERVICE_KEYS = {
    *("build", "cap_drop", "command", "depends_on", "env_file", "environment", "healthcheck", "image", "mem_limit"),
    *("pids_limit", "ports", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs", "user", "volumes"),
    "working_dir",
}
"""Keys of the Compose specification that are used here."""
DURATION = re.compile(r"\d+(?:ms|s|m|h)")
SIZE = re.compile(r"\d+[bkmg]")


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = COMPOSE["compose.yaml"]["services"]
    return found


def image_variables() -> dict[str, str]:
    return dict(re.findall(r"(PARLEY_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))


@pytest.mark.parametrize("file", COMPOSE)
@pytest.mark.parametrize("name", sorted(services()))
def test_a_container_has_no_rights_that_it_does_not_need(file: str, name: str) -> None:
    service = COMPOSE[file]["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"]
    assert service["mem_limit"]


@pytest.mark.parametrize("file", COMPOSE)
def test_a_compose_file_names_only_what_it_declares(file: str) -> None:
    """In place of `docker compose config`, which wants an engine's client: names, times, sizes, and no unknown keys."""
    told = COMPOSE[file]
    assert told.keys() == {"services", "volumes"}
    for service in told["services"].values():
        assert service.keys() <= SERVICE_KEYS
        assert ("image" in service) != ("build" in service)
        named = {source for source in (mount.split(":")[0] for mount in service["volumes"]) if source[0] not in "./"}
        assert named <= told["volumes"].keys()
        for other, wanted in service.get("depends_on", {}).items():
            assert wanted == {"condition": "service_healthy"}
            assert told["services"][other]["healthcheck"]["test"][0] == "CMD"
        checked = service.get("healthcheck", {"interval": "1s", "timeout": "1s"})
        times = [checked["interval"], checked["timeout"], service.get("stop_grace_period", "1s")]
        assert all(DURATION.fullmatch(time) for time in times)
        assert SIZE.fullmatch(service["mem_limit"])
        assert all(isinstance(value, str) for value in service.get("environment", {}).values()), (
            "YAML reads true as a bool"
        )


def test_compose_publishes_on_this_machine_only_and_answers_to_its_names(tmp_path: Path) -> None:
    gateway = services()["gateway"]
    assert all(port.startswith("127.0.0.1:") for port in gateway["ports"])
    given = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in gateway["environment"].items()}
    settings = load(environment={**image_variables(), **given}, directory=tmp_path)
    assert settings.web.public_hosts == ("localhost",)


def test_the_jails_program_can_be_started_where_nothing_else_can_be_written() -> None:
    (mount,) = services()["gateway"]["tmpfs"]
    assert mount.startswith("/tmp:")
    assert "exec" in mount.split(","), "Docker mounts tmpfs without the right to execute unless told"


def test_the_image_alone_asks_for_a_password_and_requires_a_jail(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"there is no password\. Set PARLEY_WEB__PASSWORD"):
        load(environment=image_variables(), directory=tmp_path)
    settings = load(environment={**image_variables(), "PARLEY_WEB__PASSWORD": "sesame"}, directory=tmp_path)
    assert settings.web.public_hosts == ("localhost",)
    assert settings.sandbox.jail == "required"
