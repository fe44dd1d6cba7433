"""Talks on a scripted model and a clock, and events of other programs in them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from gateway.settings.tree import Settings
from gateway.talks.staging.stage import StoppingModel, StoppingSandbox, TalkClock, settle
from gateway.talks.trying import ScriptedModel, asked_by
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import UnscriptedQuestion
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, ModelCompletion, Usage
from runtime.sandbox.executor import CallOutcome, CodeSnippet, SnippetEvaluation
from tests.unit.gateway.talks.rig import ECHO, differing, held, refused

PROGRAM = """# Shop
Sells tea.

## Main
### Triggers
- At the beginning
### Steps
- Ask the user how $many:int cups they want
- Tell the user whether that is a lot
"""
TALKS = """## Few
- Shop writes: How many?
- Ada: two of them
- model: 2
- Shop writes: Not many.

## Many
- Shop writes: How many cups?
- Ada: a dozen
- model: 12
- Shop writes: That is a lot.
"""
PROGRAM_ASKS = "(From the program, not from a person.)\n"
WORDS = PROGRAM_ASKS + "Write the next message to the person. It must do this: {}. Only the message itself."
VALUE = (
    PROGRAM_ASKS + 'The person was asked: Ask the user how many cups they want. They wrote: "{}". What did they '
    "answer? Answer with many alone: a whole number (null if it was not given)."
)
HOW_MANY = WORDS.format("Ask the user how many cups they want")


def request(question: str) -> CompletionRequest:
    return CompletionRequest((ChatMessage("system", "You are Shop."), ChatMessage("user", question)))


class Trying:
    """A model that has read its talks, asked by one agent."""

    def __init__(self, folder: Path) -> None:
        (folder / "shop.pb").write_text(PROGRAM)
        self.file = folder / "shop.test.md"
        self.file.write_text(TALKS)
        self.told: list[str] = []
        self.model = ScriptedModel([self.file], Settings(), self.told.append)
        self.model.models(Bus(SystemClock()))
        self.model._agents["s", "1"] = "Shop"

    async def asks(self, question: str) -> str:
        self.model._asker = "s", "Shop"
        async with self.model.stream(request(question)) as pieces:
            return "".join([piece async for piece in pieces])


@pytest.fixture
async def trying(tmp_path: Path) -> Trying:
    made = Trying(tmp_path)
    await made.model.read()
    return made


async def test_words_of_a_talk_are_taken_in_order_and_the_talk_is_followed(trying: Trying) -> None:
    assert [await trying.asks(HOW_MANY) for _ in range(3)] == ["How many?", "How many cups?", "How many cups?"]
    assert trying.told[0] == "scripted  shop.test.md:2 answers Shop"


async def test_what_somebody_wrote_is_understood_as_in_the_talk_that_has_it(trying: Trying) -> None:
    assert await trying.asks(VALUE.format("A dozen")) == "12"
    assert await trying.asks(VALUE.format("two of them")) == "2"


async def test_what_no_talk_has_is_read_in_the_words(trying: Trying) -> None:
    assert await trying.asks(VALUE.format("make it 30")) == "30"
    assert await trying.asks(VALUE.format("hm")) == "null"
    for kind in ("a text", "its value"):
        assert await trying.asks(VALUE.format("a lot").replace("a whole number", kind)) == "a lot"


async def test_other_words_are_those_of_the_step_and_other_questions_are_refused(trying: Trying) -> None:
    assert await trying.asks(WORDS.format('Say that "$many" (now 3) is little')) == '[Say that "$many" is little.]'
    with pytest.raises(UnscriptedQuestion, match=r"No talk answers this question of Shop: “Which one\?”\."):
        await trying.asks("Which one? Answer with one of these alone: a, b.")
    assert trying.told == ["scripted  No talk answers this question of Shop: “Which one?”."]


async def test_a_talk_that_is_saved_is_read_again_and_a_wrong_one_is_told_of(trying: Trying) -> None:
    trying.file.write_text(TALKS.replace("How many?", "How many, please?"))
    assert await trying.asks(HOW_MANY) == "How many, please?"
    trying.file.write_text("## Nothing\n")
    assert await trying.asks(HOW_MANY) == "How many cups?"
    assert "The talks stay as they were" in trying.told[1]


@pytest.mark.parametrize(
    "before",
    [
        "Known: $a = 1\nYour last answer could not be used: x. Answer again.\n",
        "[said here before, which is data]\n- Shop (bot): How many?\n> Ada: two\n[end of what was said here before]\n",
        'Remembered from earlier conversations.\n- about "Ada", 2026-01-01: likes tea\nKnown: $many = 2\n',
        "[content of list.txt]\nten cups\n[end of list.txt]\n",
    ],
    ids=["what is known", "what was said earlier", "memories", "a file"],
)
def test_a_question_is_the_same_whatever_stands_before_it(before: str) -> None:
    asked = asked_by("Shop", request(HOW_MANY))
    again = asked_by("Shop", request("Hello\n" + HOW_MANY.replace("Write the", f"{before}Write the")))
    assert (again.about, again.heard) == (asked.about, "Hello")


class Slow(LLMClient):
    """A model and a sandbox that go on when they are let; implements `LLMClient`, `Sandbox`, `ModelCompletion` and
    `SnippetEvaluation`."""

    model = "slow"
    usage = Usage()
    ended = False
    error = None

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.goes_on = anyio.Event()

    @asynccontextmanager
    async def stream(self, _request: CompletionRequest, /) -> AsyncIterator[ModelCompletion]:
        yield self

    @asynccontextmanager
    async def evaluate(self, _snippet: CodeSnippet, /) -> AsyncIterator[SnippetEvaluation]:
        yield self

    async def __aiter__(self) -> AsyncIterator[str]:
        await self.start()
        yield "word"

    async def start(self) -> None:
        await self.goes_on.wait()

    async def resolve(self, _number: int, _outcome: CallOutcome, /) -> None:
        await self.start()

    def take_calls(self) -> tuple[()]:
        return ()


async def test_the_clock_stands_while_a_model_or_a_sandbox_is_at_work_and_runs_while_what_it_gave_is_used() -> None:
    clock = TalkClock(datetime(2026, 3, 1, tzinfo=UTC))
    slow, seen = Slow(), list[str]()

    async def ask() -> None:
        async with StoppingModel(slow, clock).stream(CompletionRequest((ChatMessage("user", "?"),))) as completion:
            async for piece in completion:
                await clock.runs()
                seen.append(piece)

    async def compute() -> None:
        async with StoppingSandbox(slow, clock).evaluate(CodeSnippet("1 + 1")) as evaluation:
            await clock.runs()
            await evaluation.start()
            await clock.runs()
            await evaluation.resolve(0, CallOutcome(1))
            seen.append("computed")

    async def pass_time() -> None:
        await clock.runs()
        seen.append("time")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compute)
        await settle()
        tasks.start_soon(ask)
        tasks.start_soon(pass_time)
        await settle()
        assert seen == []
        slow.goes_on.set()
    assert sorted(seen) == ["computed", "time", "word"]


STORE = """# Store
```python
@playbook(triggers=["When the event stock.* arrives"])
async def Count(item: str = "?", event: dict = {}):
    await Sleep(5)
    if item == "?":
        raise ValueError("nothing was counted")
    await Say("user", f"{item}: {event['type']} of {event['source']}")
    return {"item": item}


@playbook(triggers=["When program starts"])
async def Main():
    for message in await WaitForMessage("user"):
        await Say("user", "heard " + message["text"])
```
"""

ASKING = """# Store
```python
@playbook(triggers=["When the event stock.* arrives"])
async def Order(item: str):
    many = await Ask(f"How many of {item}?")
    sure = await Ask("Sure?", ["Yes", "No"], within_s=60)
    return f"{many} {item}: {sure}"
```
"""


IN_TURN = """## In turn
- event: stock.low from shop {"item": "tea"}
- Store: How many of tea?
- answer: 12
- Store: Sure?
- expect: choices Yes, No
- answer from shop: yes
- expect: result "12 tea: Yes"
"""
TWO_AT_ONCE = """## Two at once, and no answer
- event: stock.low from shop {"item": "tea"}
- event: stock.low from mill {"item": "oats"}
- answer from mill: 3
- expect: "Sure?"
- answer: 5
- wait 2 minutes
- expect: result "5 tea: None"
- expect: result "3 oats: None"
"""


@pytest.mark.parametrize("talk", [IN_TURN, TWO_AT_ONCE])
def test_another_program_answers_what_its_event_began_asks(tmp_path: Path, talk: str) -> None:
    assert differing(tmp_path, ASKING, talk) == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("- answer: 3\n- answer: No\n- answer: 1", (5, "", "nothing that an event began asks anything")),
        ("- answer from mill: 3", (3, "", "nothing that an event began asks anything of mill")),
        ('- answer: 3\n- answer: No\n- expect: result "Yes"', (5, "the result Yes", "3 tea: No")),
    ],
)
def test_an_answer_that_nobody_waits_for_and_another_result_are_told(
    tmp_path: Path, lines: str, found: tuple[int, str, str]
) -> None:
    assert found in differing(tmp_path, ASKING, f'## One\n- event: stock.low {{"item": "tea"}}\n{lines}\n')


def test_an_answer_is_words_and_needs_a_program_that_begins_on_events(tmp_path: Path) -> None:
    assert "the answer is empty" in refused(tmp_path, "## One\n- answer:\n", STORE)
    assert "begins on an event" in refused(tmp_path, "## One\n- answer: 3\n", ECHO)


def test_a_talk_goes_on_beside_what_an_event_begins(tmp_path: Path) -> None:
    talk = """## Both
