"""Decoding: what each line of PBAsm has the runtime do, and what stays a question or free."""

from pathlib import Path

import pytest

from runtime.language.compiler import compile_program
from runtime.language.diagnostics import Span
from runtime.language.instructions.actions import GIVEN
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.decode import decode, decode_playbook
from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.model import (
    Ask,
    BranchSide,
    Call,
    CallArgument,
    Condition,
    End,
    Free,
    Jump,
    Leave,
    Loop,
    LoopKind,
    Meaning,
    PlaybookCode,
    Prose,
    Return,
    Say,
    Set,
    StepGroup,
    Template,
    Think,
    VariableTarget,
    Wait,
)
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import OpCode, PlaybookSpec, Step
from tests.language.test_programs import EXAMPLES, PROGRAMS

SPAN = Span("test.pb", 1)
BELOW = Step("01.01", OpCode.QUE, "Say(user, Go on)", SPAN)


def parts(line: str, *children: Step) -> tuple[Meaning, ...]:
    """What `QUE text` does."""
    op, _, text = line.partition(" ")
    return decode(Step("01", OpCode(op), text, SPAN, children)).parts


def one(line: str, *children: Step) -> Meaning:
    [part] = parts(line, *children)
    return part


def exact(text: str) -> Expression:
    found = read_expression(text) or read_condition(text)
    assert found is not None, text
    return found


def words(*parts: str) -> Template:
    """`$x` stands for its value."""
    return Template(tuple(exact(part) if part.startswith("$") else part for part in parts))


X, X_INT = VariableTarget("x"), VariableTarget("x", "int")


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("QUE Say(user, Greet the user)", Say(("user",), Prose("Greet the user"))),
        ("QUE Say(Greet the user)", Say(("user",), Prose("Greet the user"))),
        ("QUE Say(user, it's fine, isn't it)", Say(("user",), Prose("it's fine, isn't it"))),
        ("QUE Say(user, a; b)", Say(("user",), Prose("a; b"))),
        ('QUE Say(user, "Hello; hi, you")', Say(("user",), words("Hello; hi, you"))),
        ('QUE Say(user, Say "Hello {$x}.")', Say(("user",), words("Hello ", "$x", "."))),
        ('QUE Say(user, Welcome the user by saying "Hello.")', Say(("user",), words("Hello."))),
        ('QUE Say(user, Thank them with the words "Hello.")', Say(("user",), words("Hello."))),
        ('QUE Say(user, Thank them with a "bow")', Say(("user",), Prose('Thank them with a "bow"'))),
        ('QUE Say("user", Tell the user: "It is $x.y")', Say(("user",), words("It is ", "$x.y"))),
        (
            'QUE Say(user, Say "{the month in French}")',
            Say(("user",), Prose('say exactly "{the month in French}", with what stands in braces filled in')),
        ),
        ('QUE Say(user, Tell the user that $x is "big")', Say(("user",), Prose('Tell the user that $x is "big"'))),
        ("QUE Say(user, Hi); Say(Bob, the same)", Say(("user", "Bob"), Prose("Hi"))),
        ("QUE Say($who, Hi)", Say(("$who",), Prose("Hi"))),
    ],
)
def test_messages_are_exact_where_they_are_quoted_as_a_whole(line: str, does: Meaning) -> None:
    assert one(line) == does


