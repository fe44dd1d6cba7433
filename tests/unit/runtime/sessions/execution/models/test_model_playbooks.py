"""Playbooks executed on a model, as the people of the conversation see them."""

import dataclasses

import anyio
from msgspec.structs import replace

from runtime.core.errors import LLMRateLimited, LLMTimeout, NoModelSet
from runtime.language.program import PlaybookSpec, Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, exits, llm, program, python, triggers

BUSY = (
    "⚠️ I cannot continue: the language model is too busy right now. "
    "Your message is kept. Write to me again, and I will try once more. /new starts another conversation."
)

STEPS = ("01:QUE Ask for the $name; YLD for user", "02:QUE Greet", "03:YLD for exit")
HELLO = program(agent("Hello", llm("Main", *STEPS, begins=True)))

ASK = block('await Step("Main:01:QUE")', 'await Say("user", "Who are you?")', 'await Yld("user")')
GREET = block(
    'await Var("name", "Ada")',
    'await Step("Main:02:QUE")',
    'await Say("user", f"Hello, {name}!")',
    *exits("Main:03:YLD"),
)


def one_step(*more: PlaybookSpec, code: str = "") -> Program:
    """An agent whose Main waits for the person again and again."""
    main = llm("Main", "01:QUE Do what is said; YLD for user unless told to end", begins=True)
    return program(agent("Main", main, *more, code=code))


def turn(*lines: str, end: str = 'await Yld("user")') -> Reply:
    return block('await Step("Main:01:QUE")', *lines, end)


async def test_a_conversation_goes_as_its_program_says() -> None:
    model = Model(ASK, GREET)
    async with talking(HELLO, model) as talk:
        assert await talk.say("hi") == ["Who are you?"]
        assert await talk.say("Ada") == ["Hello, Ada!"]
    assert talk.facts("ended")
    assert [event.data["step"] for event in talk.named("step.executed")] == [
        "Main:01:QUE",
        "Main:02:QUE",
        "Main:03:YLD",
    ]


UNKNOWN = 'await Step("Main:09:QUE")'
"""A step that no playbook here has."""


async def test_a_refused_reply_is_corrected_by_the_model_and_nobody_sees_it() -> None:
    wrong = block(UNKNOWN, 'await Say("user", "unseen")', 'await Yld("user")')
    model = Model(wrong, ASK)
    async with talking(HELLO, model) as talk:
        assert await talk.say("hi") == ["Who are you?"]
    assert "Your reply was refused: there is no step 'Main:09:QUE' in Main (rule: step)." in model.told(1)
    assert f"Refused: {UNKNOWN}" in model.told(1)
    assert [event.data["rule"] for event in talk.named("step.rejected")] == ["step"]


async def test_after_a_second_refusal_the_person_hears_one_clear_sentence() -> None:
    wrong = block(UNKNOWN, 'await Yld("user")')
    async with talking(HELLO, Model(wrong, wrong, ASK)) as talk:
        (said,) = await talk.say("hi")
        assert said == ("⚠️ Main failed: the language model gave no usable answer. Your next message begins anew.")
        assert await talk.say("hello again") == ["Who are you?"]


async def test_a_corrected_turn_may_be_refused_once_again_in_the_next_turn() -> None:
    wrong = block(UNKNOWN, 'await Yld("exit")')
    async with talking(HELLO, Model(wrong, ASK, wrong, GREET)) as talk:
        assert await talk.say("hi") == ["Who are you?"]
        assert await talk.say("Ada") == ["Hello, Ada!"]


FAILING = """
async def Fetch(city):
    raise ValueError(f"no weather in {city}")
"""


async def test_the_exception_of_a_called_playbook_is_shown_to_the_model_which_goes_on() -> None:
    model = Model(
        turn('w = await Fetch("Oslo")', 'await Say("user", w)'),
        block("# resume: 2", 'await Say("user", "No weather today.")', 'await Yld("user")'),
    )
    assert await answered(one_step(python("Fetch", "city"), code=FAILING), model, "weather?") == ["No weather today."]
    assert "ValueError: no weather in Oslo" in model.told(1)


async def test_code_may_catch_what_a_playbook_raises() -> None:
    model = Model(
        turn('try:\n    await Fetch("Oslo")\nexcept ValueError as error:\n    await Say("user", f"caught {error}")')
    )
    async with talking(one_step(python("Fetch", "city"), code=FAILING), model) as talk:
        assert await talk.say("weather?") == ["caught no weather in Oslo"]


