"""What happens in conversations, as spans: whole trees, from real programs. From the program down to a call that leaves
the process, each playbook stands below the one that called it.
"""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, Tracer, TracerProvider
from opentelemetry.trace import StatusCode

from gateway.observability.tracing.open_spans import SpanContent, SpanIds, first_span
from gateway.observability.tracing.spans import MAX_OPEN_S, Spans
from gateway.observability.watching import SecretMasking
from runtime.core.errors import ContextTooLong, LLMUnavailable
from runtime.events.frames import FrameAbout, FrameCompleted, FrameOpened, FrameRestored, FrameWaiting, StepExecuted
from runtime.events.happening import BusEvent, Happening
from runtime.llm.client import Usage
from tests.fakes.observing.span_tree import Replay, Seen, traces
from tests.fakes.people.remote_stand import in_memory, standing
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python, triggers


class Kept(SpanProcessor):
    """Finished spans."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []

    def on_end(self, span: ReadableSpan) -> None:
        context, parent = span.context, span.parent
        assert context is not None
        assert span.start_time is not None
        assert span.end_time is not None
        self.spans.append(
            Seen(
                f"{context.trace_id:032x}",
                f"{context.span_id:016x}",
                "" if parent is None else f"{parent.span_id:016x}",
                span.name,
                dict(span.attributes or {}),
                span.status.status_code is StatusCode.ERROR,
                tuple((f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in span.links),
                span.start_time,
                span.end_time,
                span.status.description or "",
                tuple(event.name for event in span.events),
            )
        )


class Told:
    """What a process tells of events; several of them may tell the same collector."""

    def __init__(self, *, content: bool = False, share: float = 1.0, secrets: Sequence[str] = ()) -> None:
        self._kept, ids = Kept(), SpanIds()
        provider = TracerProvider(resource=Resource({}), id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(self._kept)
        tracer = provider.get_tracer("test")
        assert isinstance(tracer, Tracer)
        self._bus = Replay()
        spans = Spans(tracer, ids, SpanContent(SecretMasking(secrets), on=content), share=share)
        self.detach = spans.attach(self._bus)

    def hear(self, events: Sequence[BusEvent]) -> list[Seen]:
        """All spans that have ended after these events."""
        self._bus.tell(events)
        return self._kept.spans


def told(events: Sequence[BusEvent], **options: Any) -> list[Seen]:
    return Told(**options).hear(events)


SHOP = program(
    agent(
        "Shop",
        llm("Main", "01:QUE Ask", "02:QUE Answer", begins=True),
        python("HandleQuery", "query"),
        code="""
async def HandleQuery(query):
    return await Clerk.FetchData(query)
""",
    ),
    agent(
        "Clerk",
        python("FetchData", "url", public=True),
        python("Fail"),
        code="""
async def FetchData(url):
    try:
        await Fail()
    except ValueError:
        return "nothing at " + url

async def Fail():
    raise ValueError("the secret word is walrus")
""",
    ),
)
CHAT = program(agent("Main", llm("Main", "01:QUE Do what is said; YLD for user", begins=True)))
FIRST_TURN = block('await Step("Main:01:QUE")', 'await Say("user", "What?")', 'await Yld("user")')
SECOND_TURN = block(
    'await Step("Main:02:QUE")', 'found = await HandleQuery("x")', 'await Say("user", found)', 'await Yld("user")'
)


async def shopping(**options: Any) -> list[Seen]:
    model = Model(dataclasses.replace(FIRST_TURN, usage=Usage(100, 20, 80, 0.5)), SECOND_TURN)
    async with talking(SHOP, model, after="hello there") as talk:
        await talk.say("some query")
    return told(talk.events, **options)


async def test_a_trace_is_what_happens_until_people_are_waited_for_and_is_linked_to_the_one_before() -> None:
    spans = await shopping()
    assert traces(spans) == [
        """\
test · invoke_workflow
  Shop · invoke_agent
    Shop.Main · invoke_agent
      chat scripted · chat
      show test · -""",
        """\
