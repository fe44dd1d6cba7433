"""Talks with a model that answers once, and its answers replayed from then on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from gateway.settings.tree import load
from gateway.talks.results import TalkResult
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk
from gateway.talks.staging.answers import LiveAnswers, TalkRecording, read_recordings, recording_of, write_recordings
from gateway.talks.staging.script import AnswerPieces, ReplyScript
from gateway.talks.staging.stage import TalkStage, open_stage
from gateway.talks.talk import TalkScript
from runtime.core.errors import ConfigError
from runtime.execution.frames.loop import FrameLoop
from runtime.llm.client import CompletionRequest, LLMClient, ModelCompletion
from tests.unit.gateway.talks.rig import GREETER, loaded

EXAMPLES = Path(__file__).parents[4] / "examples"
TALK = """## A
- Ada: Hello
- Greeter: What is your name?
- Ada: I am Ada.
- Greeter: Nice to meet you, Ada!
- judge: the greeter is friendly
- expect: the end
"""


class Speaker(LLMClient):
    """A model that knows the greeter's part; as a judge it says `verdict`."""

    model = "speaker"

    def __init__(self, greeting: str = "Nice to meet you, Ada!", verdict: str = "yes") -> None:
        self.greeting = greeting
        self.verdict = verdict
        self.judged: list[str] = []

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[AnswerPieces]:
        asked = request.messages[-1].content
        if request.purpose == "check":
            self.judged.append(asked)
            yield AnswerPieces(self.verdict)
        elif "their name" in asked:
            yield AnswerPieces("Ada" if "What did they answer" in asked else "What is your name?")
        else:
            yield AnswerPieces(self.greeting)


def results(file: LoadedTalks, *models: Speaker | None) -> list[TalkResult]:
    """What came of the only talk: with each model, with what is kept where there is none."""

    async def hold() -> list[TalkResult]:
        async with open_stage(load(environment={})) as stage:
            [talk] = file.talks
            return [await hold_talk(file, talk, stage, None if one is None else LiveAnswers(one)) for one in models]

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(hold())


def test_what_a_model_answered_is_replayed_without_it(tmp_path: Path) -> None:
    file = loaded(tmp_path, GREETER, TALK)
    [live] = results(file, Speaker())
    assert live.passed
    assert live.recording is not None
    assert live.unjudged == 0
    write_recordings(file.path, {"A": live.recording})
    again = loaded(tmp_path, GREETER, TALK)
    [replayed, twice] = results(again, None, None)
    assert replayed.differences == twice.differences == []
    assert replayed.recording is None
    assert [[seen.text for seen in record.seen] for record in replayed.records] == [
        [seen.text for seen in record.seen] for record in live.records
    ]


def test_a_question_that_was_not_recorded_is_told_with_what_to_do(tmp_path: Path) -> None:
    [live] = results(loaded(tmp_path, GREETER, TALK), Speaker())
    assert live.recording is not None
    write_recordings(tmp_path / "it.test.md", {"A": live.recording})
    [changed] = results(loaded(tmp_path, GREETER.replace("by name", "in verse"), TALK), None)
    [first, *_] = changed.differences
    assert "the model was not asked this when the talk was recorded; parley test --record does it anew" in first.seen
    assert "Ask the user for their name" in first.seen


def test_words_of_a_real_model_may_be_others_where_the_judge_says_they_mean_the_same(tmp_path: Path) -> None:
    file = loaded(tmp_path, GREETER, TALK)
    same, other, strange = Speaker("Hi Ada!"), Speaker("Hi Ada!", "no, it is rude"), Speaker()
    [passed, failed, exact] = results(file, same, other, strange)
    assert passed.passed
    assert [(one.line, one.seen) for one in failed.differences] == [(6, "no, it is rude"), (5, "no, it is rude")]
    assert exact.passed
    assert (len(same.judged), len(strange.judged)) == (2, 1)
    assert "Greeter: Hi Ada!" in same.judged[-1]
    assert "Greeter says, perhaps in other words, what this says: “Nice to meet you, Ada!”" in same.judged[-1]


def test_a_sentence_that_nobody_judges_is_counted(tmp_path: Path) -> None:
    text = TALK.replace("- Greeter:", "- Greeter writes:").replace("- judge", "- model: Ada\n- judge")
    [scripted] = results(loaded(tmp_path, GREETER, text), None)
    assert (scripted.passed, scripted.unjudged) == (True, 1)


@pytest.mark.parametrize("content", ["{", "[]", '{"A": {}}', '{"A": {"alone": false, "answers": [{"a": 1}]}}'])
def test_recorded_answers_that_cannot_be_used_are_told_with_what_to_do(tmp_path: Path, content: str) -> None:
    recording_of(tmp_path / "it.test.md").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"it\.recorded\.json: it cannot be used: .*parley test --record"):
        read_recordings(tmp_path / "it.test.md")


class _NotedScript(ReplyScript):
    """A script whose answers are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.live = LiveAnswers(_Plain(super().stream))

    def stream(self, request: CompletionRequest, /) -> AbstractAsyncContextManager[ModelCompletion]:  # type: ignore[override]
        return self.live.stream(request)


@dataclass
class _Plain(LLMClient):
    asked: Callable[[CompletionRequest], AbstractAsyncContextManager[ModelCompletion]]
    model: str = "scripted"

    def stream(self, request: CompletionRequest, /) -> AbstractAsyncContextManager[ModelCompletion]:
        return self.asked(request)


@pytest.mark.parametrize(
    "name", ["hello", "order_helper", "two_agents", "flight_booking", "trip_planning", "budget_review", "recipe_friend"]
)
def test_the_same_questions_are_asked_each_time_an_example_is_held(name: str) -> None:
    """Nothing of the machine, of the time or of chance is in a prompt: replaying by hash needs that."""

    async def replayed(file: LoadedTalks, talk: TalkScript, stage: TalkStage) -> Sequence[object]:
        script = _NotedScript()
        assert (await hold_talk(file, talk, stage, script)).passed
        bare = replace(talk, beats=tuple(replace(beat, replies=()) for beat in talk.beats))
        kept = replace(file, recordings={talk.title: TalkRecording(tuple(script.live.noted))})
        return (await hold_talk(kept, bare, stage)).differences

    async def hold() -> list[Sequence[object]]:
        file = await TalkLoader().load(EXAMPLES / f"{name}.test.md")
        async with open_stage(load(environment={})) as stage:
            return [await replayed(file, talk, stage) for talk in file.talks]

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        assert [one for one in runner.run(hold()) if one] == []
