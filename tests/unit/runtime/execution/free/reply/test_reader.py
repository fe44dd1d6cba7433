"""Reading a model's reply in pieces."""

import ast
import itertools
import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.execution.free.reply.lexer import (
    BrokenCode,
    ReplyItem,
    ReplyProse,
    ReplyRemark,
    ReplyStatement,
    SayHeld,
    SayName,
    SayStarted,
    SayText,
)
from runtime.execution.free.reply.reader import ReplyReader


def joined(items: list[ReplyItem]) -> list[ReplyItem]:
    """The items with neighbouring texts made one."""
    result: list[ReplyItem] = []
    for item in items:
        if isinstance(item, SayText) and result and isinstance(result[-1], SayText):
            result[-1] = SayText(result[-1].text + item.text)
        else:
            result.append(item)
    return result


def read(*pieces: str) -> list[ReplyItem]:
    reader = ReplyReader()
    items = [item for piece in pieces for item in reader.feed(piece)]
    return joined(items + reader.close())


def code(text: str) -> list[ReplyItem]:
    return read(f"```python\n{text}\n```\n")


def said(text: str) -> list[ReplyItem]:
    """What is given of a Say before its statement."""
    return [item for item in code(text) if isinstance(item, SayText | SayName | SayHeld)]


def test_a_usual_reply_is_its_remarks_and_statements_in_order() -> None:
    items = code(
        '# recap: it begins\nawait Step("Main:01:QUE")\n# trig? no\nawait Say("user", "Hello!")\nawait Yld("user")'
    )
    assert items == [
        ReplyRemark("recap: it begins", 1),
        ReplyStatement('await Step("Main:01:QUE")', 2),
        ReplyRemark("trig? no", 3),
        SayStarted("user", 4),
        SayText("Hello!"),
        ReplyStatement('await Say("user", "Hello!")', 4),
        ReplyStatement('await Yld("user")', 5),
    ]


@pytest.mark.parametrize("fence", ["```python", "```py", "``` Python ", "```"])
def test_the_fence_may_name_python_or_nothing(fence: str) -> None:
    assert read(f"Here it is.\n{fence}\nx = 1\n```\nThat was it.") == [
        ReplyProse("Here it is."),
        ReplyStatement("x = 1", 1),
        ReplyProse("That was it."),
    ]


@pytest.mark.parametrize("head", ["# recap: nothing yet", 'await Step("Main:01:EXE")', "$x = 3"])
def test_a_reply_without_a_fence_is_code_from_its_first_line_of_code(head: str) -> None:
    items = read(f"{head}\nx = 1\n```")
    assert items[-1] == ReplyStatement("x = 1", 2)
    assert not any(isinstance(item, ReplyProse | BrokenCode) for item in items)


def test_a_fence_after_the_first_remark_is_not_the_end() -> None:
    assert read("# recap: go\n```python\nx = 1\n```\n") == [ReplyRemark("recap: go", 1), ReplyStatement("x = 1", 2)]


def test_prose_alone_is_prose() -> None:
    assert read("I cannot do that.\nSorry.\n") == [ReplyProse("I cannot do that.\nSorry.")]


def test_a_block_in_another_language_is_prose() -> None:
    assert read('```json\n{"a": 1}\n```\n```python\nx = 1\n```') == [
        ReplyProse('```json\n{"a": 1}\n```'),
        ReplyStatement("x = 1", 1),
    ]


def test_a_block_without_a_language_after_the_code_is_prose() -> None:
    assert read("```python\nx = 1\n```\nIt shows:\n```\n1\n```\n") == [
        ReplyStatement("x = 1", 1),
        ReplyProse("It shows:\n```\n1\n```"),
    ]


def test_a_fence_right_after_code_ends_it() -> None:
    assert read("```python\nx = 1```") == [ReplyStatement("x = 1", 1)]


def test_a_fence_inside_a_string_does_not_end_the_code() -> None:
    text = 'await Say("user", """Try:\n```python\nprint(1)\n```\n""")'
    assert code(text) == [SayStarted("user", 1), SayText("Try:\n```python\nprint(1)\n```\n"), ReplyStatement(text, 1)]


def test_windows_line_ends_are_read_as_new_lines() -> None:
    assert read("```python\r\nx = 1\r", "\ny = 2\r\n```\r\n") == [
        ReplyStatement("x = 1", 1),
        ReplyStatement("y = 2", 2),
    ]


