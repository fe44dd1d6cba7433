"""A model lowers, and what it says is checked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from runtime.core.errors import CompileError, LLMUnavailable
from runtime.events.frames import LLMAnswered
from runtime.events.happening import Happening
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.lowerer import Lowered
from runtime.language.lowering.model import ModelLowerer
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.nodes import ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.llm.client import Completion, CompletionRequest, Usage

pytestmark = pytest.mark.anyio

SOURCE = """# Clerk
Sells things.

```python
@playbook
async def price(item: str) -> float:
    return 1.5
```

## Main
### Triggers
- When program starts
### Steps
- Ask for an item
- Tell its price
# Cook

## Bake($cake) -> str
public: true
### Steps
- Return $cake
"""
GOOD = """# Clerk
Sells things.

```python
@playbook
async def price(item: str) -> float:
    return 1.5
```

## Main()
### Triggers
- T1:BGN When program starts
### Steps
- 01:QUE Say(user, Ask for an $item:str); YLD for user; done when the user named one
- 02:QUE Say(user, Tell the price of $item)
"""
COOK = "# Cook\n\n## Bake($cake) -> str\nmetadata:\n  public: true\n---\n### Steps\n- 01:RET $cake\n"


class Answer:
    """One scripted answer in pieces."""

    usage = Usage()

    def __init__(self, text: str) -> None:
        self._text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for start in range(0, len(self._text), 7):
            yield self._text[start : start + 7]


class NoAnswer(Answer):
    """That of a model which cannot be reached."""

    async def __aiter__(self) -> AsyncIterator[str]:
        for piece in "":
            yield piece
        raise LLMUnavailable("gone")


class ScriptedModel:
    """A language model that answers from a list and keeps what it was asked."""

    def __init__(self, *answers: str | Answer, model: str = "scripted") -> None:
        self.model = model
        self.asked: list[CompletionRequest] = []
        self._answers = list(answers)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
        self.asked.append(request)
        answer = self._answers.pop(0)
        yield Answer(answer) if isinstance(answer, str) else answer


def program() -> ParsedProgram:
    return parse(read_text(SOURCE, "shop.pb"))


async def lower(model: ScriptedModel) -> Lowered:
    parsed = program()
    return await ModelLowerer(model).lower(parsed.agents[0], parsed)


async def test_good_answer_is_taken_and_the_model_saw_source_signatures_and_the_others() -> None:
    model = ScriptedModel(GOOD)
    assert (await lower(model)).pbasm == GOOD
    asked = model.asked[0]
    assert asked.purpose == "compile"
    task = asked.messages[-1].content
    assert "Main()" in task
    assert "price(item:str) -> float (python" in task
    assert "Cook: Bake($cake) -> str" in task
    assert task.endswith("- Ask for an item\n- Tell its price\n")
    assert [message.cacheable for message in asked.messages] == [False, False, True, False]


@pytest.mark.parametrize("fence", ["```\n{}```", "````pbasm\n{}````", "\n```markdown\n{}```\n"])
async def test_fence_around_the_answer_is_taken_off(fence: str) -> None:
    assert (await lower(ScriptedModel(fence.format(GOOD)))).pbasm == GOOD


async def test_wrong_answer_goes_back_with_what_is_wrong() -> None:
    model = ScriptedModel(GOOD.replace("1.5", "2.5").replace("02:QUE", "02:SAY"), GOOD.replace("1.5", "2.5"), GOOD)
    assert (await lower(model)).pbasm == GOOD
    assert "there is no operation SAY" in model.asked[1].messages[-1].content
    assert "byte for byte" in model.asked[2].messages[-1].content
    assert [message.role for message in model.asked[2].messages[-4:]] == ["assistant", "user", "assistant", "user"]


async def test_three_wrong_answers_are_refused_with_the_last_differences() -> None:
    model = ScriptedModel("Sure!", "", GOOD.replace("## Main()", "## Start()"))
    with pytest.raises(CompileError) as caught:
        await lower(model)
    assert "scripted could not compile Clerk in 3 attempts" in str(caught.value)
    assert "the playbook Main is missing" in str(caught.value)
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (GOOD.replace("When program starts", "At dawn"), "the text of trigger T1 must be the author's"),
        (GOOD.replace("$item:str", "item").replace("the price of $item", "its price"), ""),
        (GOOD.replace("- 02:QUE Say(user, Tell the price of $item)\n", ""), "2 top-level steps in the source, 1"),
        (GOOD + "- 03:YLD for exit\n", "2 top-level steps in the source, 3"),
        (GOOD.replace("# Clerk", "# Clark"), "expected the one agent Clerk, found Clark"),
        (GOOD.replace("## Main()", "## Main($x)"), "the signature must be Main(), not Main($x)"),
        (GOOD + "\n## More()\n", "there is no playbook More in the source"),
        (GOOD.replace("BGN", "EVT"), "trigger T1 is the beginning: its code is BGN"),
        (GOOD.replace("BGN", "XXX"), "there is no trigger code XXX"),
    ],
)
async def test_what_is_lost_or_invented_is_told_to_the_model(wrong: str, complaint: str) -> None:
    model = ScriptedModel(wrong, GOOD)
    assert (await lower(model)).pbasm == (GOOD if complaint else wrong)
    assert len(model.asked) == (2 if complaint else 1)
    if complaint:
        assert complaint in model.asked[1].messages[-1].content


async def test_variables_calls_and_notes_of_the_source_may_not_be_lost() -> None:
    source = "# A\n\n## Main\n### Steps\n- Tell the item(s) of $order:dict by Count($order)\n### Notes\n- Be kind\n"
    parsed = parse(read_text(source, "a.pb"))
    good = "# A\n\n## Main()\n### Steps\n- 01:QUE Say(user, {})\n### Notes\n- N1 {}\n"
    wrong = (
        good.format("Tell the items of $order:dict", "Be kind"),
        good.format("Tell Count()", "Be kind"),
        good.format("Tell the items of $order:dict by Count($order)", "Be unkind"),
    )
    for text, complaint in zip(
        wrong, ("Main:01 has lost Count of", "Main:01 has lost $order:dict of", "note N1"), strict=True
    ):
        model = ScriptedModel(text, good.format("Tell $order:dict Count($order)", "be kind."))
        await ModelLowerer(model).lower(parsed.agents[0], parsed)
        assert complaint in model.asked[1].messages[-1].content


LONGER = """# Clerk