test · invoke_workflow
  Shop · invoke_agent
    Shop.Main · invoke_agent · linked
      Shop.HandleQuery · execute_tool
        Clerk.FetchData · execute_tool
          Clerk.Fail · execute_tool · failed: ValueError
      chat scripted · chat
      show test · -""",
    ]
    first, second = [span for span in spans if span.name == "Shop.Main"]
    assert second.links == ((first.trace, first.span),)
    assert first.trace != second.trace


async def test_a_program_that_has_ended_has_not_failed() -> None:
    closes = program(agent("Shop", llm("Main", "01:YLD for exit", begins=True)))
    ends = block('await Step("Main:01:YLD")', 'await Yld("exit")')
    async with talking(closes, Model(ends), after="hello") as talk:
        await talk.until(lambda: bool(talk.named("frame.returned") or talk.named("frame.failed")))
    (main,) = [span for span in told(talk.events) if span.name == "Shop.Main"]
    assert not main.failed
    assert main.marks == ("step.executed", "turn.completed")


async def test_what_a_reply_does_while_it_is_read_is_not_time_of_the_model() -> None:
    naps = block('await Step("Main:01:QUE")', "await Sleep(30)", 'await Say("user", "What?")', 'await Yld("user")')
    async with talking(SHOP, Model(naps)) as talk:
        talk.post("hello there")
        await talk.until(lambda: bool(talk.named("llm.answered")))
    (chat,) = [span for span in told(talk.events) if span.name == "chat scripted"]
    assert chat.end_ns - chat.start_ns >= 30 * 10**9
    assert chat.attributes["parley.waited_s"] < 30


async def test_a_reply_that_breaks_off_has_failed_and_the_one_that_is_asked_for_again_has_not() -> None:
    half = Reply('```python\nawait Step("Main:01:QUE")\nx = 5\nawait Say("user", "All o', LLMUnavailable("cut off"))
    whole = block("# resume: 2", 'await Say("user", "All of it.")', 'await Yld("user")')
    async with talking(CHAT, Model(half, whole)) as talk:
        assert await talk.say("hello") == ["All of it."]
    first, second = [span for span in told(talk.events) if span.name == "chat scripted"]
    assert (first.failed, first.attributes["error.type"]) == (True, "LLMUnavailable")
    assert (first.attributes["parley.purpose"], first.end_ns <= second.start_ns) == ("execute", True)
    assert not second.failed
    (main,) = [span for span in told(talk.events) if span.name == "Main.Main"]
    assert not main.failed


@pytest.mark.parametrize("refused", [False, True], ids=["the past is long", "the model finds it too long"])
async def test_a_summary_that_fails_has_a_span_that_failed(refused: bool) -> None:
    turn = block('await Step("Main:01:QUE")', f'await Say("user", "{"x" * 600}")', 'await Yld("user")')
    long = [ContextTooLong("4,096 tokens")] if refused else []
    model = Model(turn, turn, *long, LLMUnavailable("it is away"), turn)
    budget: dict[str, Any] = {} if refused else {"transcript_chars": 1_000}
    async with talking(CHAT, model, **budget) as talk:
        for number in range(3):
            await talk.say(f"message {number}")
    chats = [span for span in told(talk.events) if span.name == "chat scripted"]
    told_of = [(str(span.attributes["parley.purpose"]), span.attributes.get("error.type")) for span in chats]
    (failed,) = [what for what in told_of if what[0] == "summarize"]
    assert failed == ("summarize", "LLMUnavailable")
    assert [kind for _, kind in told_of].count("ContextTooLong") == len(long)
    assert [span.failed for span in chats].count(True) == 1 + len(long)


async def test_spans_say_who_talks_with_whom_and_what_it_took() -> None:
    spans = await shopping()
    (main, _), (chat, _) = [[span for span in spans if span.name == name] for name in ("Shop.Main", "chat scripted")]
    session = main.attributes["session.id"]
    assert main.attributes == {
        "session.id": session,
        "gen_ai.conversation.id": "test:1",
        "user.id": "test:Ada",
        "gen_ai.agent.name": "Shop",
        "gen_ai.agent.id": "1000",
        "gen_ai.operation.name": "invoke_agent",
        "openinference.span.kind": "CHAIN",
        "parley.frame": "1000.0",
        "parley.waits_for": "people",
    }
    assert main.marks == ("step.executed", "turn.completed")
    assert {name: value for name, value in chat.attributes.items() if name not in main.attributes} == {
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.usage.cost": 0.5,
        "gen_ai.response.time_to_first_chunk": 0.0,
        "parley.waited_s": 0.0,
        "parley.purpose": "execute",
    }
    (tool,) = [span for span in spans if span.name == "Clerk.FetchData"]
    assert {name: tool.attributes[name] for name in tool.attributes if ".tool." in name} == {
        "gen_ai.tool.name": "Clerk.FetchData",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": tool.attributes["parley.frame"],
    }


async def test_nothing_of_what_was_said_is_told_unless_it_is_wanted() -> None:
    said = ("hello there", "some query", "What?", "walrus", "nothing at x", "HandleQuery(", '"x"')
    quiet = str(await shopping())
    assert [text for text in said if text in quiet] == []
    spans = await shopping(content=True, secrets=["walrus"])
    told = "\n".join(f"{span.attributes} {span.text}" for span in spans)
    assert [text for text in said if text not in told] == ["walrus"]
    assert "the secret word is ********" in told
    (call,) = [span for span in spans if span.name == "Shop.HandleQuery"]
    assert call.attributes["input.value"] == '{"query": "x"}'
    assert call.attributes["output.value"] == '"nothing at x"'


async def test_calls_of_tools_on_servers_are_spans_below_their_callers(tmp_path: Path) -> None:
    weather = in_memory(tmp_path)
    code = 'async def Main():\n    await Weather.forecast(city="Oslo")\n    await Weather.nothing()'
    shop = program(agent("Shop", MAIN, code=code), weather)
    async with standing() as stand, talking(shop, Model(), servers=stand.pool) as talk:
        await talk.say("go")
    assert traces(told(talk.events)) == [
        """\