def test_a_simple_statement_is_given_at_its_newline() -> None:
    reader = ReplyReader()
    assert reader.feed("```python\nx = 1") == []
    assert reader.feed("\n") == [ReplyStatement("x = 1", 1)]


def test_a_statement_over_several_lines_is_one() -> None:
    text = "x = [\n1,\n\n# one\n2]\n"
    assert code(text + "y = 1 + \\\n2") == [ReplyStatement(text.rstrip(), 1), ReplyStatement("y = 1 + \\\n2", 6)]


def test_statements_on_one_line_are_given_one_by_one() -> None:
    assert code("$x = 1; await Foo($y); z = 3;") == [
        ReplyStatement("x = 1", 1, frozenset({"x"})),
        ReplyStatement("await Foo(y)", 1, frozenset({"y"})),
        ReplyStatement("z = 3", 1),
    ]


def test_a_compound_statement_is_given_when_the_next_one_begins() -> None:
    reader = ReplyReader()
    assert reader.feed("```python\nif x:\n    await Foo()\n\n# trig? no\n") == []
    assert reader.feed("await ") == [ReplyStatement("if x:\n    await Foo()", 1), ReplyRemark("trig? no", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "if a:\n    b()\nelif c:\n    d()\n# otherwise\nelse:\n    e()",
        "try:\n    a()\nexcept E:\n    b()\nelse:\n    c()\nfinally:\n    d()",
        "for a in b:\n    if a: c(); d()\n\n    # in\n    e()\nelse:\n    f()",
        "@one\n# why\n@two(1)\nasync def f(a: int = 1) -> None:\n    '''Doc.'''\n    return a",
        "async with a as b:\n    c()",
        "while True: a(); b()",
        "match a:\n    case 1:\n        b()",
        "class A:\n    x: int = 1\n\n    def f(self): ...",
    ],
)
def test_a_compound_statement_keeps_its_parts(text: str) -> None:
    assert code(text + "\nx = 1") == [ReplyStatement(text, 1), ReplyStatement("x = 1", 2 + text.count("\n"))]


def test_a_soft_keyword_is_a_name_too() -> None:
    assert code("match = 1\nmatch(x)") == [ReplyStatement("match = 1", 1), ReplyStatement("match(x)", 2)]


def test_dollar_names_are_read_as_names_outside_strings_and_comments() -> None:
    assert code("$x = $y + 1  # not $z\nw = '$v'\nf = f'$5 {$u} $v'") == [
        ReplyStatement("x = y + 1  # not $z", 1, frozenset({"x", "y"})),
        ReplyStatement("w = '$v'", 2),
        ReplyStatement("f = f'$5 {u} $v'", 3, frozenset({"u"})),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x = = 1\ny = 2", 1, "invalid syntax"),
        ("y = 2\nx = 'abc\nz = 3", 2, "unterminated"),
        ("    x = 1", 1, "indent"),
        ('await Say("user", "hi"\nawait Yld("user")\n', 2, "never closed"),
        ("if x:\n    a(\n\nb = 1", 2, "never closed"),
        ("if x:\n  a()\n b()\nc = 1", 3, "indent"),
        ("x = (1", 1, "never closed"),
        ("$ = 3", 1, "invalid syntax"),
        ("x = '\0'", 1, "null"),
    ],
)
def test_text_that_is_not_python_is_broken_and_nothing_follows(text: str, line: int, message: str) -> None:
    last = code(text)[-1]
    assert isinstance(last, BrokenCode)
    assert (last.line, message in last.message) == (line, True), last


def test_nothing_is_given_after_broken() -> None:
    reader = ReplyReader()
    assert len(reader.feed("```python\nx = = 1\n")) == 1
    assert reader.feed("y = 2\n") == []
    assert reader.close() == []


def test_a_reply_that_breaks_off_is_broken_only_when_closed() -> None:
    reader = ReplyReader()
    assert joined(reader.feed('```python\nawait Say("user", "Hel')) == [SayStarted("user", 1), SayText("Hel")]
    (broken,) = reader.close()
    assert isinstance(broken, BrokenCode)
    assert broken.source == 'await Say("user", "Hel'


