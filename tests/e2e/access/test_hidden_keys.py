"""The keys of model providers are nowhere in the gateway's process: not in its environment, and not in its memory."""

from __future__ import annotations

import re
from io import FileIO
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.e2e.processes import family
from tests.fakes.models.openai_server import OpenAIServer, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

HELLO_PROGRAM = ROOT / "examples" / "hello.pb"
HELLO = "Hello! What is your name? I would like to know it before we go on."
OURS = "sk-of-our-own-variable-8f2d"
THEIRS = "sk-of-a-providers-variable-41cc"
IN_FILE = "sk-in-the-dotenv-file-77aa"
SAID = b"Hello! What is your name?"
_PIECE = 1 << 20


def known_to(process_id: int, *texts: bytes) -> set[bytes]:
    """Which of the texts are in a process's environment, command or memory."""
    about = Path(f"/proc/{process_id}")
    start = (about / "environ").read_bytes() + (about / "cmdline").read_bytes()
    found = {text for text in texts if text in start}
    with (about / "mem").open("rb", buffering=0) as memory:
        for line in (about / "maps").read_text().splitlines():
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and "[v" not in line:
                found |= {text for text in texts if _is_within(memory, begin, end, text)}
    return found


def _is_within(memory: FileIO, begin: int, end: int, text: bytes) -> bool:
    rest = b""
    memory.seek(begin)
    while begin < end:
        try:
            piece = memory.read(min(_PIECE, end - begin))
        except OSError:
            return False
        if not piece:
            return False
        if text in rest + piece:
            return True
        rest, begin = piece[-len(text) :], begin + len(piece)
    return False


def model_process_of(running: Gateway) -> int:
    (found,) = [one.id for one in family(running.process_id) if "runtime.llm.worker" in one.command]
    return found


async def test_a_key_in_the_environment_is_known_to_the_models_process_alone(tmp_path: Path) -> None:
    keys = [key.encode() for key in (OURS, THEIRS)]
    async with OpenAIServer([Reply(HELLO)]) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": OURS,
            "MISTRAL_API_KEY": THEIRS,
        }
        async with gateway(tmp_path, HELLO_PROGRAM, environment, fresh=True) as running, running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            assert model.headers[0]["authorization"] == f"Bearer {OURS}"
            assert known_to(running.process_id, SAID, *keys) == {SAID}
            assert known_to(model_process_of(running), *keys) == set(keys)
        assert not re.search("|".join([OURS, THEIRS]), running.output)


async def test_a_key_in_the_dotenv_file_is_handed_over_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"PARLEY_MODEL_API_KEY={IN_FILE}\n")
    async with OpenAIServer([Reply(HELLO)]) as model:
        environment = {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model.base_url}
        async with gateway(tmp_path, HELLO_PROGRAM, environment, fresh=True) as running, running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            assert model.headers[0]["authorization"] == f"Bearer {IN_FILE}"
            assert known_to(running.process_id, SAID, IN_FILE.encode()) == {SAID}