NAME = VariableTarget("name", "str")
FOR_NAME = Prose("Ask for $name:str")


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("QUE Say(user, Ask for $name:str); YLD for user", Ask(("user",), FOR_NAME, ("user",), (NAME,))),
        (
            "QUE Say(user, Ask for $name:str); YLD for the user; done when user gave $name",
            Ask(("user",), FOR_NAME, ("user",), (NAME,)),
        ),
        (
            "QUE Say(user, Ask for $a and $b:int); YLD for user; done when the user gave $a and $b",
            Ask(
                ("user",), Prose("Ask for $a and $b:int"), ("user",), (VariableTarget("a"), VariableTarget("b", "int"))
            ),
        ),
        ("QUE Say(user, Chat); YLD for user; done when the user answered", Ask(("user",), Prose("Chat"), ("user",))),
        (
            "QUE Say(user, Chat); YLD for user; done when the user is content",
            Ask(("user",), Prose("Chat"), ("user",), (), Prose("the user is content")),
        ),
        (
            "QUE Say(user, Chat); YLD for user; done when $x is at least 3",
            Ask(("user",), Prose("Chat"), ("user",), (), exact("$x is at least 3")),
        ),
        (
            "QUE Say(meeting, Discuss it); YLD for meeting",
            Ask(("meeting",), Prose("Discuss it"), ("meeting",), takes_part=True),
        ),
        ("QUE Say(meeting, Greet all); YLD for meeting", Ask(("meeting",), Prose("Greet all"), ("meeting",))),
        ('QUE Say(user, "Well?"); YLD for user', Ask(("user",), words("Well?"), ("user",))),
        ("YLD for user", Wait(("user",))),
        ("QUE YLD for meeting", Wait(("meeting",))),
        ("YLD for user; YLD for agent Bob", Wait(("user", "agent Bob"))),
        ('QUE Yld("user")', Wait(("user",))),
        ("YLD for exit", End()),
        ("QUE EndProgram()", End()),
        ("YLD for return", Return()),
        ("YLD for call", StepGroup("")),
    ],
)
def test_questions_and_waits(line: str, does: Meaning) -> None:
    assert one(line) == does


@pytest.mark.parametrize(
    ("said", "comes_to"),
    [
        ("{n * price}", "6"),
        ("{$n * $price}", "6"),
        ("{order.total}", "9"),
        ("{len(items)}", "2"),
        ("{', '.join(item.upper() for item in items)}", "TEA, JAM"),
        ("{items[n]}", "jam"),
    ],
)
def test_a_plain_name_between_braces_is_a_variables(said: str, comes_to: str) -> None:
    say = one(f'QUE Say(user, "{said}")')
    assert isinstance(say, Say)
    assert isinstance(say.words, Template)
    [expression] = say.words.parts
    assert isinstance(expression, Expression)
    names = {"n": 1, "price": 6, "order": {"total": 9}, "items": ["tea", "jam"]}
    assert str(expression.evaluate(names)) == comes_to


