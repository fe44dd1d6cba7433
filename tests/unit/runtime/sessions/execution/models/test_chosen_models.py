"""Which of several models is asked: the one that the playbook names, its agent, its route, or the purpose."""

from __future__ import annotations

import pytest

from runtime.llm.models import ModelRegistry
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.runtime.execution.processor.walking import compiled, main

pytestmark = pytest.mark.anyio

ASKS = ("- Greet the user", "- If it is late", "  - Tell the user to sleep", "- End program")


def models_of(**replies: list[str]) -> tuple[ModelRegistry, dict[str, Model]]:
    made = {name: Model(*map(Reply, texts)) for name, texts in replies.items()}
    return ModelRegistry(made), made


async def test_choices_and_values_are_the_fast_models_and_words_the_defaults(sandbox: MontySandbox) -> None:
    models, made = models_of(default=["Hello!", "Sleep well."], fast=["yes"])
    async with talking(await compiled(main(*ASKS)), models, sandbox) as talk:
        assert await talk.say("hi") == ["Hello!", "Sleep well."]
    assert [len(one.asked) for one in made.values()] == [2, 1]


async def test_without_a_fast_model_questions_share_a_reply(sandbox: MontySandbox) -> None:
    models, made = models_of(default=["[1] Hello!\n[2] yes", "Sleep well."])
    async with talking(await compiled(main(*ASKS)), models, sandbox) as talk:
        assert await talk.say("hi") == ["Hello!", "Sleep well."]
    assert len(made["default"].asked) == 2


@pytest.mark.parametrize(
    ("head", "route", "asked"),
    [
        ("# Host\nmodel: big", {}, "big"),
        ("# Host\nmodel: big", {"test": "other"}, "big"),
        ("# Host", {"test": "other"}, "other"),
        ("# Host", {}, "default"),
    ],
)
async def test_what_the_program_names_goes_before_the_route_and_the_route_before_the_purpose(
    head: str, route: dict[str, str], asked: str, sandbox: MontySandbox
) -> None:
    script = ["[1] Hello!\n[2] no"] if asked != "default" else ["Hello!"]
    names = {"default": list[str](), "fast": ["no"], "big": list[str](), "other": list[str]()}
    models, made = models_of(**{**names, asked: script})
    program = await compiled(main(*ASKS, head=head))
    async with talking({"test": program}, models, sandbox, models=route) as talk:
        assert await talk.say("hi") == ["Hello!"]
    assert {name for name, one in made.items() if one.asked} == {asked} | ({"fast"} if asked == "default" else set())


async def test_a_playbooks_model_goes_before_its_agents(sandbox: MontySandbox) -> None:
    more = "## Help\nmodel: small\n### Steps\n- Tell the user about help"
    program = await compiled(
        main("- Help()", "- Greet the user", "- End program", head="# Host\nmodel: big", more=more)
    )
    models, _ = models_of(default=[], small=["Help is near."], big=["Hello!"])
    async with talking(program, models, sandbox) as talk:
        assert await talk.say("hi") == ["Help is near.", "Hello!"]
