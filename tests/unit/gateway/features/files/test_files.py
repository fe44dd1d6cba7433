"""Files in a conversation: read from people, sent by agents, once each whatever happens."""

import random

import pytest

from runtime.core.address import Address
from runtime.core.errors import NotDelivered
from runtime.core.files import file_id
from runtime.core.message import Attachment
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import Scripted, World, live
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program

READER = program(agent("Reader", llm("Main", "01:QUE Do what is said; YLD for user", begins=True)))
CSV = Attachment("sales.csv", "text/csv", "test:1", 11)
PHOTO = Attachment("cat.png", "image/png", "test:2", 2_000)


class FilesAtHand:
    """Gives the contents it has by url; counts the fetches, keeps what is sent."""

    def __init__(self, **contents: bytes) -> None:
        self.contents = {key.replace("_", ":"): data for key, data in contents.items()}
        self.fetched: list[tuple[str, str]] = []
        self.kept: list[bytes] = []

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        self.fetched.append((address.platform, attachment.url))
        if attachment.url not in self.contents:
            raise NotDelivered(f"{attachment.name} is gone")
        return self.contents[attachment.url]

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        self.kept.append(data)
        return file_id(data, media_type)


def turn(*lines: str) -> Reply:
    return block('await Step("Main:01:QUE")', *lines, 'await Yld("user")')


async def test_the_model_sees_which_files_came_and_reads_one() -> None:
    read = turn('text = await ReadFile("sales.csv")', 'await Say("user", f"It says {text}")')
    model = Model(turn(), read, turn())
    files = FilesAtHand(test_1=b"a,b\n1,2\n3,4")
    async with talking(READER, model, files=files, after="hi") as talk:
        assert await talk.say("Sum this up.", files=[CSV, PHOTO]) == ["It says a,b\n1,2\n3,4"]
        await talk.say("thanks")
    assert (
        "Sum this up.\n[file sales.csv (text/csv, 11 bytes)]\n[image cat.png (image/png, 2,000 bytes)]" in model.told(1)
    )
    assert "Files people sent: file sales.csv (text/csv, 11 bytes); image cat.png" in model.told(2)
    assert files.fetched == [("test", "test:1")]


async def test_a_file_that_began_the_conversation_can_be_read() -> None:
    model = Model(turn('await Say("user", await ReadFile("SALES.csv"))'))
    async with talking(READER, model, files=FilesAtHand(test_1=b"a,b")) as talk:
        assert await talk.say("look", files=[CSV]) == ["a,b"]
    assert "Files people sent: file sales.csv" in model.told(0)


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        (PHOTO, b"\x89PNG", "[cat.png cannot be read: it contains no text. ReadFile reads text files only]"),
        (
            Attachment("a.csv", "text/csv", "test:1"),
            b"PK\x03\x04zip",
            "[a.csv cannot be read: it contains no text. ReadFile reads text files only]",
        ),
        (Attachment("a.csv", "text/csv", "test:9"), b"", "a.csv is gone"),
        (Attachment("b.csv", "text/csv", "test:1"), b"", "nobody sent a file 'a.csv' here; the files are: b.csv"),
    ],
)
async def test_what_cannot_be_read_is_said_to_the_model(file: Attachment, content: bytes, complaint: str) -> None:
    name = "cat.png" if file is PHOTO else "a.csv"
    model = Model(turn(f'await Say("user", await ReadFile("{name}"))'), turn())
    async with talking(READER, model, files=FilesAtHand(test_1=content, test_2=content)) as talk:
        await talk.say("look", files=[file])
    failures = " ".join(str(data) for data in talk.facts("failed", "res"))
    assert complaint in failures


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"Gr\xfc\xdfe", "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"x" * 30, "xxxxxxxxxx\n… (cut: 10 of 30 characters)"),
    ],
)
async def test_text_is_read_in_the_common_encodings_and_cut(content: bytes, text: str) -> None:
    model = Model(turn('await Say("user", await ReadFile("sales.csv", max_chars=10))'))
    async with talking(READER, model, files=FilesAtHand(test_1=content)) as talk:
        assert await talk.say("look", files=[CSV]) == [text]


async def test_pdf_that_is_declared_as_text_is_said_to_be_none_and_the_program_goes_on() -> None:
    code = """
async def Main():
    await WaitForMessage("user")
    await Say("user", await ReadFile("report.txt"))
    await Say("user", "Anything else?")
"""
    main = program(agent("Main", MAIN, code=code))
    report = Attachment("report.txt", "text/plain", "test:1", 9)
    async with talking(main, Model(), files=FilesAtHand(test_1=b"%PDF-1.7 "), after="hi") as talk:
        unread = "[report.txt cannot be read: it contains no text. ReadFile reads text files only]"
        assert await talk.say("look", files=[report]) == [unread, "Anything else?"]


async def test_a_replay_does_not_fetch_again() -> None:
    code = """
@playbook
async def Main():
    text = await ReadFile("sales.csv")
    await Say("user", text)
    await WaitForMessage("user")
    await Say("user", text + "!")
"""
    source = program(agent("Reader", MAIN, code=code))
    world, files = World(()), FilesAtHand(test_1=b"a,b")
    async with talking(source, Model(), world=world, files=files) as talk:
        assert await talk.say("look", files=[CSV]) == ["a,b"]
    async with talking(source, Model(), world=world, files=files) as talk:
        assert await talk.say("go on") == ["a,b!"]
    assert len(files.fetched) == 1


async def test_a_file_is_sent_once_with_its_text() -> None:
    model = Model(turn('await SendFile("../out/result.csv", "a,b", "Here it is.")', 'await Say("user", "Done.")'))
    files = FilesAtHand()
    async with talking(READER, model, files=files) as talk:
        assert await talk.say("go") == ["Here it is.", "Done."]
        (page,) = [data for data in talk.facts("page") if isinstance(data, dict) and data.get("file")]
    assert page["file"] == ["result.csv", "text/csv", f"file:{file_id(b'a,b', 'text/csv')}", 3]
    assert files.kept == [b"a,b"]
    assert [spec.file.name for spec in talk.world.specs if spec.file] == ["result.csv"]


class DeadlyFiles(FilesAtHand):
    """The process may die right before and right after it keeps a content."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        self._world.point()
        kept = await super().keep(data, media_type, address)
        self._world.point()
        return kept


@pytest.mark.parametrize("mind", ["python", "model"])
async def test_a_file_is_sent_once_whenever_the_process_dies(mind: str, sandbox: MontySandbox) -> None:
    lines = ('await SendFile("result.csv", "a,b", "Here it is.")', 'await Say("user", "Done.")')
    code = "async def Main():\n    " + "\n    ".join([*lines, "await EndProgram()"])
    in_python = program(agent("Main", MAIN, code=code))
    in_words = program(agent("Main", llm("Main", "01:QUE Send it", "02:YLD for exit", begins=True)))
    turns = (('await Step("Main:01:QUE")', *lines, 'await Step("Main:02:YLD")', 'await Yld("exit")'),)

    async def run(*, crashes: tuple[int, ...], seed: int) -> World:
        world = World(["go"], crashes=crashes, seed=seed)
        world.files = DeadlyFiles(world)
        await live(world, in_python if mind == "python" else in_words, Scripted(turns, random.Random(seed)), sandbox)
        return world

    def check(world: World) -> None:
        assert [(shown.text, shown.spec.file is not None) for shown in world.chat if shown.spec is not None] == [
            ("Here it is.", True),
            ("Done.", False),
        ]

    assert await dying_at_each_point(run, check) > 0.8