def test_the_last_of_several_messages_is_the_one_that_is_waited_for() -> None:
    assert parts("QUE Say(user, Hi); Say(Bob, Ho); YLD for agent Bob") == (
        Say(("user",), Prose("Hi")),
        Ask(("Bob",), Prose("Ho"), ("agent Bob",)),
    )


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("QUE $x = 3", Set((X,), exact("3"))),
        ("EXE $x:int = $y + 1", Set((X_INT,), exact("$y + 1"))),
        ("QUE $x:dict[str, int] = {}", Set((VariableTarget("x", "dict[str, int]"),), exact("{}"))),
        ("QUE $x:int|None = 3", Set((VariableTarget("x", "int|None"),), exact("3"))),
        ("QUE $x, $y = 1, 2", Set((X, VariableTarget("y")), exact("1, 2"))),
        ("QUE $x.y[0] = 3", Set((VariableTarget("x", "", ("y", exact("0"))),), exact("3"))),
        ("QUE $x += 2", Set((X,), exact("2"), "+")),
        ("QUE $x++", Set((X,), exact("1"), "+")),
        ("QUE Set $x:int to 3.", Set((X_INT,), exact("3"))),
        ("QUE Let $x be $y", Set((X,), exact("$y"))),
        ("QUE Increment $x", Set((X,), exact("1"), "+")),
        ("QUE Decrease $x by $y.", Set((X,), exact("$y"), "-")),
        ("QUE Add $y to $x", Set((X,), exact("$y"), "+")),
        ("QUE Subtract 3 from $x", Set((X,), exact("3"), "-")),
        ("QUE $x = the user's name", Set((X,), Prose("the user's name"))),
        ("QUE Set $x to the larger one", Set((X,), Prose("the larger one"))),
        ("QUE Set $x to 2026-10-12", Set((X,), Prose("2026-10-12"))),
        ("QUE Compute $x:int from the order", Set((X_INT,), Prose("Compute $x:int from the order"))),
        ("QUE Summarize the talk in $x", Set((X,), Prose("Summarize the talk in $x"))),
        ("TNK Decide on $x:int", Set((X_INT,), Prose("Decide on $x:int"))),
        ("TNK Think about $x", Think(Prose("Think about $x"))),
    ],
)
def test_assignments_are_exact_where_their_values_are(line: str, does: Meaning) -> None:
    assert one(line) == does


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("QUE Get()", Call("Get")),
        ("QUE await Get($x)", Call("Get", (CallArgument("", exact("$x")),))),
        ("QUE Get($x:int)", Call("Get", (CallArgument("", exact("$x")),))),
        ("QUE Bob.Get(n=$x, $m=2)", Call("Bob.Get", (CallArgument("n", exact("$x")), CallArgument("m", exact("2"))))),
        ("QUE Get(it's, 'a, b')", Call("Get", (CallArgument("", Prose("it's")), CallArgument("", exact("'a, b'"))))),
        ("QUE Get(the best one)", Call("Get", (CallArgument("", Prose("the best one")),))),
        ("QUE Get([Alice, Bob])", Call("Get", (CallArgument("", exact('["Alice", "Bob"]')),))),
        ("QUE Get($x): only the last ones", Call("Get", (CallArgument("", exact("$x")),), None, "only the last ones")),
        ("QUE $x:int = Get(1); YLD for call", Call("Get", (CallArgument("", exact("1")),), X_INT)),
        ("QUE $x = Get(1): each day; YLD for call", Call("Get", (CallArgument("", exact("1")),), X, "each day")),
        ("QUE $x = 1 + Get(1)", Set((X,), exact("1 + Get(1)"))),
        ("QUE $x += Get(1)", Set((X,), exact("Get(1)"), "+")),
    ],
)
def test_calls(line: str, does: Meaning) -> None:
    assert one(line) == does


CALLED = Call("Get", (CallArgument("", Prose("the best")),), VariableTarget(GIVEN))


@pytest.mark.parametrize(
    ("line", "then"),
    [
        ("QUE $x, $y = Get(the best)", Set((X, VariableTarget("y")), exact(f"${GIVEN}"))),
        ("QUE $x.y = Get(the best)", Set((VariableTarget("x", "", ("y",)),), exact(f"${GIVEN}"))),
        ("QUE $x += Get(the best)", Set((X,), exact(f"${GIVEN}"), "+")),
        ("RET Get(the best)", Return(exact(f"${GIVEN}"))),
    ],
)
def test_a_call_with_arguments_in_words_is_made_before_its_result_is_used(line: str, then: Meaning) -> None:
    assert parts(line) == (CALLED, then)


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("RET ", (Return(),)),
        ("RET $x", (Return(exact("$x")),)),
        ('RET "done"', (Return(exact('"done"')),)),
        ("RET Get($x)", (Return(exact("Get($x)")),)),
        ("RET the best answer", (Return(Prose("the best answer")),)),
        ("QUE Return($x)", (Return(exact("$x")),)),
        ("RET $x = 3; return $x", (Set((X,), exact("3")), Return(exact("$x")))),
        ("RET Say(user, Bye); return", (Say(("user",), Prose("Bye")), Return())),
        ("RET Say(user, Bye)", (Say(("user",), Prose("Bye")), Return())),
        ("JMP 02.01", (Jump("02.01"),)),
        ("JMP to step 03", (Jump("03"),)),
        ("JMP 03 if $x > 3", (Jump("03", exact("$x > 3")),)),
        ("JMP 03 unless the user agrees", (Jump("03", Prose("the user agrees"), unless=True),)),
        ("JMP 03 until $x is 3", (Jump("03", exact("$x is 3"), unless=True),)),
        ("QUE break", (Leave(),)),
        ("EXE Exit the loop.", (Leave(),)),
        ("QUE Continue with the next item", (Leave(next_round=True),)),
        ("QUE ", (StepGroup(""),)),
    ],
)
def test_returns_jumps_and_ways_out_of_loops(line: str, does: tuple[Meaning, ...]) -> None:
    assert parts(line) == does