## Main
### Triggers
- When the user asks for bread
### Steps
- Greet the user with "Good morning, dear guest"
- Explain the opening hours
- If the user is angry
  - Apologise for the delay
- Offer a coupon
"""
FAITHFUL = """# Clerk

## Main()
### Triggers
- T1:EVT When the user asks for bread
### Steps
- 01:QUE Say(user, Greet the user with "Good morning,  dear guest")
- 02:QUE Say(user, Explain the opening hours)
- 03:CND If the user is angry
  - 03.01:QUE Say(user, Apologise for the delay)
- 04:QUE Say(user, Offer a coupon); YLD for user; done when the user answered
"""


@pytest.mark.parametrize(
    ("lie", "complaint"),
    [
        (("T1:EVT", "T1:BGN"), "trigger T1 is not the beginning"),
        (("Offer a coupon", "Offer a coupon); YLD for exit; Say(user, bye"), "Main:04 ends the program"),
        (("  dear guest", " sir"), 'has lost "Good morning, dear guest" of the source'),
        (("CND If the user is angry", "QUE Say(user, If the user is angry)"), "Main:03 must be CND"),
        (("Explain the opening hours", "Praise the bread"), 'Main:02 has lost "Explain the opening hours" of'),
        (("the delay)\n", "the delay)\n  - 03.02:JMP 01\n"), "Main:03 jumps, and nothing is repeated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_lie_is_told_to_the_model_and_after_three_the_program_is_refused(
    lie: tuple[str, str], complaint: str
) -> None:
    parsed = parse(read_text(LONGER, "shop.pb"))
    wrong = FAITHFUL.replace(*lie)
    assert wrong != FAITHFUL
    model = ScriptedModel(wrong, FAITHFUL)
    assert (await ModelLowerer(model).lower(parsed.agents[0], parsed)).pbasm == FAITHFUL
    assert complaint in model.asked[1].messages[-1].content
    with pytest.raises(CompileError, match="in 3 attempts"):
        await ModelLowerer(ScriptedModel(wrong, wrong, wrong)).lower(parsed.agents[0], parsed)


CLAUSES = """# Clerk

## Main
### Steps
- Greet the guest warmly; if they reveal a secret, call security
- Wait five minutes, then offer 3 kinds of bread
- Repeat until the order is complete
  - Ask what else they want
- Find the cheapest fare and tell the user about it
"""
KEPT = """# Clerk

## Main()
### Steps
- 01:QUE Say(user, Greet the guest warmly)
  - 01.01:CND If they reveal a secret
    - 01.01.01:EXE call security
- 02:QUE Sleep(300); YLD for call
  - 02.01:QUE Say(user, Offer three kinds of bread); YLD for user; done when the user answered
- 03:CND Until the order is complete
  - 03.01:QUE Say(user, Ask what else is wanted); YLD for user; done when the user answered
  - 03.02:JMP 03
- 04:EXE Find the cheapest fare
  - 04.01:QUE Say(user, Tell the user about it)
