"""The evals on a model behind a server: what it costs is counted, and what was run is kept when the rest is cut off."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
from anyio.abc import Process

from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.unit.evals.test_run import CLERK, TALK, table

ROOT = Path(__file__).parents[3]
TOKENS = (120, 3, 0)


async def started(folder: Path, server: OpenAIServer, *arguments: str) -> Process:
    """`python -m evals` on the model of a server, in `folder`."""
    (folder / "01-clerk.pb").write_text(CLERK, encoding="utf-8")
    (folder / "01-clerk.toml").write_text(TALK, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    return await anyio.open_process(
        [sys.executable, "-m", "evals", "--programs", str(folder), "--url", server.base_url, *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "PARLEY_MODEL_API_KEY": "very-secret"},
        stderr=subprocess.STDOUT,
    )


async def printed(process: Process) -> str:
    """Everything that a process prints, when it has ended."""
    assert process.stdout is not None
    text = b"".join([piece async for piece in process.stdout])
    await process.wait()
    return text.decode()


async def test_calls_tokens_and_times_are_in_the_table_and_every_run_is_in_a_file(tmp_path: Path) -> None:
    async with OpenAIServer([Reply("Never stop.", usage=TOKENS), Reply("Always stop.", usage=TOKENS)]) as server:
        with anyio.fail_after(120):
            process = await started(tmp_path, server, "--times", "2")
            text = await printed(process)
    assert process.returncode == 0, text
    columns, row = table(text)
    named = dict(zip(columns, row, strict=True))
    assert (named["right"], named["calls"], named["tokens in"], named["tokens out"]) == ("1/2", "1", "120", "3")
    assert 0 <= float(named["first s"]) <= float(named["s"])
    assert "01-clerk: nobody said /never stop/" in text
    [file] = (tmp_path / ".parley" / "evals").glob("openai-local-*.jsonl")
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2
    assert str(file.relative_to(tmp_path)) in text


async def test_what_was_run_before_ctrl_c_is_printed_and_kept_and_gone_on_with(tmp_path: Path) -> None:
    asked = ("--times", "3", "--results", str(tmp_path / "runs.jsonl"))
    replies = [Reply("Never stop."), Reply("Never stop."), Reply(hold_before=True)]
    async with OpenAIServer(replies) as server:
        with anyio.fail_after(120):
            process = await started(tmp_path, server, *asked)
            await server.until(lambda: server.held == 1)
            process.send_signal(signal.SIGINT)
            text = await printed(process)
        assert process.returncode == 130, text
        assert table(text)[1][:2] == ["01-clerk", "2/2"]
        server.add(Reply("Never stop."))
        with anyio.fail_after(120):
            process = await started(tmp_path, server, *asked)
            text = await printed(process)
        assert process.returncode == 0, text
        assert table(text)[1][:2] == ["01-clerk", "3/3"]
        assert len(server.requests) == 4


async def test_a_model_that_does_not_answer_costs_no_more_than_the_limit_of_its_run(tmp_path: Path) -> None:
    async with OpenAIServer([Reply(hold_before=True)]) as server:
        with anyio.fail_after(120):
            process = await started(tmp_path, server, "--limit-s", "1")
            text = await printed(process)
    assert process.returncode == 0, text
    assert table(text)[1][:3] == ["01-clerk", "0/1", "1"]
    assert "01-clerk: too long: it took more than 1 s" in text
