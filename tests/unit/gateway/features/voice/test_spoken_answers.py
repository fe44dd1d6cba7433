"""Answers are spoken for who wants it: beside their text, once, whatever happens."""

import random

import anyio
from msgspec.structs import replace

from gateway.features.voice.speech import VOICE_TYPE
from runtime.core.files import FILE_URL, file_id
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import Scripted, World, live
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.fakes.servers.listening import ScriptedSpeaker
from tests.unit.gateway.features.files.test_files import DeadlyFiles, FilesAtHand
from tests.unit.gateway.features.files.test_received_files import CLERK
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.programs import MAIN, agent, program

ADA = "test:Ada"


def notes(world: World) -> list[str]:
    """What every voice note that people have says, and who sends it."""
    shown = [shown for shown in world.chat if shown.spec is not None and shown.spec.file is not None]
    assert all(one.text == "" and one.spec and one.spec.file for one in shown)
    return [f"{one.speaker}: {one.spec.file.url}" for one in shown if one.spec and one.spec.file]


def spoken(*texts: str, by: str = "Clerk") -> list[str]:
    return [f"{by}: {FILE_URL}{file_id(f'spoken: {text}'.encode(), VOICE_TYPE)}" for text in texts]


async def told(talk: Talk, text: str) -> list[str]:
    """What is shown for what is said, once it is spoken too."""
    shown = await talk.say(text)
    await talk.world.idle.wait()
    return shown


async def test_who_wants_it_gets_a_voice_note_behind_the_text() -> None:
    model, speaker = Model(Reply("Hello **Ada**."), Reply("Fine.")), ScriptedSpeaker(ADA)
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        assert await told(talk, "hi") == ["Hello **Ada**.", ""]
        assert notes(talk.world) == spoken("Hello Ada.")
        speaker.wants[ADA] = False
        assert await told(talk, "and now?") == ["Fine."]


async def test_nobody_else_has_to_listen() -> None:
    model, speaker = Model(Reply("Hello."), Reply("Hello all.")), ScriptedSpeaker(ADA)
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        assert await talk.say("hi", name="Bob") == ["Hello."]
        assert await talk.say("hi", private=False) == ["Hello all."]
    assert speaker.spoke == []


async def test_a_program_speaks_to_all_who_have_not_said_otherwise() -> None:
    model, speaker = Model(Reply("Hello."), Reply("Hello all."), Reply("Good.")), ScriptedSpeaker()
    loud = replace(CLERK, metadata={**CLERK.metadata, "voice": True})
    async with talking(loud, model, speaker=speaker, files=FilesAtHand()) as talk:
        await told(talk, "hi")
        await talk.say("hi", private=False)
        speaker.wants[ADA] = False
        await told(talk, "quiet, please")
    assert speaker.spoke == ["Hello.", "Hello all."]


async def test_a_table_alone_is_not_spoken_and_a_long_answer_is_cut() -> None:
    model = Model(Reply("| a | b |\n|---|---|\n| 1 | 2 |"), Reply("One two. Three four."))
    speaker = ScriptedSpeaker(ADA, max_chars=12)
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        assert len(await told(talk, "hi")) == 1
        await told(talk, "go on")
    assert speaker.spoke == ["One two."]


async def test_a_service_that_fails_is_said_once_until_it_speaks_again() -> None:
    model = Model(*(Reply(f"Answer {number}.") for number in range(5)))
    speaker = ScriptedSpeaker(ADA, fails=2)
    sorry = "I cannot speak at the moment, so I only write my answers."
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        assert await told(talk, "0") == ["Answer 0.", sorry]
        assert await told(talk, "1") == ["Answer 1."]
        assert await told(talk, "2") == ["Answer 2.", ""]


async def test_speaking_keeps_nobody_waiting() -> None:
    gate = anyio.Event()
    model, speaker = Model(Reply("One."), Reply("Two.")), ScriptedSpeaker(ADA, gate=gate)
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        talk.post("hi")
        await talk.until(lambda: talk.chat == ["One."])
        talk.post("and?")
        await talk.until(lambda: talk.chat == ["One.", "Two."])
        gate.set()
        await talk.until(lambda: len(talk.chat) == 4)
    assert speaker.spoke == ["One.", "Two."]


async def test_undo_takes_back_what_is_not_spoken_yet() -> None:
    gate = anyio.Event()
    model, speaker = Model(Reply("One."), Reply("Two.")), ScriptedSpeaker(ADA, gate=gate)
    async with talking(CLERK, model, speaker=speaker, files=FilesAtHand()) as talk:
        talk.post("hi")
        await talk.until(lambda: talk.chat == ["One."])
        talk.post("more")
        await talk.until(lambda: "Two." in talk.chat)
        talk.post("", kind="undo")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
    assert speaker.spoke == ["One."]
    assert notes(talk.world) == []


async def test_an_answer_is_spoken_once_whenever_the_process_dies(sandbox: MontySandbox) -> None:
    code = """
async def Main():
    await Say("user", "Good morning.")
    said = await Ask("And you?", None)
    await Say("user", f"Goodbye, {said}.")
    await EndProgram()
"""
    main = program(agent("Main", MAIN, code=code))

    async def run(*, crashes: tuple[int, ...], seed: int) -> World:
        world = World(["go", "well"], crashes=crashes, seed=seed)
        world.files = DeadlyFiles(world)
        speaker = ScriptedSpeaker("test:1", point=world.point)
        await live(world, main, Scripted((), random.Random(seed)), sandbox, speaker=speaker)
        return world

    def check(world: World) -> None:
        assert [shown.text for shown in world.chat if shown.text] == ["Good morning.", "And you?", "Goodbye, well."]
        assert notes(world) == spoken("Good morning.", "And you?", "Goodbye, well.", by="Main")

    assert await dying_at_each_point(run, check) > 0.8