async def test_code_that_keeps_failing_ends_its_playbook_with_its_own_error() -> None:
    model = Model(turn("x = 1 / 0"), block("# resume: 2", "x = 2 / 0"), block("# resume: 3", "x = 3 / 0"))
    (said,) = await answered(one_step(), model, "go")
    assert said == "⚠️ Main failed: division by zero. Your next message begins anew."


async def test_code_that_loops_for_ever_is_ended_and_shown_to_the_model() -> None:
    model = Model(
        block('await Step("Main:01:QUE")', "for i in range(10**12):\n    pass", 'await Yld("user")'),
        block("# resume: 2", 'await Say("user", "I gave up counting.")', 'await Yld("user")'),
    )
    assert await answered(one_step(), model, "count") == ["I gave up counting."]
    assert "failed: TimeoutError" in model.told(1)


async def test_a_local_that_is_no_data_is_the_models_mistake_and_not_the_end() -> None:
    model = Model(
        turn("double = lambda n: 2 * n"),
        block("# resume: 2", 'await Say("user", "8")', 'await Yld("user")'),
    )
    assert await answered(one_step(), model, "go") == ["8"]
    assert "'double' cannot be kept" in model.told(1)


async def test_definitions_locals_and_variables_live_on_from_turn_to_turn() -> None:
    model = Model(
        turn("def double(n):\n    return 2 * n", "items = [1]", "$guests = ['Ada']"),
        turn("items.append(double(4))", "guests.append('Bob')"),
        turn('await Say("user", f"{items} {guests} {double(2)}")'),
    )
    assert await answered(one_step(), model, "three", after=("one", "two")) == ["[1, 8] ['Ada', 'Bob'] 4"]
    assert '$guests = ["Ada", "Bob"]' in model.told(2)
    assert "items = [1, 8]" in model.told(2)


async def test_when_there_is_no_model_the_person_is_told_once_and_the_next_message_goes_on() -> None:
    model = Model(ASK, NoModelSet("No model is configured."), GREET)
    async with talking(HELLO, model, after="hi") as talk:
        (told,) = await talk.say("Ada")
        assert told.startswith("⚠️ I cannot continue: no language model is set up. Whoever runs me sets a key")
        assert await talk.say("are you there?") == ["Hello, Ada!"]
    assert "Message from Ada (user): Ada\nMessage from Ada (user): are you there?" in model.told(2)
    assert len(talk.named("llm.failed")) == 1


async def test_a_reply_that_breaks_off_is_asked_for_again_with_what_was_executed() -> None:
    broken = Reply(
        '```python\nawait Step("Main:01:QUE")\nx = 5\nawait Say("user", "A half', breaks=LLMTimeout("too slow")
    )
    model = Model(broken, block("# resume: 2", 'await Say("user", f"A half sentence, {x}.")', 'await Yld("user")'))
    async with talking(one_step(), model) as talk:
        assert await talk.say("go") == ["A half sentence, 5."]
        assert talk.world.chat[0].texts[0].startswith("A ")
    assert '1. await Step("Main:01:QUE")\n2. x = 5' in model.told(1)
    assert "# resume: 2" in model.told(1)
    assert "this much of it has been read:\nA " in model.told(1)
    assert len([said for said in talk.facts("res", "fin") if "Step" in str(said)]) == 1


async def test_a_model_that_always_breaks_off_is_reported_and_the_half_sentence_is_still_finished() -> None:
    half = Reply('```python\nawait Step("Main:01:QUE")\nawait Say("user", "Half a sent', LLMRateLimited("Slow down."))
    again = Reply('```python\n# resume: 1\nawait Say("user", "Half a sent', LLMRateLimited("Slow down."))
    model = Model(
        half, again, again, block("# resume: 1", 'await Say("user", "Half a sentence.")', 'await Yld("user")')
    )
    async with talking(one_step(), model) as talk:
        talk.post("go")
        await talk.until(lambda: talk.chat[-1:] == [BUSY])
        await talk.say("and?")
        assert talk.chat == ["Half a sentence.", BUSY]


async def test_a_say_to_nobody_is_refused_with_those_who_are_there() -> None:
    model = Model(turn('await Say("Bobby", "psst")'), block("# resume: 1", 'await Yld("user")'))
    assert await answered(one_step(), model, "go") == []
    assert "nobody called 'Bobby' can be spoken to; known are user, Main, agent 1000" in model.told(1)


