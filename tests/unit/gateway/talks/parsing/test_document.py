"""Talk files that are wrong: each mistake is told with its line, and with what to do. Talk files laid out."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gateway.talks.parsing.document import TalkSource, formatted_talks, read_head, read_talks, source_of
from gateway.talks.running import TalkLoader
from gateway.talks.talk import PersonLine, TalkHead, TalkScript
from runtime.language.compiler import compile_parsed
from runtime.language.diagnostics import Diagnostic, ProgramRejected, SourceLine
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.unit.gateway.talks.rig import GREETER, loaded, refused

ROOT = Path(__file__).parents[5]
TALKS = sorted(ROOT.glob("examples/**/*.test.md"))
LOOSE = """\
---
people: Ada

---
#  Talks
Prose  stays,


as it is.
## One ##



* Ada: Hello,

    - over   lines
  and on
  +  Shop: Hi
3) wait 1 minute



-   model:
    ```python
    x =  1

    ```
"""
NEAT = """\
---
people: Ada

---

# Talks

Prose  stays,


as it is.

## One

- Ada: Hello,

    - over   lines
  and on
  +  Shop: Hi
3) wait 1 minute

- model:
    ```python
    x =  1

    ```
"""


@pytest.mark.parametrize(
    ("talk", "told"),
    [
        ("", "it.test.md:1:1: error: there is no talk in this file"),
        ("Only prose.\n", "there is no talk in this file"),
        ("## A\n\n## B\n- Ada: Hello\n", "it.test.md:1:1: error: there is nothing in this talk"),
        ("## A\n- Ada: Hello\n## A\n- Ada: Hello\n", "it.test.md:3:1: error: the talk in line 1 has the same title"),
        ("## A\n-\n", "it.test.md:2:1: error: this item is empty"),
        ("## A\n- Ada:\n", "Ada says nothing"),
        ("## A\n- Hello there\n", "nobody says this, and it is no line of a talk"),
        (
            "## A\n- Gretter: Hello\n",
            "Gretter is no agent of the program\n  2 | - Gretter: Hello\n    |   ^^^^^^^\n  Did you mean `Greeter`?",
        ),
        ("## A\n- modle: Hello\n", "Did you mean `model`?"),
        ("## A\n- expct the end\n", "Did you mean `expect`?"),
        ("## A\n- Gretter writes: Hello\n", "Did you mean Greeter?"),
        (
            "## A\n- model as Cook: Hello\n",
            "Cook is no agent of the program\n  2 | - model as Cook: Hello\n    |   ^^^^^\n  Its agents are: Greeter.",
        ),
        ("## A\n- model:\n", "the model answers nothing"),
        ("## A\n- Greeter: /(/\n", "this regular expression is wrong"),
        ("## A\n- Greeter presses Yes\n", "Greeter is an agent, and presses nothing"),
        ("## A\n- Greeter sends it.pb\n", "Greeter is an agent, whose files are no act of a talk"),
        (
            "## A\n- Ada sends ti.pb\n",
            "there is no file ti.pb\n  2 | - Ada sends ti.pb\n    |   ^^^\n  Did you mean it.pb?",
        ),
        ("## A\n- expect: call Main\n  ```\n  x\n  ```\n", "no fence belongs to this"),
        ('## A\n- expect: "Hi"\n  ```\n  x\n  ```\n', "no fence belongs to this"),
        ("## A\n- wait a while\n", "“a while” is no time"),
        ("## A\n- wait 0 seconds\n", "“0 seconds” is no time"),
        ("## A\n- wait until 25:00\n", "is no time"),
        ("## A\n- wait 99999999999999999999 weeks\n", "is no time"),
        ("## A\n- expect: stepp Main\n", "Did you mean `step`?"),
        ("## A\n- expect: step Mian:01\n", "the program has no playbook Mian"),
        ("## A\n- expect: step Main:07\n", "Main has no step 07"),
        ("## A\n- expect: step Greter.Main\n", "the program has no agent Greter"),
        ("## A\n- expect: call Greet\n", "the program has no playbook Greet"),
        ("## A\n- expect: call Main(name=)\n", "this is no call"),
        ("## A\n- expect: call Main(1)\n", "Main takes fewer arguments"),
        ("## A\n- expect: $name is nice and friendly\n", "this condition is not exact"),
        ("## A\n- expect: Cook.$name is set\n", "the program has no agent Cook"),
        ("## A\n- judge:\n", "there is nothing to judge"),
        ("---\nprogram: it.pb\n## A\n- Ada: Hello\n", "never closed"),
        (
            "---\nprogam: it.pb\n---\n## A\n- Ada: Hello\n",
            "it.test.md:2:1: error: `progam` is not a key of a talk\n  Did you mean `program`?",
        ),
        ("---\nprogram: ti.pb\n---\n## A\n- Ada: Hello\n", "Did you mean it.pb?"),
        ("---\nstart: soon\n---\n## A\n- Ada: Hello\n", "`start` is not a time"),
        ("---\npeople: 3\n---\n## A\n- Ada: Hello\n", "`people` is not a list of names"),
        ("---\n: [\n---\n## A\n- Ada: Hello\n", "the lines between --- are not YAML"),
        ("---\n- a\n---\n## A\n- Ada: Hello\n", "are not keys with values"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_to_do(tmp_path: Path, talk: str, told: str) -> None:
    assert told in refused(tmp_path, talk)


async def _compiled() -> Program:
    return (await compile_parsed(parse(read_text(GREETER, "it.pb")), lowerer=RulesLowerer())).program


PROGRAM = anyio.run(_compiled)
PIECES = st.sampled_from(
    [
        *(
            "## A",
            "# B",
            "-",
            "- ",
            "* ",
            "1. ",
            "  ",
            "```",
            "~~~",
            "---",
            "<!--",
            "-->",
            "…",
            "**",
            ":",
            ", at once",
            '"',
            "/",
        ),
        *(
            "Ada",
            "Greeter",
            "Greeter writes:",
            "Ada presses",
            "model",
            " as ",
            " to ",
            " after ",
            " always",
            "wait ",
            "until ",
        ),
        *(
            "10 minutes",
            "09:30",
            "expect: ",
            "never: ",
            "judge: ",
            "step ",
            "call ",
            "Main",
            ":02",
            "(",
            ")",
            "$name",
            " is ",
            "=",
        ),
        *(
            "failure",
            "choices ",
            "the end",
            "hears ",
            "\r\n",
            "\n",
            "\n",
            "\x00",
            "\u2028",
            "é",
            "🙂",
            "program: it.pb",
        ),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
@settings(max_examples=150)
def test_any_text_is_talks_or_told_what_is_wrong_in_it(text: str) -> None:
    source = TalkSource(
        Path("it.test.md"), tuple(SourceLine(one, "it.test.md", n) for n, one in enumerate(text.split("\n"), 1)), ""
    )
    told: Sequence[Diagnostic] = ()
    talks: Sequence[TalkScript] = ()
    try:
        talks = read_talks(source, TalkHead((Path("it.pb"),)), PROGRAM)
    except ProgramRejected as rejected:
        told = rejected.diagnostics
    assert bool(talks) != bool(told)
    assert all(talk.beats for talk in talks)
    assert all(one.message and one.span.line for one in told)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    assert refused(tmp_path, "## A\n- Gretter: Hello\n- wait\n- expect: nothing\n").count(": error: ") == 3


def test_a_file_that_is_no_utf_8_is_told_with_its_line(tmp_path: Path) -> None:
    assert "it.test.md:2:1: error: this is not UTF-8" in refused(tmp_path, "## A\n- Ada: Grüße\n".encode("latin-1"))


def test_a_program_that_is_wrong_is_told_as_it_always_is(tmp_path: Path) -> None:
    told = refused(tmp_path, "## A\n- Ada: Hello\n", "# Greeter\n## Main($a\n")
    assert "it.pb:2" in told


def test_without_a_program_beside_it_the_talk_says_where_to_name_one(tmp_path: Path) -> None:
    told = refused(tmp_path, "---\nprogram: none.pb\n---\n## A\n- Ada: Hello\n")
    assert "there is no program" in told


def test_prose_comments_and_fences_between_the_items_say_nothing(tmp_path: Path) -> None:
    text = (
        "# All talks\n\nProse: with a colon.\n\n<!-- - Ada: not this -->\n<!--\n- Ada: nor this\n-->\n"
        "```\n- Ada: nor that\n```\n"
        "## One\nWhy it is so.\n\n1. **Ada:** Hello\n\n   and more\n2) Greeter: …\n\n### Notes\nNothing.\n"
    )
    [talk] = loaded(tmp_path, GREETER, text).talks
    assert [str(beat.act) for beat in talk.beats] == ["Ada: Hello\n\nand more"]
    assert [str(shown) for beat in talk.beats for shown in beat.shown] == ["Greeter: …"]


def test_a_fence_below_an_item_is_its_text_alone(tmp_path: Path) -> None:
    text = '## A\n- model:\n  ```python\n  if True:\n      await Say("user", "# Hi")\n  ```\n- Ada: Hello\n'
    [talk] = loaded(tmp_path, GREETER, text).talks
    assert talk.beats[0].replies[0].text == 'if True:\n    await Say("user", "# Hi")'


def test_a_fence_below_an_expectation_is_the_expected_text(tmp_path: Path) -> None:
    fence = '\n  ```\n  Hi "Ada",\n    you.\n  ```\n'
    talks = loaded(tmp_path, GREETER, f"## A\n- Ada: Hello\n- expect:{fence}- never: failure{fence}").talks
    words = 'Hi "Ada",\n  you.'
    assert [str(one) for one in (*talks[0].beats[0].expected, *talks[0].never)] == [
        f"the words {words}",
        f"the failure {words}",
    ]


def test_files_are_sent_with_words_or_without(tmp_path: Path) -> None:
    (tmp_path / "my list.txt").write_text("tea")
    lines = "- Ada sends my list.txt, it.pb: Here:\n  both\n- Ada, at once sends: it.pb\n"
    [talk] = loaded(tmp_path, GREETER, f"## A\n{lines}").talks
    assert [str(beat.act) for beat in talk.beats] == ["Ada sends my list.txt, it.pb: Here:\nboth", "Ada sends it.pb"]
    assert [beat.act.at_once for beat in talk.beats if isinstance(beat.act, PersonLine)] == [False, True]


def test_items_below_the_title_of_a_file_are_a_talk(tmp_path: Path) -> None:
    [talk] = loaded(tmp_path, GREETER, "# Hello\n- Ada: Hello\n").talks
    assert (talk.title, talk.line) == ("Hello", 1)
    [talk] = loaded(tmp_path, GREETER, "- Ada: Hello\n").talks
    assert talk.title == "it"


def test_a_talk_whose_first_line_is_a_persons_begins_with_it(tmp_path: Path) -> None:
    [talk] = loaded(tmp_path, GREETER, "## A\n- Ada: Hello\n- Greeter: Hi\n").talks
    assert [str(beat.act) for beat in talk.beats] == ["Ada: Hello"]
    [talk] = loaded(tmp_path, GREETER, "## A\n- Greeter: Hi\n- Ada: Hello\n").talks
    assert [str(beat.act) for beat in talk.beats] == ["None", "Ada: Hello"]


def test_a_person_may_have_a_name_like_an_agents_where_the_head_says_so(tmp_path: Path) -> None:
    [talk] = loaded(tmp_path, GREETER, "---\npeople: Gretter\n---\n## A\n- Gretter: Hello\n").talks
    assert talk.people == ("Gretter",)


def test_headings_marks_and_blank_lines_are_laid_out_and_nothing_else() -> None:
    path = Path("a.test.md")
    assert formatted_talks(LOOSE.encode(), path) == NEAT
    assert formatted_talks(NEAT.encode(), path) == NEAT


@pytest.mark.parametrize("path", TALKS, ids=lambda path: path.name)
def test_talks_say_the_same_and_stay_laid_out(path: Path) -> None:
    loose = path.read_bytes().replace(b"\n- ", b"\n\n\n*   ").replace(b"\n## ", b"\n##   ")
    new = formatted_talks(loose, path)
    assert formatted_talks(new.encode(), path) == new
    assert talks(new.encode(), path) == talks(path.read_bytes(), path)


def talks(content: bytes, path: Path) -> list[str]:
    """What the talks of a file say, without the numbers of their lines."""
    source = source_of(content, path)
    head = read_head(source)
    program = anyio.run(TalkLoader().program, head)
    return [without_lines(talk) for talk in read_talks(source, head, program)]


def without_lines(talk: TalkScript) -> str:
    return repr(
        [
            (talk.title, [replace(beat.act, line=0) if beat.act else None for beat in talk.beats]),
            [[replace(one, line=0) for one in (*beat.replies, *beat.shown, *beat.expected)] for beat in talk.beats],
            [replace(one, line=0) for one in talk.never],
        ]
    )


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProgramRejected, match="never closed"):
        formatted_talks(b"---\npeople: Ada\n", Path("a.test.md"))
