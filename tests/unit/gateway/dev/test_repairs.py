"""`parley check --fix` mends settings and permissions, and leaves everything else as it is."""

import stat
import subprocess
from pathlib import Path

import pytest

from gateway.dev.repairs import repairs
from gateway.settings.tree import load
from tests.e2e.gateway_process import ROOT
from tests.e2e.warm_starts import parley_command

pytestmark = pytest.mark.usefixtures("warm_starts")


def mended(folder: Path, toml: str) -> list[str]:
    """What was done about a folder with these settings."""
    file = folder / "parley.toml"
    file.write_text(toml)
    found = repairs(folder, file)
    for one in found:
        one.do()
    assert repairs(folder, file) == []
    return [one.how for one in found]


def test_a_misspelt_setting_is_renamed_in_its_line(tmp_path: Path) -> None:
    done = mended(tmp_path, "# mine\nlanguag = 'en' # said\n\n[web]\nprot = 1234\nhost = 'localhost'\n")
    assert done == ['it is renamed to "language"', 'it is renamed to "web.port"']
    assert (tmp_path / "parley.toml").read_text() == (
        "# mine\nlanguage = 'en' # said\n\n[web]\nport = 1234\nhost = 'localhost'\n"
    )
    assert load(directory=tmp_path, environment={}).web.port == 1234


def test_a_secret_moves_to_a_file_that_its_owner_alone_can_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=b")
    (tmp_path / ".env").chmod(0o600)
    mended(tmp_path, '[telegram]\ntoken = "12:ab"\n\n[web]\npassword = "two words"\n')
    assert (tmp_path / ".env").read_text() == "A=b\nPARLEY_TELEGRAM__TOKEN=12:ab\nPARLEY_WEB__PASSWORD='two words'\n"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    settings = load(directory=tmp_path, environment={})
    assert settings.telegram.token is not None
    assert settings.telegram.token.get_secret_value() == "12:ab"
    assert settings.web.password is not None
    assert settings.web.password.get_secret_value() == "two words"


def test_secrets_that_others_can_read_are_closed_and_left_out_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=b\n")
    (tmp_path / ".env").chmod(0o644)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build")
    mended(tmp_path, "")
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert (tmp_path / ".gitignore").read_text() == "build\n.env\n"


@pytest.mark.parametrize(
    "toml",
    [
        "nonsense = 1\n",
        "[models]\nbig = 'x'\n[access.groups]\nfriends = []\n",
        "[clients.door]\ntokn = 1\n",
        "[[route]]\nprogram = 'a.pb'\nchanel = 'x'\n",
        "this is no TOML\n",
    ],
)
def test_what_is_not_sure_is_left_alone(toml: str, tmp_path: Path) -> None:
    assert mended(tmp_path, toml) == []
    assert (tmp_path / "parley.toml").read_text() == toml


def test_the_command_says_what_it_would_mend_and_mends_it_when_asked(tmp_path: Path) -> None:
    def checked(*options: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
        command = parley_command(["check", *options], environment)
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
        )

    (tmp_path / "parley.toml").write_text("[web]\nprot = 1234\n")
    asked = checked()
    assert asked.returncode == 2
    assert '✗ parley.toml:2: there is no setting "web.prot". With --fix it is renamed to "web.port".' in asked.stdout
    mends = checked("--fix")
    assert '✓ parley.toml:2: there is no setting "web.prot": it is renamed to "web.port".' in mends.stdout
    assert "web.port=1234" in mends.stdout