@pytest.mark.parametrize(
    "head",
    [
        'await Say("user", "',
        "await Say('user', '",
        'await Say( "user" ,\n  # softly\n  "',
        'await Say(target="user", message="',
        'await Say("user", message = "',
    ],
)
def test_text_is_given_while_it_is_written(head: str) -> None:
    reader = ReplyReader()
    items = reader.feed(f"```python\n{head}")
    items += reader.feed("Hi")
    assert joined(items) == [SayStarted("user", 1), SayText("Hi")]


@pytest.mark.parametrize(
    "text",
    [
        'if x:\n    await Say("user", "no")',
        'y = await Say("user", "no")',
        'Say("user", "no")',
        'await Say("user", text)',
        'await Say("user", b"no")',
        'await Say(f"{who}", "no")',
        'await Say(message="no", target="user")',
        'await Say("user" "s", "no")',
        'await Saying("user", "no")',
    ],
)
def test_what_is_not_a_plain_say_is_only_a_statement(text: str) -> None:
    assert [type(item) for item in code(text)] == [ReplyStatement]


LITERALS = [
    r'"a\n\"b\" \\ \t\'c\'"',
    r"'\u00e9\x41\U0001F600\101\7 \08 \N{EURO SIGN}\N{greek small letter alpha}'",
    '"one\\\ntwo"',
    '"""three "quotes" ""\nand\\\n more \\""" end"""',
    r'r"raw \n \" \\"',
    r"u'you'",
    '""',
    "''''''",
    r'"unknown \d \{ \q"',
    '"joined " \'with\' """ others"""',
    '"é 😀 \\ud83d"',
]


@pytest.mark.parametrize("literal", LITERALS)
def test_streamed_text_equals_the_value_of_the_literal(literal: str) -> None:
    value = _value(literal)
    expected = [SayText(value)] if value else []
    assert said(f'await Say("user", {literal})') == expected


def _value(literal: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(ast.literal_eval(literal))


def test_an_escape_waits_until_it_is_whole() -> None:
    reader = ReplyReader()
    reader.feed('```python\nawait Say("user", "a')
    assert reader.feed("b\\") == [SayText("b")]
    assert reader.feed("u00") == []
    assert reader.feed("e9") == [SayText("é")]
    assert reader.feed("\\10") == []
    assert reader.feed("1b") == [SayText("Ab")]


def test_a_placeholder_that_is_a_name_is_given_as_a_name() -> None:
    assert said('await Say("user", f"Hi { name }, {{x}} costs {$price}$")') == [
        SayText("Hi "),
        SayName("name"),
        SayText(", {x} costs "),
        SayName("price"),
        SayText("$"),
    ]


@pytest.mark.parametrize("field", ["{a.b}", "{a!r}", "{a:.2f}", "{a + 1}", "{a=}", "{f(1)}", "{None}", "{a['b']}"])
def test_any_other_placeholder_holds_the_rest(field: str) -> None:
    assert said(f'await Say("user", f"It is {field} now" " indeed")') == [SayText("It is "), SayHeld()]


@pytest.mark.parametrize("rest", [" + x", ".format(1)", " % 3", "[1:]", " if x else y", " b'bytes'"])
def test_what_changes_the_value_after_the_literal_is_told(rest: str) -> None:
    reader = ReplyReader()
    items = joined(reader.feed(f'```python\nawait Say("user", "text"{rest}'))
    assert items == [SayStarted("user", 1), SayText("text"), SayHeld()]


@pytest.mark.parametrize("literal", [r'"a \xZZ b"', r'"a \N{NO SUCH} b"', r'"a \U00110000 b"', 'f"a } b"'])
def test_a_malformed_literal_holds_and_then_breaks(literal: str) -> None:
    items = code(f'await Say("user", {literal})')
    assert items[:3] == [SayStarted("user", 1), SayText("a "), SayHeld()]
    assert isinstance(items[3], BrokenCode)


def test_more_arguments_do_not_hold_the_text() -> None:
    assert said('await Say("user", "text", mood="glad")') == [SayText("text")]


FRAGMENTS = st.sampled_from(
    [
        "```python\n",
        "```",
        "``",
        "\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "# recap: x",
        "# trig? no\n",
        "await Say(",
        '"user"',
        ", ",
        'await Say("user", "',
        "await Say('user', f'''",
        '"',
        "'",
        '"""',
        "'''",
        ")",
        "(",
        "[",
        "]",
        "{",
        "}",
        "{name}",
        "{$name}",
        "$x",
        "$",
        " = 1",
        "\\",
        "\\n",
        "\\u00e9",
        "\\x4",
        "\\101",
        "\\N{EURO SIGN}",
        "\\N{",
        "if x:\n",
        "else:\n",
        "@a\n",
        "def f():\n",
        "    pass\n",
        "x = 1\n",
        "x = 1; y = 2\n",
        "f",
        "r",
        "b",
        "{{",
        "}}",
        "text ",
        "Prose. ",
        "é",
        "😀",
        "#",
        ";",
        ":",
        "await Yld('user')\n",
    ]
)
REPLIES = st.one_of(
    st.lists(FRAGMENTS, max_size=25).map("".join),
    st.lists(FRAGMENTS, max_size=25).map(lambda parts: "```python\n" + "".join(parts)),
)


@given(REPLIES, st.lists(st.integers(0, 200), max_size=30))
def test_how_a_reply_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[begin:end] for begin, end in itertools.pairwise(places)]
    assert read(*pieces) == read(text) == read(*text)