@pytest.mark.parametrize(
    ("line", "side", "test"),
    [
        ("CND If $x > 3", BranchSide.IF, exact("$x > 3")),
        ("CND When $x is even:", BranchSide.IF, exact("$x is even")),
        ("CND $x is given", BranchSide.IF, exact("$x is given")),
        ("CND If the user agrees", BranchSide.IF, Prose("the user agrees")),
        ("CND If $mood is angry", BranchSide.IF, Prose("$mood is angry")),
        ("CND Unless $x > 3", BranchSide.IF, exact("not ($x > 3)")),
        ("CND Unless the user agrees", BranchSide.IF, Prose("it is not so that the user agrees")),
        ("CND Else if $x", BranchSide.ELSE_IF, exact("$x")),
        ("CND Else, if $x", BranchSide.ELSE_IF, exact("$x")),
        ("CND Otherwise, if they ask", BranchSide.ELSE_IF, Prose("they ask")),
        ("ELS if $x", BranchSide.ELSE_IF, exact("$x")),
        ("CND Otherwise:", BranchSide.ELSE, None),
        ("ELS ", BranchSide.ELSE, None),
    ],
)
def test_conditions(line: str, side: BranchSide, test: Expression | Prose | None) -> None:
    assert one(line, BELOW) == Condition(side, test)


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("CND While $x < 3", Loop(LoopKind.WHILE, exact("$x < 3"))),
        ("LOP As long as the user has questions", Loop(LoopKind.WHILE, Prose("the user has questions"))),
        ("CND Until $x is 3", Loop(LoopKind.UNTIL, exact("$x is 3"))),
        ("CND Repeat until the user is content", Loop(LoopKind.UNTIL, Prose("the user is content"), body_first=True)),
        ("CND Do this until $x is 3", Loop(LoopKind.UNTIL, exact("$x is 3"), body_first=True)),
        ("CND While $x, up to 3 times", Loop(LoopKind.WHILE, exact("$x"), at_most=3)),
        ("CND For each $x in $list", Loop(LoopKind.EACH, exact("$list"), X)),
        ("CND For every item $x:int of [1, 2]", Loop(LoopKind.EACH, exact("[1, 2]"), VariableTarget("x", "int"))),
        ("CND For all $x in the list", Loop(LoopKind.EACH, Prose("the list"), X)),
        ("CND Repeat 3 times", Loop(LoopKind.TIMES, exact("3"))),
        ("CND Repeat $n times:", Loop(LoopKind.TIMES, exact("$n"))),
        ("CND Five times", Loop(LoopKind.TIMES, exact("5"))),
        ("LOP up to 3 iterations", Loop(LoopKind.TIMES, exact("3"))),
        ("LOP forever", Loop(LoopKind.WHILE, exact("True"))),
        ("LOP the guests are at the table", Loop(LoopKind.WHILE, Prose("the guests are at the table"))),
    ],
)
def test_loops(line: str, does: Meaning) -> None:
    assert one(line, BELOW) == does


