"""What the image and compose.yaml promise about who may do what."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings.tree import load

ROOT = Path(__file__).parents[2]


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    return found


def image_variables() -> dict[str, str]:
    return dict(re.findall(r"(PARLEY_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))


@pytest.mark.parametrize("name", sorted(services()))
def test_a_container_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"]
    assert service["mem_limit"]


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
