"""What a model is told belongs to the playbook that it executes: what the called ones went through goes with them."""

from msgspec.structs import replace

from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

BOTH = program(
    agent(
        "Main",
        llm("Main", "01:QUE Ask", "02:QUE Call Child", "03:QUE Say it; YLD for user", begins=True),
        llm("Child", "01:QUE Ask more; YLD for user", "02:RET the number"),
    )
)


def told(model: Model, index: int) -> str:
    """Everything in one prompt."""
    return "\n".join(message.content for message in model.asked[index])


async def test_a_called_playbook_sees_its_own_turns_and_its_caller_only_what_it_returned() -> None:
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            "# think: a thought of the caller",
            'await Say("user", "caller speaks")',
            'await Step("Main:02:QUE")',
            "n = await Child()",
            'await Yld("call")',
        ),
        block(
            'await Step("Child:01:QUE")', "# think: deep inside", 'await Say("user", "How many?")', 'await Yld("user")'
        ),
        block('await Step("Child:02:RET")', 'await Var("__", "asked for it")', "await Return(17)"),
        block('await Step("Main:03:QUE")', 'await Say("user", f"So {n}.")', 'await Yld("user")'),
    )
    async with talking(BOTH, model) as talk:
        assert await talk.say("hello there") == ["caller speaks", "How many?"]
        assert await talk.say("seventeen of them") == ["So 17."]
    assert model.left == 0
    assert "a thought of the caller" not in told(model, 1) + told(model, 2)
    assert "Call stack: Child, Main:02:QUE" in told(model, 1)
    assert "deep inside" in told(model, 2)
    assert "seventeen of them" in told(model, 2)
    behind = told(model, 3)
    assert "a thought of the caller" in behind
    assert "Child gave 17" in behind
    assert "asked for it" in behind
    assert not [words for words in ("deep inside", "How many?", "seventeen of them") if words in behind]


async def test_a_hidden_playbook_is_told_of_only_to_the_model_that_executes_it() -> None:
    secret = replace(
        llm("Secret", "01:RET what is behind the curtain"), metadata={"hidden": True, "execution_mode": "react"}
    )
    far = replace(llm("Far", "01:RET nothing"), metadata={"hidden": True, "public": True, "execution_mode": "react"})
    main = llm("Main", "01:QUE Begin", "02:YLD for user", begins=True)
    go = "async def Go():\n    return await Secret() + await Other.Far()\n"
    both = program(agent("Main", main, secret, python("Go"), code=go), agent("Other", far))
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            'await Say("user", await Go())',
            'await Step("Main:02:YLD")',
            'await Yld("user")',
        ),
        block('await Step("Secret:01:RET")', 'await Var("__", "said it")', 'await Return("a ")'),
        block('await Step("Far:01:RET")', 'await Var("__", "said it")', 'await Return("cat")'),
    )
    assert await answered(both, model, "hi") == ["a cat"]
    assert ["behind the curtain" in told(model, turn) for turn in range(3)] == [False, True, False]
    assert ["Far()" in told(model, turn) for turn in range(3)] == [False, False, True]