def test_a_condition_that_is_jumped_back_to_from_below_is_a_loop() -> None:
    back = Step("01.02", OpCode.JMP, "01", SPAN)
    assert one("CND If $x > 3", BELOW, back) == Loop(LoopKind.WHILE, exact("$x > 3"))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("QUE Help the user choose a wine", "no known kind"),
        ("QUE Help the user choose; Get($x)", "several clauses"),
        ("QUE Chat; YLD for user", "several clauses"),
        ("QUE Get($x) and tell the user", "no known kind"),
        ("QUE Get(", "no known kind"),
        ("QUE $x == 3", "no known kind"),
        ("QUE Add the item to $list", "no known kind"),
        ("CND When they agree, say hello", "in the same sentence"),
        ("JMP the beginning", "without a name"),
        ("CHK N1", "applies a note"),
    ],
)
def test_what_is_not_surely_understood_is_free_as_a_whole_and_says_why(line: str, why: str) -> None:
    free = one(line)
    assert isinstance(free, Free)
    assert why in free.why
    assert free.text.text == line.partition(" ")[2]


def test_a_free_heading_is_no_step_of_its_own() -> None:
    assert one("QUE Prepare the table", BELOW) == StepGroup("Prepare the table")


def test_a_note_is_applied_in_its_own_words() -> None:
    step = Step("01", OpCode.CHK, "N2", SPAN)
    [part] = decode(step, {"2": "Never name prices"}).parts
    assert isinstance(part, Free)
    assert part.text.text == "Apply the note: Never name prices"


async def walked(path: Path) -> list[PlaybookSpec]:
    compiled = (await compile_program([path], lowerer=RulesLowerer())).program
    return [playbook for agent in compiled.agents for playbook in agent.playbooks if playbook.walked]


@pytest.mark.parametrize("path", [*PROGRAMS, *EXAMPLES], ids=lambda path: path.name)
async def test_every_program_decodes_with_each_line_in_its_place(path: Path) -> None:
    for playbook in await walked(path):
        code = decode_playbook(playbook)
        assert set(code.nodes) == {step.line for step in playbook.walk_steps()}
        for line, node in code.nodes.items():
            assert node.instruction.parts, f"{line} does nothing"
            assert line in node.beside
            assert node.parent is None or line in code.nodes[node.parent].below
            for part in node.instruction.parts:
                assert not isinstance(part, Free) or part.why
                assert not isinstance(part, Jump) or part.line in code.nodes


async def test_a_playbook_is_decoded_once_for_all_sessions() -> None:
    [playbook] = await walked(next(path for path in EXAMPLES if path.name == "hello.pb"))
    assert decode_playbook(playbook) is decode_playbook(playbook)
    assert isinstance(decode_playbook(playbook), PlaybookCode)


@pytest.mark.parametrize(
    "start", ["", "Repeat", "Repeat up to", "For", "For each", "While $a", "Repeat until $a", "If $a"]
)
def test_a_line_of_control_flow_is_read_in_proportion_to_its_length(start: str) -> None:
    """No expression reads blanks again from each of them: that would not end within the test."""
    step = Step("01", OpCode.CND, start + " " * 100_000 + "it is late", Span("p.pb", 1))
    assert decode(step).parts


@pytest.mark.parametrize(
    ("text", "at_most"),
    [
        ("While $a, at most 3 times", 3),
        ("While $a ; up to three times", 3),
        ("While $a but at most 4 tries", 4),
        ("While $a   (max 5 rounds)", 5),
        ("While $a", None),
    ],
)
def test_the_largest_number_of_rounds_is_found_behind_any_mark(text: str, at_most: int | None) -> None:
    (loop,) = decode(Step("01", OpCode.CND, text, Span("p.pb", 1))).parts
    assert isinstance(loop, Loop)
    assert loop.at_most == at_most
    assert loop.over == read_condition("$a")


@pytest.mark.parametrize(
    "text", ["Repeat exactly 3 times", "do this 3x", "For up to   3 rounds:", "3 times", "loop 3 tries"]
)
def test_a_number_of_times_is_a_loop_of_so_many_rounds(text: str) -> None:
    (loop,) = decode(Step("01", OpCode.CND, text, Span("p.pb", 1))).parts
    assert isinstance(loop, Loop)
    assert (loop.kind, loop.over) == (LoopKind.TIMES, read_expression("3"))