async def test_a_target_that_is_only_known_when_it_runs_fails_the_statement() -> None:
    model = Model(
        turn('who = "Bob" + "by"', 'await Say(who, "psst")'),
        block("# resume: 3", 'await Say("user", "There is no Bobby.")', 'await Yld("user")'),
    )
    assert await answered(one_step(), model, "go") == ["There is no Bobby."]
    assert "UnknownTarget: nobody called 'Bobby'" in model.told(1)


async def test_two_people_in_one_conversation_are_told_apart() -> None:
    model = Model(turn(), turn(), turn())
    async with talking(one_step(), model, after="hi") as talk:
        await talk.say("red", name="Ada")
        await talk.say("blue", name="Bob")
    assert "Message from Ada (user): red" in model.told(1)
    assert "Message from Bob (user): blue" in model.told(2)
    assert "People here: Ada, Bob" in model.told(2)


async def test_what_people_write_while_the_model_answers_is_heard_next_and_in_order() -> None:
    gate = anyio.Event()
    slow = Reply(turn('await Say("user", "first")').text, gate=gate)
    model = Model(slow, turn('await Say("user", "second")'))
    async with talking(one_step(), model) as talk:
        talk.post("hi")
        await model.writing.wait()
        talk.post("one")
        talk.post("two", name="Bob")
        talk.post("three")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
        assert talk.chat == ["first", "second"]
    assert "Ada (user): one\nMessage from Bob (user): two\nMessage from Ada (user): three" in model.told(1)


async def test_what_was_written_too_late_for_the_program_is_not_lost_silently() -> None:
    gate = anyio.Event()
    end = Reply(turn('await Say("user", "bye")', end='await Yld("exit")').text, gate=gate)
    model = Model(end, turn('await Say("user", "new")'))
    async with talking(one_step(), model) as talk:
        talk.post("hi")
        await model.writing.wait()
        talk.post("one more thing")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
        assert talk.chat == [
            "bye",
            "The program ended before it read your last message. Your next message begins anew.",
        ]
        assert await talk.say("hello?") == ["new"]


async def test_a_playbook_calls_another_on_the_model_and_gets_its_value() -> None:
    both = program(
        agent(
            "Main",
            llm("Main", "01:QUE Ask Child(); YLD for user", begins=True),
            llm("Child", "01:QUE Think", "02:RET the number", params=("a", "b")),
        )
    )
    child = block(
        'await Step("Child:01:QUE")', 'await Step("Child:02:RET")', 'await Var("__", "done")', "await Return(a + b)"
    )
    model = Model(turn("n = await Child(2, b=3)", 'await Say("user", f"It is {n}.")'), child)
    assert await answered(both, model, "go") == ["It is 5."]
    assert 'Arguments: {"a": 2, "b": 3}' in model.told(1)
    assert "Call stack: Child, Main:01:QUE" in model.told(1)


async def test_a_child_that_is_refused_twice_is_an_exception_of_its_caller() -> None:
    both = program(
        agent("Main", llm("Main", "01:QUE Ask Child(); YLD for user", begins=True), llm("Child", "01:QUE Think"))
    )
    wrong = block('await Step("Child:07:QUE")')
    model = Model(
        turn("n = await Child()"),
        wrong,
        wrong,
        block("# resume: 2", 'await Say("user", "It could not.")', 'await Yld("user")'),
    )
    assert await answered(both, model, "go") == ["It could not."]
    assert "the model's reply was refused twice" in model.told(3)


async def test_a_failure_that_goes_through_several_playbooks_is_told_as_one_cause() -> None:
    deep = program(
        agent(
            "Main",
            llm("Main", "01:QUE Ask Child(); YLD for user", begins=True),
            llm("Child", "01:QUE Ask Grandchild()"),
            llm("Grandchild", "01:QUE Think"),
        )
    )
    wrong = block('await Step("Grandchild:07:QUE")')
    calls = block('await Step("Child:01:QUE")', "n = await Grandchild()")
    again = block('await Step("Child:01:QUE")', "n = await Grandchild()", "await Return(n)")
    main = turn("n = await Child()")
    model = Model(main, calls, wrong, wrong, again, again, main, main)
    async with talking(deep, model) as talk:
        (said,) = await talk.say("go")
    assert said == "⚠️ Grandchild failed: the language model gave no usable answer. Your next message begins anew."
    [failed] = talk.named("playbook.failed")
    assert failed.data["error"].startswith("the model's reply was refused twice in Grandchild: there is no step")
    assert failed.data["error"].count("refused twice") == 1
    assert "executed and failed" in str(talk.facts("rej"))


