"""Which step may come after which."""

from __future__ import annotations

from runtime.language.flow import Flow
from runtime.language.pbasm.notation import read


def flow(*steps: str) -> Flow:
    text = "# A\n## Main()\n### Steps\n" + "".join(f"- {step}\n" for step in steps)
    return Flow(read(text, "a.pbasm").agents[0].playbooks[0])


def after(graph: Flow, line: str | None) -> str:
    return " ".join(step.line for step in graph.legal_after(line)) + (" end" if graph.may_end(line) else "")


def test_plain_steps_follow_one_another_and_none_is_skipped() -> None:
    graph = flow("01:EXE a", "02:TNK b", "03:CHK N1")
    assert [after(graph, line) for line in (None, "01", "02", "03")] == ["01", "02", "03", " end"]
    assert graph.entry == {"01"}
    assert not graph.may_follow("01", "03")
    assert not graph.may_follow("02", "01")
    assert not graph.may_follow("01", "99")
    assert not graph.may_follow("99", "01")


def test_body_of_a_condition_may_be_skipped_but_not_begun_in_the_middle() -> None:
    graph = flow("01:CND If x", "01.01:EXE a", "01.02:EXE b", "02:EXE c")
    assert after(graph, "01") == "01.01 02"
    assert after(graph, "01.01") == "01.02"
    assert after(graph, "01.02") == "02"


def test_condition_at_the_end_may_end_without_its_body() -> None:
    assert after(flow("01:CND If x", "01.01:EXE a"), "01") == "01.01 end"


def test_else_comes_only_after_a_condition_whose_body_was_not_taken() -> None:
    graph = flow("01:CND If x", "01.01:EXE a", "02:CND Otherwise", "02.01:EXE b", "03:EXE c")
    assert after(graph, "01") == "01.01 02"
    assert after(graph, "01.01") == "03"
    assert after(graph, "02") == "02.01"
    assert after(graph, "02.01") == "03"


def test_chain_of_elses_takes_one_branch() -> None:
    graph = flow("01:CND If x", "01.01:EXE a", "02:CND Else if y", "02.01:EXE b", "03:ELS", "03.01:EXE c", "04:EXE d")
    assert after(graph, "01") == "01.01 02 03"
    assert after(graph, "01.01") == "04"
    assert after(graph, "02") == "02.01 03"
    assert after(graph, "02.01") == "04"
    assert after(graph, "03") == "03.01"


def test_chain_without_a_last_else_may_be_left() -> None:
    graph = flow("01:CND If x", "01.01:EXE a", "02:CND Otherwise, if y", "02.01:EXE b", "03:EXE c")
    assert after(graph, "01") == "01.01 02 03"
    assert after(graph, "02") == "02.01 03"


def test_else_without_a_condition_before_it_is_a_plain_step() -> None:
    graph = flow("01:EXE a", "02:CND Otherwise", "02.01:EXE b", "03:EXE c")
    assert [after(graph, line) for line in ("01", "02", "02.01")] == ["02", "02.01", "03"]


def test_loop_goes_back_and_beyond() -> None:
    graph = flow("01:CND While x", "01.01:EXE a", "01.02:JMP 01", "02:EXE b")
    assert after(graph, "01") == "01.01 02"
    assert after(graph, "01.01") == "01 01.02"
    assert after(graph, "01.02") == "01"
    assert not graph.may_follow("02", "01")


def test_loop_by_its_words_needs_no_jump() -> None:
    for words in ("CND For each x", "CND until x", "CND Repeat", "LOP x", "CND As long as x"):
        graph = flow(f"01:{words}", "01.01:EXE a", "01.02:EXE b", "02:EXE c")
        assert after(graph, "01.02") == "01 02", words


def test_condition_with_a_jump_back_is_a_loop() -> None:
    graph = flow("01:CND If x is not valid", "01.01:EXE a", "01.02:JMP 01", "02:EXE b")
    assert after(graph, "01.02") == "01"


