"""What goes wrong from outside: people are told in one sentence, nothing is lost or doubled, and it goes on."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from tests.e2e.bad_models import ALL, BAD, MAX_SHOWN_CHARS, Suffered, suffer
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley
from tests.e2e.processes import valkey_of
from tests.e2e.talks import Talk, TelegramTalk, WebTalk, until, until_begun
from tests.fakes.pages.page_socket import PageSocket
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
AWAY_MS = 11_000
STORY_BEGINS, STORY_ENDS = "Once there was a", "told it once."


@dataclass(frozen=True)
class House:
    """A gateway with a web chat and a bot."""

    running: Gateway
    platform: TelegramPlatform


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[House]:
    """The teller, for everybody on the web and on Telegram."""
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = {
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
        }
        async with gateway(tmp_path_factory.mktemp("house"), TELLER, environment) as running:
            yield House(running, platform)


@pytest.fixture(scope="module")
async def suffered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Suffered]:
    """What people saw of each bad model, all told in one go."""
    return await suffer(tmp_path_factory.mktemp("bad-models"))


PLACES_AND_RULES = re.compile(r"Traceback|JSON|\b\d\d(?:\.\d\d)*:[A-Z]{3}\b|\"|\n")
"""What a person is not told of: places in the program, and the forms of answers."""


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if not bad.told and name != "endless-words"])
async def test_people_see_the_right_thing_of_a_model_that_answers_in_another_form(
    suffered: dict[str, Suffered], name: str
) -> None:
    one = suffered[name]
    assert one.problem == ""
    assert one.before == ALL


async def test_words_without_an_end_are_cut_off_and_the_conversation_goes_on(suffered: dict[str, Suffered]) -> None:
    one = suffered["endless-words"]
    assert one.problem == ""
    endless = [text for text in one.before if text.startswith("on and on")]
    assert 0 < sum(map(len, endless)) <= MAX_SHOWN_CHARS
    assert one.before == [*endless, *ALL[1:]]


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if bad.told])
async def test_people_are_told_of_a_bad_model_in_one_sentence_and_the_conversation_goes_on(
    suffered: dict[str, Suffered], name: str
) -> None:
    one = suffered[name]
    assert one.problem == ""
    *said, told = one.before
    assert all(any(right.startswith(text.removesuffix(" ⏹")) for right in ALL) for text in said)
    assert re.match(BAD[name].told, told)
    assert not PLACES_AND_RULES.search(told)
    assert one.after[-1] == ALL[1]


async def test_a_question_is_asked_three_times_and_a_request_that_fails_has_its_retries(
    suffered: dict[str, Suffered],
) -> None:
    asked = {name: one.asked.count(BAD[name].at or "say") for name, one in suffered.items() if BAD[name].told}
    together_then_alone = {"says-nothing": 4}
    assert asked == dict.fromkeys(asked, 3) | together_then_alone | {"refuses-key": 1, "fails": 5}


async def test_a_broken_program_is_shown_with_its_line(tmp_path: Path) -> None:
    program = tmp_path / "broken.pb"
    program.write_text("# Greeter\nGreets.\n\n## Main(\n### Steps\n- Greet the user\n")
    code, output, errors = await parley(tmp_path, "run", str(program))
    assert code == 2
    assert output == ""
    first, line, caret = errors.splitlines()[:3]
    assert first.startswith(f"{program}:4:8: error: ")
    assert line.strip() == "4 | ## Main("
    assert line[caret.index("^")] == "("


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nofile.pb"], "nofile.pb:1:1: error: no such file"),
        (["run", "--role", "standby", "nofile.pb"], "nofile.pb:1:1: error: no such file"),
        (["run", "--role", "bus", "nofile.pb"], "nofile.pb:1:1: error: no such file"),
        (["run", "broken.pb"], "broken.pb:4:8: error: "),
        (["run", "--config", "bad.toml"], "bad.toml: "),
        (["run", str(TELLER), "--port", "{taken}"], "cannot listen on 127.0.0.1 port {taken}"),
        (["run", "--role", "standby", str(TELLER), "--port", "{taken}"], "cannot listen on 127.0.0.1 port {taken}"),
        (["run", "--role", "tape", "--port", "{taken}"], "cannot listen on 127.0.0.1 port {taken}"),
    ],
)
async def test_what_is_wrong_is_said_before_a_database_begins(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "broken.pb").write_text("# Greeter\nGreets.\n\n## Main(\n### Steps\n- Greet the user\n")
    (tmp_path / "bad.toml").write_text("web = [\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = str(listener.getsockname()[1])
        code, output, errors = await parley(tmp_path, *(word.replace("{taken}", taken) for word in words))
    assert (code, output) == (2, "")
    assert said.replace("{taken}", taken) in errors
    assert not (tmp_path / "valkey.log").exists()


async def test_a_second_gateway_on_the_same_directory_is_refused(house: House) -> None:
    code, _, errors = await parley(house.running.data_dir, "run", str(TELLER))
    assert code == 2
    assert "in use by another gateway" in errors
    assert str(house.running.process_id) in errors


async def test_a_message_of_300_kilobytes_is_refused_and_the_next_one_answered(house: House) -> None:
    async with house.running.page() as page:
        room = await greeted(page, "much")
        huge = await room.say("x" * 300_000)
        refused = await page.until("refused", id=huge)
        assert refused["code"] == "too_long"
        assert "300,000" in refused["text"]
        await room.say("less")
        await room.until(HELLO, "You said: less")


async def test_a_message_that_no_agent_may_be_given_is_refused_with_its_limit(house: House) -> None:
    async with house.running.page() as page:
        room = await greeted(page, "more")
        refused = await page.until("refused", id=await room.say("x" * 40_000))
        assert refused["text"] == "This message has 40,000 characters; 32,000 is the most. Shorten or split it."
        await room.say("less")
        await room.until(HELLO, "You said: less")


async def greeted(page: PageSocket, name: str) -> Room:
    """A room in which the conversation has begun."""
    room = Room(page, name)
    await room.open()
    await room.say("hi")
    await room.until(HELLO)
    return room


async def take_away(house: House, how: str) -> None:
    """Kill the store, or have it answer nobody for so long that all leases lapse."""
    if how == "killed":
        os.kill(valkey_of(house.running.process_id), signal.SIGKILL)
        return
    async with await anyio.connect_unix(house.running.data_dir / "valkey.sock") as connection:
        await connection.send(f"CLIENT PAUSE {AWAY_MS} ALL\r\n".encode())
        assert await connection.receive() == b"+OK\r\n"


@pytest.mark.parametrize("how", ["silent", "killed"])
async def test_valkey_goes_away_and_nothing_is_lost_or_doubled(house: House, how: str) -> None:
    """One conversation on each chat is told a story meanwhile, and to another one something is said."""
    number = 400 if how == "silent" else 500
    growing: list[Talk] = [WebTalk(f"growing-{how}"), TelegramTalk(house.platform, chat=number)]
    writing: list[Talk] = [WebTalk(f"writing-{how}"), TelegramTalk(house.platform, chat=number + 1)]
    running = house.running
    lost, back = (len(re.findall(f'"storage.{word}"', running.output)) for word in ("lost", "back"))
    async with AsyncExitStack() as stack:
        for talk in (*growing, *writing):
            await talk.look(running, stack)
            await talk.say("hi")
            await until(talk, HELLO)
        for talk in growing:
            await talk.say("story")
            await until_begun(talk, STORY_BEGINS)
        await take_away(house, how)
        for talk in writing:
            await talk.say("are you there?")
        await running.prints('"storage.lost"', times=lost + 1)
        await running.prints('"storage.back"', times=back + 1)
        for talk in writing:
            await until(talk, HELLO, "You said: are you there?")
        for talk in growing:
            await talk.until_that(lambda told=talk: told.texts()[-1].endswith(STORY_ENDS))  # type: ignore[misc]
            await talk.say("thanks")
            await talk.until_that(lambda told=talk: told.texts()[2:] == ["You said: thanks"])  # type: ignore[misc]
