"""The model that writes statements is told the rules for what its program uses, and no others."""

import pytest
from msgspec.structs import replace

from runtime.execution.free.prompt import system_text
from runtime.execution.free.statement_rules import rules_now
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, program, python, triggers, walked

OPTIONAL = (
    "ReadFile",
    "SendFile",
    "Ask(",
    "ack_within_s",
    "Remind",
    "Log(",
    "LoadArtifact",
    "Share(",
    "InviteToMeeting",
    "Trigger(",
    "await Var(",
    '"Scout", text)',
    "CND",
    "await Playbook(",
    '"__"',
)


def told(*playbooks: PlaybookSpec, others: tuple[AgentSpec, ...] = (), executes: str = "Main") -> str:
    """The rules alone, without the program behind them."""
    main = agent("Main", *playbooks)
    return system_text(program(main, *others), main, executes).partition("\n\nThe program:\n\n")[0]


def main(description: str = "Talk about the weather.", *lines: str) -> PlaybookSpec:
    return replace(llm("Main", *lines), description=description)


def test_a_program_that_only_talks_is_told_only_how_to_talk() -> None:
    rules = told(main())
    assert [rule for rule in OPTIONAL if rule in rules] == []
    assert 'await Say("user"' in rules
    assert 'await Yld("user")' in rules
    assert len(rules) < 1200


@pytest.mark.parametrize(
    ("description", "rules"),
    [
        ("Read the file that the user sent.", {"ReadFile", "SendFile"}),
        ("Summarise their profile.", set()),
        ("Ask the user for their name.", {"Ask("}),
        ("Make sure that Scout acknowledges it.", {"ack_within_s"}),
        ("Remind them tomorrow.", {"Remind"}),
        ("Log who came.", {"Log("}),
        ("Speak of logic.", set()),
        ("Keep the report as an artifact.", {"LoadArtifact"}),
        ("Set $mood.", {"await Var("}),
    ],
)
def test_what_a_text_of_the_agent_names_is_told_of(description: str, rules: set[str]) -> None:
    assert {rule for rule in OPTIONAL if rule in told(main(description))} == rules


def test_steps_are_explained_where_a_model_sees_them() -> None:
    assert "CND" in told(main("Talk.", "01:QUE Say(user, hello)"))
    assert "CND" not in told(walked("Main", "01:QUE Say(user, hello)"))


def test_meetings_are_explained_to_agents_that_have_one() -> None:
    talk = replace(llm("Talk"), metadata={"meeting": True})
    rules = told(main(), talk)
    assert "InviteToMeeting" in rules
    assert "Share(" in rules


def test_other_agents_and_calls_are_explained_where_there_are_some() -> None:
    scout = agent("Scout", replace(python("Look"), metadata={"public": True}))
    rules = told(main(), others=(scout,))
    assert '"Scout", text)' in rules
    assert "await Playbook(" in rules
    person = AgentSpec("Ada", AgentKind.HUMAN, SPAN)
    assert '"Scout", text)' not in told(main(), others=(person,))


def test_triggers_are_explained_where_a_model_judges_them() -> None:
    judged = replace(llm("Help"), triggers=triggers("EVT When the user wants help"))
    computed = replace(llm("Help"), triggers=triggers("CND When $heat > 10"))
    assert "Trigger(" in told(main(), judged)
    assert "Trigger(" not in told(main(), computed)


def test_a_summary_is_wanted_where_somebody_may_call() -> None:
    assert '"__"' in told(main(), llm("Research"))
    assert '"__"' in told(replace(main(), metadata={"public": True, "execution_mode": "react"}))
    assert '"__"' not in told(main(), python("Fetch"))


def test_what_stays_the_same_for_all_playbooks_of_an_agent_is_the_same_text() -> None:
    both = agent("Main", main(), llm("Research"))
    assert system_text(program(both), both, "Main") == system_text(program(both), both, "Research")


def test_a_walked_playbook_is_shown_by_its_head_and_with_its_script_where_it_is_executed() -> None:
    order = replace(walked("Order", '01:QUE Say(user, "Which one?"); YLD for user'), description="Takes an order.")
    both = agent("Main", main(), order)
    seen, executed = (system_text(program(both), both, name) for name in ("Main", "Order"))
    assert "## Order()\nTakes an order." in seen
    assert "Which one?" not in seen
    assert "Which one?" in executed
    assert "YLD for user" not in executed.partition("The program:")[2]


def test_what_comes_up_later_is_told_then_and_only_once() -> None:
    lacking = told(main())
    assert "ReadFile" in rules_now(lacking, "", files=True, meeting=False)
    assert "InviteToMeeting" in rules_now(lacking, "", files=False, meeting=True)
    assert "SaveArtifact" in rules_now(lacking, 'artifact [LoadArtifact("a") shows it]', files=False, meeting=False)
    assert rules_now(lacking, "", files=False, meeting=False) == ""
    knows = told(main("Read the file."))
    assert rules_now(knows, "", files=True, meeting=False) == ""