@given(REPLIES)
def test_every_statement_parses_and_broken_is_last(text: str) -> None:
    items = read(text)
    for item in items:
        if isinstance(item, ReplyStatement):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert len(ast.parse(item.source).body) == 1
    assert not any(isinstance(item, BrokenCode) for item in items[:-1])


@given(st.text(), st.sampled_from(["repr", "json", "triple", "format"]), st.integers(1, 7))
def test_any_text_is_streamed_as_python_reads_it(text: str, style: str, size: int) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "").replace("\r", "")
    literal = {
        "repr": repr(text),
        "json": json.dumps(text),
        "triple": f'"""{escaped}"""',
        "format": "f" + repr(text).replace("{", "{{").replace("}", "}}"),
    }[style]
    reply = f'```python\nawait Say("user", {literal})\n```'
    items = read(*(reply[begin : begin + size] for begin in range(0, len(reply), size)))
    streamed = "".join(item.text for item in items if isinstance(item, SayText))
    statement = items[-1]
    assert isinstance(statement, ReplyStatement)
    assert streamed == _argument(statement.source)


def _argument(source: str) -> str:
    """The value of the second argument of the call that is `source`."""
    said_to: list[str] = []
    exec(source.removeprefix("await "), {"Say": lambda _target, text: said_to.append(text)})  # noqa: S102 - our text
    return said_to[0]


@pytest.mark.parametrize(
    "piece", ['"words', "word", "# words ", "(1, ", "\\", "{", "    ", "f'{a", "f'{ "], ids=lambda piece: repr(piece)
)
def test_what_is_kept_for_the_next_piece_stays_small(piece: str) -> None:
    reader = ReplyReader()
    reader.feed("```python\nx = ")
    for _ in range(1000):
        reader.feed(piece)
        assert len(reader._text) - reader._position < 250


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 50_000 + "1", "[" * 300 + "]" * 300, "a." * 20_000 + "b"])
def test_code_too_deep_for_python_is_broken(text: str) -> None:
    assert isinstance(code(text)[-1], BrokenCode)


def test_every_say_of_a_reply_is_given_also_after_blocks_and_to_agents() -> None:
    items = code(
        'await Say("user", "first (\\"1\\") {of} 3")\n'
        'if x:\n    await Foo()\nawait Say("user", f"second {n}")\n'
        "await Say('agent 1001', '''third''')"
    )
    assert [item for item in items if not isinstance(item, ReplyStatement)] == [
        SayStarted("user", 1),
        SayText('first ("1") {of} 3'),
        SayStarted("user", 4),
        SayText("second "),
        SayName("n"),
        SayStarted("agent 1001", 5),
        SayText("third"),
    ]


def test_a_statement_comes_before_the_say_that_follows_it() -> None:
    reader = ReplyReader()
    items = reader.feed('```python\nif x:\n    await Foo()\nawait Say("user", "Hi')
    assert [type(item) for item in items] == [ReplyStatement, SayStarted, SayText]


def test_a_comment_after_code_stays_with_its_statement() -> None:
    assert code("x = 1  # why\ny = 2; # then") == [
        ReplyStatement("x = 1  # why", 1),
        ReplyStatement("y = 2", 2),
        ReplyRemark("then", 2),
    ]