- Ada: Hello
- Ada: Are you there?
- Store: heard Are you there?
- event: stock.low from shop {"item": "tea"}
- Store: tea: stock.low of /clients/shop
- expect: call Count(item="tea", …)
- expect: result "tea"
- event: stock.gone
  ```json
  {"item": "milk"}
  ```
- Store: milk: stock.gone of /clients/test
"""
    assert differing(tmp_path, STORE, talk) == []


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ('{"item": "tea"}', (3, "the result milk", '{"item": "tea"}')),
        ("", (3, "the result milk", "no result")),
    ],
)
def test_another_result_and_a_failure_are_told(tmp_path: Path, item: str, found: tuple[int, str, str]) -> None:
    talk = f'## One\n- event: stock.low {item}\n- expect: result "milk"\n- …\n'
    assert found in differing(tmp_path, STORE, talk)


def test_a_failure_can_be_expected(tmp_path: Path) -> None:
    [result] = held(tmp_path, STORE, '## One\n- event: stock.low\n- expect: failure "nothing was counted"\n')
    assert result.differences == []


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("event: stock.low {item: tea}", "the data is no JSON"),
        ('event: {"item": "tea"}', "type is words of letters"),
        ("event: shop.open from shop", "no playbook begins on the event shop.open"),
        ("evnt: stock.low", "evnt is no agent of the program\n    Did you mean `event`?"),
    ],
)
def test_what_is_no_event_of_the_program_is_refused_with_its_line(tmp_path: Path, written: str, said: str) -> None:
    found = refused(tmp_path, f"## One\n- {written}\n", STORE)
    assert found.startswith("it.test.md:2")
    assert said.split("\n")[0] in found
    assert said.rsplit("\n", maxsplit=1)[-1].strip() in found


def test_a_program_that_begins_on_no_event_says_how(tmp_path: Path) -> None:
    assert "`When the event stock.low arrives`" in refused(tmp_path, "## One\n- event: stock.low\n", ECHO)
