"""The ways to start a task's process: what they keep it away from, and what they say where they cannot be had."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.isolation.agent.main import read_handover
from gateway.isolation.handover import HANDOVER, Handover, Manner, ProgramHandover
from gateway.isolation.launch import process
from gateway.isolation.launch.launcher import PYTHON, Launcher, Started
from gateway.isolation.launch.podman import PodmanLauncher
from gateway.isolation.launch.process import ProcessLauncher, confinement_of
from gateway.isolation.launch.systemd import SystemdLauncher
from gateway.settings.programs.isolation import IsolationSettings, PodmanSettings, SystemdSettings
from runtime.core.errors import ConfigError
from runtime.core.texts import english

pytestmark = pytest.mark.anyio

NOWHERE = {"PATH": "/nowhere"}
TOKEN = "the-token-of-the-task"
OWN = IsolationSettings(memory_mib=512, podman=PodmanSettings(image="parley:1", options=("--cpus=1",)))

MANNER = Manner(
    texts=english().templates,
    language="en",
    idle_s=30.0,
    transcript_chars=1,
    questions_alone=False,
    models={"default": "m"},
    model_answer_s=1.0,
    limits=(3, 8, 600.0, 0, 0.0),
    places={"team": ["telegram", "-100", None]},
    seen=True,
    statement_s=2.0,
    statement_bytes=1,
    jail_required=False,
    log_level="info",
)
HANDED = Handover(
    "http://127.0.0.1:8420",
    TOKEN,
    "task:t",
    4,
    7,
    ProgramHandover("p", "…", "", "queue"),
    MANNER,
    confinement_of(OWN),
)


def test_a_handover_is_read_as_it_was_written_and_shows_no_token() -> None:
    assert read_handover(json.dumps(HANDOVER.write(HANDED)).encode()) == HANDED
    assert TOKEN not in repr(HANDED)


def test_a_unit_has_a_user_limits_and_no_rights_and_is_ended_as_a_whole(tmp_path: Path) -> None:
    launcher = SystemdLauncher(OWN, NOWHERE, tmp_path)
    command = launcher.command("t-7", PYTHON)
    assert command[:3] == ["systemd-run", "--quiet", "--pipe"]
    assert "--unit=parley-task-t-7.service" in command
    for wanted in (
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        f"MemoryMax={512 * 1024 * 1024}",
    ):
        assert f"--property={wanted}" in command
    assert command[command.index("--") + 1 :] == list(PYTHON)
    assert launcher.stop("t-7") == ["systemctl", "kill", "--signal=SIGKILL", "parley-task-t-7.service"]
    own = IsolationSettings(systemd=SystemdSettings(user=True, properties=("CPUQuota=50%",)))
    command = SystemdLauncher(own, NOWHERE, tmp_path).command("t-7", PYTHON)
    assert command[:2] == ["systemd-run", "--user"]
    assert "--property=DynamicUser=yes" not in command
    assert "--property=PrivateUsers=yes" in command
    assert "--property=CPUQuota=50%" in command


def test_a_container_sees_no_file_and_one_port(tmp_path: Path) -> None:
    command = PodmanLauncher(OWN, NOWHERE, tmp_path).command("t-7", 8420, ("parley", "agent"))
    assert command[:3] == ["podman", "run", "--rm"]
    assert {"--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--memory=512m"} <= set(command)
    assert "--network=pasta:-t,none,-u,none,-U,none,-T,8420" in command
    assert not [word for word in command if word.startswith(("--volume", "-v", "--mount"))]
    assert command[-4:] == ["--cpus=1", "--entrypoint=parley", "parley:1", "agent"]


async def test_over_slirp4netns_a_container_finds_the_gateway_at_its_address_and_by_its_name(tmp_path: Path) -> None:
    handed = tmp_path / "handed"
    running(tmp_path / "podman", f'printf "%s " "$@" > {tmp_path}/command; head -n 1 > {handed}')
    own = OWN.model_copy(update={"podman": PodmanSettings(image="parley:1", network="slirp4netns")})
    launched = await PodmanLauncher(own, {"PATH": f"{tmp_path}:/usr/bin:/bin"}, tmp_path).start("t-7", HANDED)
    assert await launched.ended() == 0
    await launched.kill()
    got = read_handover(handed.read_bytes())
    assert (got.url, got.host) == ("http://10.0.2.2:8420", "127.0.0.1:8420")
    assert "--network=slirp4netns:allow_host_loopback=true" in (tmp_path / "command").read_text()


@pytest.mark.parametrize("kind", [SystemdLauncher, PodmanLauncher])
async def test_what_is_not_installed_is_an_error_at_start(
    kind: type[SystemdLauncher] | type[PodmanLauncher], tmp_path: Path
) -> None:
    launcher: Launcher = kind(OWN, NOWHERE, tmp_path)
    with pytest.raises(ConfigError, match=r"which cannot be had here: \S+ is not installed"):
        await launcher.check()


@pytest.mark.parametrize(("kind", "name"), [(SystemdLauncher, "systemd-run"), (PodmanLauncher, "podman")])
async def test_what_does_not_work_is_an_error_at_start_with_its_last_words(
    kind: type[SystemdLauncher] | type[PodmanLauncher], name: str, tmp_path: Path
) -> None:
    failing(tmp_path / name)
    launcher: Launcher = kind(OWN, {"PATH": f"{tmp_path}:/usr/bin:/bin"}, tmp_path)
    with pytest.raises(ConfigError, match="cannot be had here: there is no bus"):
        await launcher.check()


async def test_a_machine_without_the_jail_is_an_error_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = (sys.executable, "-I", "-S", "-c", "raise OSError('Landlock of version 3 cannot do it')")
    monkeypatch.setattr(process, "TRIED", without)
    with pytest.raises(ConfigError, match=r'wants "process", which cannot be had here: .*version 3 cannot do it'):
        await ProcessLauncher(OWN, {"PATH": "/usr/bin"}, tmp_path).check()


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def failing(script: Path) -> None:
    running(script, "echo first >&2\necho there is no bus >&2\nexit 1")


def running(script: Path, lines: str) -> None:
    script.write_text(f"#!/bin/sh\n{lines}\n")
    script.chmod(0o700)


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def seen_by_all(process_id: int) -> str:
    """What other users' processes may see of one."""
    place = Path("/proc", str(process_id))
    return (place / "cmdline").read_text() + (place / "environ").read_text()


