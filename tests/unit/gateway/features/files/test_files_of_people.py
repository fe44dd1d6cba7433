"""Files in programs: variables that name them, what is on them in words, their bytes in Python, and files sent back."""

from pathlib import Path

from runtime.core.files import file_id
from runtime.core.message import Attachment
from runtime.language.program import Program
from runtime.llm.client import VisionRecord
from tests.fakes.files_and_voices import Kept
from tests.fakes.people.talk import Model, Reply, talking
from tests.fakes.platforms.file_intake import ScriptedIntake
from tests.unit.gateway.features.files.test_received_files import PHOTO, PLAN, seen, words
from tests.unit.runtime.sessions.programs import MAIN, agent, compiled, program

IN_PYTHON = """
# Clerk
Reads receipts.

```python
@playbook(triggers=["When program starts"])
async def Main():
    photo = await Ask("A photo?")
    await Say("user", f"{await Size(photo)} {await Head(photo)}")
    try:
        await Size("no file")
    except PlaybookError as error:
        await Say("user", str(error))
    await EndProgram()

@playbook
async def Size(photo: bytes) -> int:
    return len(photo)

@playbook
def Head(photo: bytes) -> str:
    return photo[:5].decode()
```
"""


def in_python(*lines: str) -> Program:
    """A program whose Main does this and then ends."""
    code = "\n    ".join(["async def Main():", *lines, "await EndProgram()"])
    return program(agent("Main", MAIN, code=code))


async def steps(*lines: str) -> Program:
    text = "\n".join(f"- {line}" for line in lines)
    return await compiled(
        f"# Clerk\nReads receipts.\n\n## Desk\n### Triggers\n- When program starts\n### Steps\n{text}\n"
    )


async def test_a_variable_of_the_type_image_takes_the_picture_without_a_model_and_shows_it_in_later_questions() -> None:
    desk = await steps(
        "Ask the user for $photo:image", "Set $amount:float to the amount on $photo", "Tell the user the $amount"
    )
    model = Model(Reply("A photo, please."), Reply("42.5"), Reply("It is 42.5."))
    async with talking(desk, model, intake=ScriptedIntake(pictures=["receipt.jpg"]), after="hi") as talk:
        assert (await talk.say("", files=[PHOTO]))[0] == "It is 42.5."
    assert "receipt.jpg (file:" in model.told(1)
    assert [what for _, what in seen(model.asked[1])] == ["receipt.jpg"]


async def test_words_are_no_picture_and_are_asked_about_again() -> None:
    desk = await steps("Ask the user for $photo:image", "Tell the user that all is well")
    model = Model(Reply("A photo, please."), Reply("null"), Reply("I need the photo."), Reply("All is well."))
    async with talking(desk, model, intake=ScriptedIntake(pictures=["receipt.jpg"]), after="hi") as talk:
        assert await talk.say("which one?") == ["I need the photo."]
        assert (await talk.say("", files=[PHOTO]))[0] == "All is well."


async def test_a_program_has_a_picture_described_and_a_document_asked_about() -> None:
    main = in_python(
        'photo = await Ask("A photo?")',
        'await Say("user", await Describe(photo))',
        'plan = await Ask("The plan?")',
        'await Say("user", await Describe("plan.md", "Where to?"))',
    )
    model = Model(Reply("A receipt over 42.50"), Reply("North"))
    intake = ScriptedIntake(pictures=["receipt.jpg"], texts={"plan.md": "Go north."})
    async with talking(main, model, intake=intake) as talk:
        assert await talk.say("hi") == ["A photo?"]
        assert await talk.say("", files=[PHOTO]) == ["A receipt over 42.50", "The plan?"]
        assert await talk.say("", files=[PLAN]) == ["North"]
    assert [what for _, what in seen(model.asked[0])] == ["receipt.jpg"]
    assert "Where to? It is about plan.md.\n\nGo north." in words(model.asked[1])


async def test_where_nobody_sees_a_description_is_refused_with_the_setting_that_helps() -> None:
    main = in_python('photo = await Ask("A photo?")', 'await Say("user", await Describe(photo))')
    intake = ScriptedIntake(pictures=["receipt.jpg"])
    async with talking(main, Model(), intake=intake, sight=VisionRecord(said=False), after="hi") as talk:
        (failure,) = await talk.say("", files=[PHOTO])
    assert "receipt.jpg cannot be described: no model here sees pictures; models.vision sets one" in failure


BY_PATH = (
    IN_PYTHON.replace("photo: bytes", "photo: Path")
    .replace("len(photo)", "photo.stat().st_size")
    .replace("photo[:5].decode()", "f'{photo.read_bytes()[:5].decode()} {photo.suffix} {photo}'")
    .replace("```python\n", "```python\nfrom pathlib import Path\n\n")
)


def is_there(path: str) -> bool:
    return Path(path).exists() or Path(path).parent.exists()


async def test_a_playbook_in_python_gets_a_path_at_which_a_file_lies_while_it_runs() -> None:
    main = await compiled(BY_PATH)
    async with talking(main, Model(), intake=ScriptedIntake(pictures=["../../re ceipt.jpg"]), after="hi") as talk:
        said, refused = await talk.say("", files=[Attachment("../../re ceipt.jpg", "image/jpeg", PHOTO.url)])
    size, begins, ending, path = said.split()
    assert (int(size) > 5, len(begins) <= 5, ending) == (True, True, ".jpg")
    assert not is_there(path)
    assert "Size takes photo as a file that somebody sent, not 'no file'" in refused


async def test_a_playbook_in_python_gets_the_bytes_of_a_file() -> None:
    main = await compiled(IN_PYTHON)
    async with talking(main, Model(), intake=ScriptedIntake(pictures=["receipt.jpg"]), after="hi") as talk:
        said = await talk.say("", files=[PHOTO])
    assert said == [f"{len('whole receipt.jpg')} whole", "Size takes photo as a file that somebody sent, not 'no file'"]


async def test_the_text_of_a_document_that_is_no_text_is_read_as_it_was_found() -> None:
    pdf = Attachment("plan.md", "application/pdf", "test:2", 14)
    main = in_python('await Ask("The plan?")', 'await Say("user", await ReadFile("plan.md"))')
    intake = ScriptedIntake(texts={"plan.md": "Go north."})
    async with talking(main, Model(), intake=intake, files=Kept(intake), after="hi") as talk:
        assert await talk.say("", files=[pdf]) == ["Go north."]


async def test_bytes_are_sent_as_a_picture_with_words_in_its_place() -> None:
    main = in_python('await SendFile("chart.png", b"\\x89PNG", "This week", alt="Sales go up")')
    kept = Kept(ScriptedIntake())
    async with talking(main, Model(), files=kept) as talk:
        assert await talk.say("hi") == ["This week"]
        (page,) = [data for data in talk.facts("page") if isinstance(data, dict) and data.get("file")]
        (file,) = [spec.file for spec in talk.world.specs if spec.file]
    assert kept.sent == [(b"\x89PNG", "image/png")]
    assert page["file"] == ["chart.png", "image/png", f"file:{file_id(*kept.sent[0])}", 4, "Sales go up"]
    assert (file.name, file.note) == ("chart.png", "Sales go up")