test · invoke_workflow · failed: PlaybookError
  Shop · invoke_agent · failed: PlaybookError
    Shop.Main · execute_tool · failed: PlaybookError
      Weather.forecast · execute_tool"""
    ]


WAITER = program(
    agent(
        "Waiter",
        MAIN,
        python("Order"),
        code="""
async def Main():
    while True:
        await Order()

async def Order():
    for message in await WaitForMessage("user"):
        await Say("user", message["text"])
""",
    )
)


async def test_whoever_goes_on_elsewhere_links_to_the_first_span_without_having_been_told_where_it_is() -> None:
    async with talking(WAITER, Model()) as talk:
        await talk.say("one")
    async with talking(WAITER, Model(), world=talk.world) as later:
        await later.say("two")
    (session,) = {event.data["session_id"] for event in talk.named("session.started")}
    before, after = told(talk.events), told(later.events)
    first = next(span for span in before if span.name == "Waiter.Main")
    place = first_span(session, "1000.0")
    assert (first.trace, first.span) == (f"{place.trace_id:032x}", f"{place.span_id:016x}")
    assert traces(after) == [
        """\
test · invoke_workflow
  Waiter · invoke_agent
    Waiter.Main · execute_tool · linked
      Waiter.Order · execute_tool
      Waiter.Order · execute_tool · linked
        show test · -"""
    ]
    assert {span.links for span in after if span.links} == {((first.trace, first.span),)}


async def test_a_stopped_call_ends_its_spans_and_what_it_left() -> None:
    model = Model(dataclasses.replace(FIRST_TURN, gate=None), LLMUnavailable("away"))
    async with talking(SHOP, model, after="hello") as talk:
        await talk.say("more")
    spans = told(talk.events)
    assert "chat scripted · chat · failed: LLMUnavailable" in traces(spans)[1]


def frame(name: str, at_s: float, frame: str = "1000.0", session_id: str = "s1", **data: Any) -> BusEvent:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=at_s)
    caller, playbook = data.pop("caller", None), data.pop("playbook", "Main")
    about = FrameAbout(session_id, "test:1", "test", frame, caller, "1000", "Shop", playbook, "python", None, None)
    made: dict[str, Callable[[], Happening]] = {
        "frame.started": lambda: FrameOpened(about, {}),
        "frame.restored": lambda: FrameRestored(about, {}),
        "frame.returned": lambda: FrameCompleted(about, None),
        "frame.parked": lambda: FrameWaiting(session_id, frame, **data),
        "step.executed": lambda: StepExecuted(session_id, frame, "1000", playbook, **data),
    }
    return BusEvent(made[name](), at)


def test_what_goes_on_for_hours_is_told_of_in_parts() -> None:
    process = Told()
    process.hear([frame("frame.started", 0), frame("step.executed", 10, step="Main:01")])
    assert process.hear([frame("step.executed", MAX_OPEN_S + 1, step="Main:02")]) != []
    parts = process.hear([frame("step.executed", MAX_OPEN_S + 2, step="Main:03"), frame("frame.returned", 9_000)])
    assert [str(span) for span in parts if span.name == "Shop.Main"] == [
        "Shop.Main · execute_tool",
        "Shop.Main · execute_tool · linked",
    ]


def test_a_frame_that_comes_again_without_having_left_ends_what_is_open_of_it() -> None:
    process = Told()
    process.hear([frame("frame.started", 0)])
    assert [span.name for span in process.hear([frame("frame.restored", 1)])] == ["Shop.Main", "Shop", "test"]
    process.hear([frame("frame.started", 2, frame="1001.0")])
    spans = process.hear([frame("step.executed", MAX_OPEN_S + 3, frame="1001.0", step="Main:01")])
    assert [span.name for span in spans].count("test") == 2


def test_a_short_wait_and_one_for_an_agent_are_part_of_the_work() -> None:
    soon = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=30)).isoformat()
    late = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=2)).isoformat()
    process = Told()
    process.hear([frame("frame.started", 0), frame("frame.parked", 1, waits_for="time", until=soon)])
    assert process.hear([frame("frame.parked", 2, waits_for="agents", until=None)]) == []
    assert process.hear([frame("frame.parked", 3, waits_for="time", until=late)]) != []


def test_a_frame_that_waits_while_another_one_works_for_it_has_not_stopped() -> None:
    process, below = Told(), {"frame": "1000.0:1", "caller": "1000.0", "playbook": "Look"}
    process.hear([frame("frame.started", 0), frame("frame.started", 1, **below)])
    assert process.hear([frame("frame.parked", 2, waits_for="people", until=None)]) == []
    spans = process.hear([frame("frame.returned", 3, **below)])
    assert traces(spans) == [
        "test · invoke_workflow\n  Shop · invoke_agent\n    Shop.Main · execute_tool\n      Shop.Look · execute_tool"
    ]


def test_of_each_session_all_is_told_or_nothing() -> None:
    sessions = [f"s{number}" for number in range(400)]
    events = [frame(name, 0, session_id=one) for one in sessions for name in ("frame.started", "frame.returned")]
    chosen = {span.attributes["session.id"] for span in told(events, share=0.25)}
    assert 60 < len(chosen) < 140
    assert chosen == {span.attributes["session.id"] for span in told(events, share=0.25)}
    assert told(events, share=0.0) == []


def test_the_end_of_the_process_ends_every_span() -> None:
    process = Told()
    process.hear([frame("frame.started", 0), frame("frame.started", 0, frame="1000.0:1", caller="1000.0")])
    process.detach()
    assert [span.name for span in process.hear([])] == ["Shop.Main", "Shop.Main", "Shop", "test"]


async def test_a_message_is_followed_through_its_handler_to_a_tool_of_a_server(tmp_path: Path) -> None:
    query = replace(llm("HandleQuery", "01:EXE Look", "02:RET"), triggers=triggers("EVT When the user asks something"))
    code = 'async def FetchData(city):\n    return (await Weather.forecast(city=city))["sky"]'
    shop = program(agent("Shop", query, python("FetchData", "city"), code=code), in_memory(tmp_path))
    model = Model(
        block(
            "# trig? Shop:HandleQuery:T1:EVT",
            'await Trigger("Shop:HandleQuery:T1:EVT")',
            "await HandleQuery()",
            'await Var("__", "handled it")',
            "await Return()",
        ),
        block(
            'await Step("HandleQuery:01:EXE")',
            "# trig? no",
            'sky = await FetchData("Oslo")',
            'await Step("HandleQuery:02:RET")',
            "# trig? no",
            'await Say("user", sky)',
            'await Var("__", "told them")',
            "await Return()",
        ),
    )
    async with standing() as stand, talking(shop, model, servers=stand.pool) as talk:
        assert await talk.say("How is the weather?") == ["clear"]
    (tree,) = traces(told(talk.events))
    found = [line for line in tree.splitlines() if line.lstrip().partition(" ")[0] not in ("chat", "show")]
    names = [line.lstrip().partition(" ")[0] for line in found]
    depths = [(len(line) - len(line.lstrip())) // 2 for line in found]
    called = ["Shop.ProcessMessages", "Shop.HandleQuery", "Shop.FetchData", "Weather.forecast"]
    assert names == ["test", "Shop", *called]
    assert depths == sorted(set(depths))
