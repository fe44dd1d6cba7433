"""`parley check` where everything is in place: a model, a platform, the embedded database and the sandbox."""

import subprocess
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import environment_of, key_in
from tests.e2e.warm_starts import parley_command
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = pytest.mark.usefixtures("warm_starts")


async def _check(directory: Path, **variables: str) -> tuple[int, dict[str, str], str]:
    """Exit code, the mark of each line, and everything printed."""
    environment = environment_of(directory / "data", {"HOME": str(directory), **variables})
    command = parley_command(["check"], environment)
    with anyio.fail_after(60):
        done = await anyio.run_process(command, cwd=directory, env=environment, check=False, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    return done.returncode, {line.split()[1]: line.split()[0] for line in text.splitlines() if line.strip()}, text


async def test_everything_in_place_is_exit_code_0(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with OpenAIServer([Reply("yes")]) as model, serving(platform) as address:
        code, marks, text = await _check(
            tmp_path,
            PARLEY_MODEL="small",
            PARLEY_MODEL_BASE_URL=model.base_url,
            PARLEY_MODEL_API_KEY="very-secret",
            PARLEY_TELEGRAM__TOKEN=platform.token,
            PARLEY_TELEGRAM__BASE_URL=f"{address}/bot",
        )
    assert code == 0, text
    assert {name: marks[name] for name in ("settings", "model", "valkey", "telegram", "sandbox")} == dict.fromkeys(
        ("settings", "model", "valkey", "telegram", "sandbox"), "✓"
    )
    assert text.startswith("✓ Ready.\n")
    assert "embedded Valkey" in text
    assert "very-secret" not in text
    assert platform.token not in text


async def test_refused_token_is_exit_code_1(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with OpenAIServer([Reply("yes")]) as model, serving(platform) as address:
        code, marks, text = await _check(
            tmp_path,
            PARLEY_MODEL="small",
            PARLEY_MODEL_BASE_URL=model.base_url,
            PARLEY_TELEGRAM__TOKEN="1:not-the-token",
            PARLEY_TELEGRAM__BASE_URL=f"{address}/bot",
        )
    assert code == 1, text
    assert (marks["model"], marks["telegram"]) == ("✓", "✗")
    assert "1:not-the-token" not in text


PROGRAM = "# Shop\n\n## Main\ncli_entry: true\n- Set $limits to [1, 500]\n- Return $limits\n"


@pytest.mark.parametrize(
    ("reads", "questions", "asked"), [("true", "auto", 1), ("false", "auto", 0), ("true", "alone", 0)]
)
async def test_what_a_second_reader_names_in_a_program_is_a_warning_and_no_failure(
    tmp_path: Path, reads: str, questions: str, asked: int
) -> None:
    (tmp_path / "shop.pb").write_text(PROGRAM)
    async with OpenAIServer([Reply("L1: one number, 1500")]) as model:
        environment = environment_of(
            tmp_path / "data",
            {
                "PARLEY_MODEL": "small",
                "PARLEY_MODEL_BASE_URL": model.base_url,
                "PARLEY_PROGRAMS__SECOND_READER": reads,
                "PARLEY_EXECUTION__QUESTIONS": questions,
                **key_in(tmp_path),
            },
        )
        command = parley_command(["check", "shop.pb"], environment)
        with anyio.fail_after(60):
            done = await anyio.run_process(command, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0
    said = done.stdout.decode()
    assert ("shop.pb:5:3: warning: a second reader understands this line otherwise" in said) is bool(asked)
    assert len(model.requests) == asked