def test_inner_loop_comes_back_to_the_outer_one() -> None:
    graph = flow("01:CND While x", "01.01:CND For each y", "01.01.01:EXE a", "01.01.02:JMP 01.01", "01.02:JMP 01")
    assert after(graph, "01.01.01") == "01.01 01.01.02"
    assert after(graph, "01.01") == "01 01.01.01 01.02"
    assert after(graph, "01") == "01.01 end"


def test_last_condition_of_a_loop_goes_back_from_its_body() -> None:
    graph = flow("01:CND While x", "01.01:CND If y", "01.01.01:EXE a", "02:EXE b")
    assert after(graph, "01.01.01") == "01 02"
    assert after(graph, "01.01") == "01 01.01.01 02"


def test_jump_forward_skips_what_is_between() -> None:
    graph = flow("01:CND If x", "01.01:JMP 03", "02:EXE a", "03:EXE b")
    assert after(graph, "01") == "01.01 02 03"
    assert after(graph, "01.01") == "03"


def test_jump_with_a_condition_may_fall_through() -> None:
    graph = flow("01:EXE a", "02:JMP 01 if it failed", "03:EXE b")
    assert after(graph, "02") == "01 03"


def test_jumps_in_a_circle_end_nowhere_and_do_not_hang() -> None:
    graph = flow("01:JMP 02", "02:JMP 01")
    assert after(graph, None) == "01 02"
    assert after(graph, "01") == "01 02"


def test_return_and_exit_end() -> None:
    graph = flow("01:CND If x", "01.01:RET 1", "02:YLD for exit", "03:EXE a")
    assert after(graph, "01.01") == " end"
    assert after(graph, "02") == " end"
    assert after(flow("01:QUE Say(user, bye); YLD for exit", "02:EXE a"), "01") == " end"


def test_step_that_waits_for_somebody_may_be_repeated() -> None:
    graph = flow("01:QUE Say(user, x?); YLD for user; done when y", "02:YLD for meeting", "03:QUE F(); YLD for call")
    assert after(graph, "01") == "01 02"
    assert after(graph, "02") == "02 03"
    assert after(graph, "03") == " end"


def test_break_leaves_the_loop_and_continue_begins_it_again() -> None:
    graph = flow(
        "01:CND While x", "01.01:EXE break the loop if y", "01.02:EXE continue unless z", "01.03:EXE a", "02:EXE b"
    )
    assert after(graph, "01.01") == "01.02 02"
    assert after(graph, "01.02") == "01 01.03"


def test_a_step_that_only_breaks_or_continues_goes_nowhere_else() -> None:
    graph = flow(
        "01:CND While x",
        "01.01:CND If y",
        "01.01.01:EXE Break",
        "01.02:EXE a",
        "01.03:CND If z",
        "01.03.01:EXE Continue",
        "02:EXE b",
    )
    assert (after(graph, "01.01.01"), after(graph, "01.03.01")) == ("02", "01")


def test_steps_below_a_plain_step_are_all_done() -> None:
    graph = flow("01:EXE do this", "01.01:EXE a", "01.02:EXE b", "02:EXE c")
    assert [after(graph, line) for line in ("01", "01.01", "01.02")] == ["01.01", "01.02", "02"]


def test_playbook_without_steps_has_no_flow() -> None:
    graph = flow()
    assert graph.entry == frozenset()
    assert graph.may_end(None)
    assert graph.legal_after(None) == ()


def test_a_step_or_a_note_may_let_a_playbook_end_before_its_steps_do() -> None:
    lines = ("01:EXE Look, and return early if there is nothing", "02:EXE Work", "03:EXE Rest")
    graph = flow(*lines)
    assert [graph.may_leave(line) for line in ("01", "02", "03")] == [True, False, True]
    body = "".join(f"- {line}\n" for line in lines)
    text = f"# A\n## Main()\n### Steps\n{body}### Notes\n- N1 On goodbye, end the program.\n"
    noted = Flow(read(text, "a.pbasm").agents[0].playbooks[0])
    assert all(noted.may_leave(line) for line in ("01", "02", "03"))
    assert not noted.may_end("02")