async def test_a_process_ends_with_our_end_of_its_input_and_leaves_nothing(tmp_path: Path) -> None:
    stopped, folders = tmp_path / "stopped", folder(tmp_path / "folders")
    code = "import sys; open('mine', 'w').write(sys.stdin.readline()); sys.stdin.read()"
    command = [sys.executable, "-I", "-c", code]
    started = await Started.of(command, {}, folders, HANDED, stop=["touch", str(stopped)])
    assert TOKEN not in seen_by_all(started.process_id)
    await started.kill()
    assert await started.ended() == -9
    assert names_in(tmp_path) == ["folders", "stopped"]
    assert names_in(folders) == []


def test_an_agent_of_another_version_says_so() -> None:
    line = json.dumps(HANDOVER.write(replace(HANDED, version="0.0"))).encode()
    with pytest.raises(SystemExit, match=r"its gateway is 0\.0\. Both must have the same version"):
        read_handover(line)


def test_an_isolation_is_never_weakened_by_an_order() -> None:
    own = IsolationSettings(default="inline", on_request=("podman",), programs={"p": "process"})
    assert [own.of("p", asked) for asked in ("", "inline", "podman")] == ["process"] * 3
    assert [own.of("q", asked) for asked in ("", "inline", "podman", "a jar")] == [
        "inline",
        "inline",
        "podman",
        "inline",
    ]
    assert own.kinds == {"process", "podman"}
    assert own.refusal("q", "podman") is None
    assert own.refusal("p", "inline") == "isolation is one of process for tasks of p."
    assert own.refusal("q", "systemd") == "isolation is one of inline, podman for tasks of q."


def test_settings_that_name_nothing_are_refused() -> None:
    for own, text in (
        (IsolationSettings(on_request=("a jar",)), 'there is no "a jar"'),
        (IsolationSettings(programs={"q": "process"}), 'there is no program "q"; there are: p'),
        (IsolationSettings(default="podman"), "podman.image is not set"),
    ):
        with pytest.raises(ConfigError, match=text):
            own.check(["p"])