async def test_a_turn_that_waits_for_its_calls_goes_on_with_what_they_gave() -> None:
    code = "async def Fetch(city):\n    return city.upper()\n"
    model = Model(turn('await Fetch("Oslo")', end='await Yld("call")'), turn('await Say("user", "done")'))
    assert await answered(one_step(python("Fetch", "city"), code=code), model, "go") == ["done"]
    assert 'Fetch gave "OSLO"' in model.told(1)


async def test_a_reply_makes_the_same_tape_in_pieces_of_any_size(sandbox: MontySandbox) -> None:
    kinds = ("start", "stmt", "done", "res", "set", "fin", "rej", "failed", "end", "turn", "ret")
    wrong = block('await Step("Main:01:QUE")', 'await Say("user", f"Who {1 + 1}")', 'await Step("Main:03:YLD")')
    fails = turn("x = 1 / 0")
    mends = block("# resume: 2", "$count = 3", 'await Say("user", f"It is {count}.")', 'await Yld("user")')
    tapes = []
    for piece in (1, 2, 5, 40, 10_000):
        replies = [dataclasses.replace(reply, piece=piece) for reply in (wrong, ASK, GREET, fails, mends)]
        async with talking(HELLO, Model(*replies), sandbox, after=("hi", "Ada")) as talk:
            tapes.append([(fact.kind, fact.data) for fact in talk.world.facts if fact.kind in kinds])
    assert len(tapes[0]) > 10
    assert all(tape == tapes[0] for tape in tapes)


async def test_a_refusal_names_the_rule_and_the_place_and_is_on_the_tape() -> None:
    steps = program(agent("Main", llm("Main", "01:QUE Ask", "02:QUE Tell", begins=True)))
    good = block("# resume: 1", 'await Yld("user")')
    model = Model(block('await Step("Main:01:QUE")', "x = unheard_of"), good)
    async with talking(steps, model, after="hi") as talk:
        assert [rejected["rule"] for rejected in talk.facts("rej")] == ["name"]  # type: ignore[index]
    assert "(rule: name)" in model.told(1)
    assert "Refused: x = unheard_of" in model.told(1)
    assert "You stand at Main:01:QUE." in model.told(1)


async def test_a_reply_of_plain_words_is_said_and_its_answer_awaited() -> None:
    model = Model(Reply("Who are you?"), Reply("Nice to meet you, Ada.\n\nWhat now?"))
    async with talking(one_step(), model) as talk:
        assert await talk.say("hi") == ["Who are you?"]
        assert await talk.say("Ada") == ["Nice to meet you, Ada.\n\nWhat now?"]
    assert "Message from Ada (user): Ada" in model.told(1)


async def test_a_message_that_no_playbook_waits_for_is_answered_with_plain_words() -> None:
    model = Model(Reply("Hello!"), Reply("Hello again!"))
    async with talking(program(agent("Main", llm("Help"))), model) as talk:
        assert await talk.say("hi") == ["Hello!"]
        assert await talk.say("hi") == ["Hello again!"]


async def test_a_trigger_that_the_model_judges_is_named_and_what_was_remarked_is_remembered() -> None:
    helper = replace(llm("Help"), triggers=triggers("EVT When the user wants help"))
    both = program(agent("Main", llm("Main", "01:QUE Ask; YLD for user", "02:QUE Tell", begins=True), helper))
    model = Model(
        block("# recap: it begins", 'await Say("user", "Well?")', 'await Yld("user")'),
        block(
            'await Step("Main:02:QUE")',
            "# trig? Main:Help:T1:EVT",
            'await Trigger("Main:Help:T1:EVT")',
            "await Help()",
            'await Yld("call")',
        ),
        block('await Var("__", "helped")', "await Return()"),
        block('await Say("user", "There you are.")', 'await Yld("user")'),
    )
    async with talking(both, model) as talk:
        assert await talk.say("hi") == ["Well?"]
        assert await talk.say("help me") == ["There you are."]
        assert [event.data["trigger"] for event in talk.named("trigger.fired")] == ["Main:Help:T1:EVT"]
    said = [message.content for message in model.asked[-1] if message.role == "assistant"]
    assert "# recap: it begins" in said[0]
    assert "# trig? Main:Help:T1:EVT" in said[1]
