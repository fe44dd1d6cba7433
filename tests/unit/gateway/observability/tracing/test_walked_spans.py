"""Playbooks whose steps Parley executes, as events, spans and figures: one reply may answer several steps."""

from pathlib import Path

import pytest

from gateway.observability.metrics import ProcessMetrics
from runtime.bus import Bus
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.llm.client import Usage
from tests.fakes.observing.span_tree import told_again, traces
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.gateway.observability.test_figures import gauges, values
from tests.unit.gateway.observability.tracing.test_spans import told

SHOP = """\
# Shop

## Main
### Triggers
- At the beginning
### Steps
- Welcome the user
- Ask the user for their $mood:str
- If they sound unhappy
  - Tell the user that you are sorry
- {ends}
"""


async def _shop(directory: Path, ends: str = "Return $mood") -> Program:
    file = directory / "shop.pb"
    file.write_text(SHOP.replace("{ends}", ends))
    return (await compile_program([file], lowerer=RulesLowerer())).program


HELLO = Reply("[1] Hello!\n[2] How are you?", usage=Usage(100, 20))
WELL = Reply('[1] {"does": "answer", "mood": "fine"}\n[2] Welcome.\n[3] no\n[4] I am sorry.', usage=Usage(50, 8))


async def _said(talk: Talk) -> None:
    await talk.say("hi")
    await talk.say("Fine, thanks.")


async def test_a_reply_that_answers_several_steps_is_one_span_that_ends_before_its_playbook_does(
    tmp_path: Path,
) -> None:
    async with talking(await _shop(tmp_path), Model(HELLO, WELL)) as talk:
        await _said(talk)
    spans = told(talk.events)
    assert traces(spans) == [
        """\
shop · invoke_workflow
  Shop · invoke_agent
    Shop.Main · invoke_agent
      chat scripted · chat
      show test · -
      show test · -""",
        """\
shop · invoke_workflow
  Shop · invoke_agent
    Shop.Main · invoke_agent · linked
      chat scripted · chat""",
    ]
    mains = [span for span in spans if span.name == "Shop.Main"]
    chats = [span for span in spans if span.name == "chat scripted"]
    assert [main.marks for main in mains] == [
        ("step.executed", "step.executed"),
        ("turn.completed", "step.executed", "step.executed"),
    ]
    for main, chat in zip(mains, chats, strict=True):
        assert main.start_ns <= chat.start_ns <= chat.end_ns <= main.end_ns


@pytest.mark.parametrize("ends", ["Return $mood", "End program"])
async def test_what_a_reply_cost_is_told_also_where_its_rest_is_not_wanted(ends: str, tmp_path: Path) -> None:
    async with talking(await _shop(tmp_path, ends), Model(HELLO, WELL)) as talk:
        await _said(talk)
    told_of = [(event.data["purpose"], event.data["tokens_in"]) for event in talk.named("llm.answered")]
    assert told_of == [("execute", 100), ("execute", 50)]


async def test_a_wrong_answer_is_told_and_counted_as_a_refusal(tmp_path: Path) -> None:
    model = Model(HELLO, Reply('[1] {"does": "answer", "mood": "fine"}\n[3] perhaps'), Reply("no"))
    async with talking(await _shop(tmp_path), model) as talk:
        await _said(talk)
    (refused,) = talk.named("step.rejected")
    assert refused.data["rule"] == "answer"
    assert "yes, no" in refused.data["error"]
    found = await _figures(talk)
    assert found["rejections_total answer"] == 1


async def test_steps_and_turns_are_counted(tmp_path: Path) -> None:
    async with talking(await _shop(tmp_path), Model(HELLO, WELL)) as talk:
        await _said(talk)
    assert [event.data["step"] for event in talk.named("step.executed")] == [
        "Main:01:QUE",
        "Main:02:QUE",
        "Main:03:CND",
        "Main:04:RET",
    ]
    found = await _figures(talk)
    assert (found["turns_total"], found["model_requests_total scripted"]) == (1, 2)


async def _figures(talk: Talk) -> dict[str, float]:
    metrics, bus = ProcessMetrics(gauges()), Bus(talk.world.clock)
    metrics.attach(bus)
    for event in talk.events:
        told_again(bus, event)
    return await values(metrics)
