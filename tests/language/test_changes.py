"""Steps that set and change variables: forty programs judged by hand, and the corpus beside the grammar."""

from pathlib import Path

from runtime.language.instructions.steps.setting import settings_of
from runtime.language.lowering.classifier import Classifier
from runtime.language.lowering.phrases import plain
from runtime.language.lowering.scope import Reach
from runtime.language.program import OpCode
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text
from tests.language.case import read_cases
from tests.language.frames import done_otherwise, rows
from tests.language.test_programs import EXAMPLES, PROGRAMS

FOLDER = Path(__file__).parent / "changes"


async def test_forty_programs_mean_what_people_read_but_for_a_table_that_only_gets_shorter() -> None:
    known = dict(rows(FOLDER / "disagreements.md"))["programs"]
    assert await done_otherwise(FOLDER / "programs.md") == sorted(known)


def test_the_rules_do_with_each_step_of_the_corpus_what_the_grammar_reads_but_for_a_table() -> None:
    sources = [read_paths([path]) for path in (*EXAMPLES, *PROGRAMS)]
    sources += [
        read_text(case.program, case.file) for case in read_cases() if "pbasm" in case.expected and not case.files
    ]
    apart = {}
    for program in (parse(source) for source in sources):
        for agent in program.agents:
            rules = Classifier(Reach(agent, program))
            for item in (one for playbook in agent.playbooks for step in playbook.steps for one in step.walk()):
                if len(read := settings_of(plain(item.text))) == 1 and not read[0].in_words:
                    found = rules.classify(item.text)
                    called = found.op is OpCode.QUE and found.text.startswith(read[0].targets[0])
                    if not (found.known and (called or (found.op is OpCode.EXE and not found.after))):
                        apart[f"- {item.text}"] = f"{found.op} {found.text}"
    assert sorted(apart.items()) == sorted(dict(rows(FOLDER / "disagreements.md"))["corpus"])