"""


@pytest.mark.parametrize(
    ("lie", "complaint"),
    [
        (("secret)", "secret)"), ""),
        (("\n  - 01.01:CND If they reveal a secret\n    - 01.01.01:EXE call security", ""), "they reveal a secret"),
        (("EXE call security", "EXE Do something"), 'has lost "call security" of the source'),
        (("three kinds of bread", "kinds of bread"), 'has lost "offer 3 kinds of bread" of the source'),
        (("Ask what else is wanted", "Speak"), 'has lost "Ask what else they want" of the source'),
        (("Until the order is complete", "Until it is"), 'has lost "Repeat until the order is complete"'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_lost_clause_is_told_to_the_model_and_other_words_are_taken(
    lie: tuple[str, str], complaint: str
) -> None:
    parsed = parse(read_text(CLAUSES, "shop.pb"))
    model = ScriptedModel(KEPT.replace(*lie), KEPT)
    assert (await ModelLowerer(model).lower(parsed.agents[0], parsed)).pbasm == KEPT
    assert len(model.asked) == (2 if complaint else 1)
    if complaint:
        assert complaint in model.asked[1].messages[-1].content


async def test_steps_in_another_order_are_told_to_the_model() -> None:
    parsed = parse(read_text(LONGER, "shop.pb"))
    greet, explain = 'Greet the user with "Good morning,  dear guest"', "Explain the opening hours"
    wrong = FAITHFUL.replace(greet, "?").replace(explain, f"{greet} and tell them the opening hours")
    wrong = wrong.replace("?", 'Explain the opening hours after "Good morning, dear guest"')
    model = ScriptedModel(wrong, FAITHFUL)
    await ModelLowerer(model).lower(parsed.agents[0], parsed)
    assert "Main: 01 and 02 are not in the order of the source" in model.asked[1].messages[-1].content


async def test_agents_without_prose_need_no_model() -> None:
    text = (
        "# A\n```python\n@playbook(triggers=['When asked'])\ndef f(): ...\n```\n# B:Human\n# C\nProse.\n## P\nReact.\n"
        "# D\n## Q()\n### Triggers\n- T1:BGN At dawn\n### Steps\n- 01:EXE wake\n"
    )
    model = ScriptedModel()
    compiled = (await compile_parsed(parse(read_text(text, "p.pb")), lowerer=ModelLowerer(model))).program
    assert [agent.name for agent in compiled.agents] == ["A", "B", "C", "D"]
    assert model.asked == []


async def test_agents_are_compiled_at_the_same_time() -> None:
    class AllAtOnce(ScriptedModel):
        """Answers when every agent has asked."""

        waiting = 0
        all_there = anyio.Event()

        @asynccontextmanager
        async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
            self.waiting += 1
            if self.waiting == 2:
                self.all_there.set()
            await self.all_there.wait()
            yield Answer(COOK if "\n# Cook" in request.messages[-1].content else GOOD)

    with anyio.fail_after(30):
        result = await compile_parsed(program(), lowerer=ModelLowerer(AllAtOnce()))
    assert [agent.name for agent in result.program.agents] == ["Clerk", "Cook"]


async def test_endless_answer_is_cut() -> None:
    with pytest.raises(CompileError, match="does not stop writing"):
        await lower(ScriptedModel("x" * 500_000))


async def test_whole_program_is_the_same_by_model_and_rules_apart_from_the_steps() -> None:
    class ByAgent(ScriptedModel):
        @asynccontextmanager
        async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
            yield Answer(COOK if "\n# Cook" in request.messages[-1].content else GOOD)

    by_model = (await compile_parsed(program(), lowerer=ModelLowerer(ByAgent()))).program
    by_rules = (await compile_parsed(program(), lowerer=RulesLowerer())).program
    assert [agent.fences for agent in by_model.agents] == [agent.fences for agent in by_rules.agents]
    assert by_model.agents[1] == by_rules.agents[1]
    assert by_model.agents[0].playbooks[1].steps[0].text.startswith("Say(user, Ask for an $item:str)")
    assert by_model.agents[0].playbooks[1].steps[1].span == by_rules.agents[0].playbooks[1].steps[1].span


async def test_fingerprint_names_model_and_prompt() -> None:
    one, two = ModelLowerer(ScriptedModel(model="a")), ModelLowerer(ScriptedModel(model="b"))
    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == ModelLowerer(ScriptedModel(model="a")).fingerprint


async def test_a_model_that_cannot_be_reached_costs_nothing() -> None:
    told: list[Happening] = []
    parsed, gone = program(), NoAnswer("")
    with pytest.raises(LLMUnavailable):
        await ModelLowerer(ScriptedModel(gone), told.append).lower(parsed.agents[0], parsed)
    assert told == []


async def test_what_a_compilation_asks_is_told_with_its_program_and_agent() -> None:
    told: list[Happening] = []
    parsed = program()
    await ModelLowerer(ScriptedModel("nonsense", GOOD), told.append).lower(parsed.agents[0], parsed)
    answers = [one for one in told if isinstance(one, LLMAnswered)]
    asked = [(one.name, one.purpose, one.program, one.agent) for one in answers]
    assert asked == [("llm.answered", "compile", parsed.name, parsed.agents[0].name)] * 2
