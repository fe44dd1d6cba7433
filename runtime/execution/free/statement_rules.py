"""The rules by which a model writes statements: those of every program, then those for what this one uses."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.execution.calls.table import SIGNATURES
from runtime.execution.triggers.kinds import judges
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.language.vocabulary.phrase import phrase

_BASE = """\
You carry out a program written in natural language. Do what its playbooks below say, and nothing else.

Answer with one Python block:

```python
await Say("user", "<your words>")
await Yld("user")
```

Where nothing is to be done but to speak, the words alone will do, without a block.

Rules
- `await Say("user", text)` speaks to whoever is here, `await Say("Ada", text)` to one person. The text is Markdown; \
`@Ada` in it mentions her.
- The block ends with one of these, and nothing follows it: `await Yld("user")` waits for an answer, \
`await Yld("Ada")` for hers alone, `await Yld("call")` goes on at once, `await Yld("exit")` ends the program, \
`await Return(value)` ends the playbook.
- Assignments make locals, which are there in later blocks too. It is a small Python: no classes, no yield, no files, \
no network; import only json, re, math, datetime.\
"""

_CALLS = """
- A playbook is called as `result = await Playbook(args)`, one of another agent as `await Agent.Playbook(args)`. To \
see what calls gave before you go on, end the block with `await Yld("call")`.\
"""

_AGENTS = """
- `await Say("Scout", text)` speaks to an agent by its class, `await Say("agent 1001", text)` by its number; \
`await Yld("agent 1001")` waits for its answer.\
"""

_VARIABLES = """
- `await Var("name", value)` sets the program's `$name`; code reads it as `name`.\
"""

_SUMMARY = """
- Before `Return`, `await Var("__", "<what was done>")` tells the caller in a sentence.\
"""

_STEPS = """
- Steps are written as `line:CODE text`. `YLD for user` is `await Yld("user")`, `YLD for exit` is `await Yld("exit")`, \
`RET x` is `await Return(x)`. CND: when it holds, do the steps below it. JMP: go on at that line.\
"""

_TRIGGERS = """
- Where what is said, or a change of a variable, meets a trigger below that is not automatic, call its playbook next, \
with `await Trigger("<code>")` before the call.\
"""

_ACKNOWLEDGEMENT = """
- `ack = await Say("Scout", text, ack_within_s=30)` waits until it has arrived: `ack["missing"]` are those who did not \
take it up in time.\
"""

_ARTIFACTS = """
- A long value is shown as an artifact: code has it whole by its name, and `await LoadArtifact("name")`, then \
`await Yld("call")`, shows it to you. `await SaveArtifact("name", "one-line summary", value)` keeps one.\
"""

_MEETINGS = f"""
- A playbook marked (meeting) is a meeting. `result = await Talk(topic="the boat", attendees=["Accountant", \
"agent 1003", "Ada"])` holds one; leave out what the playbook says itself. A result such as "Meeting 100 did not take \
place: …" says who did not come, and why.
- In a meeting `Say("meeting", …)` is heard by all, `Say("Accountant", …)` by one in private; `await Yld("meeting")` \
waits for what is said. {SIGNATURES["InviteToMeeting"].told}, {SIGNATURES["LeaveMeeting"].told}, \
{SIGNATURES["EndMeeting"].told}. After "Meeting has ended" Return.
- In a meeting {SIGNATURES["Share"].told}; with `expected=2` it fails unless version 2 \
is there. `shared["budget"]` reads it as of the statement's beginning, `await Shared("budget")` as of now. Steps may \
call it `self.current_meeting.shared_state`.\
"""


_FILES = ("ReadFile", "Describe", "SendFile")

_NAMED = (
    (phrase("files"), _FILES),
    (phrase("questions"), ("Ask",)),
    (phrase("receipts"), _ACKNOWLEDGEMENT),
    (phrase("reminders"), ("Remind",)),
    (phrase("tasks"), ("Spawn", "Result", "Tasks", "Cancel")),
    (phrase("words to tasks"), ("Tell",)),
    (phrase("log"), ("Log",)),
    (phrase("events"), ("Publish",)),
    (phrase("artifacts"), _ARTIFACTS),
)
"""What a program names, and the rule for it, or the calls that it is about."""


def _told(rule: str | tuple[str, ...]) -> str:
    """A rule, or that of built-in calls as they are declared: those of features may be read after this module."""
    return rule if isinstance(rule, str) else f"\n- {'; '.join(SIGNATURES[name].told for name in rule)}."


def rules(program: Program, agent: AgentSpec, shown: str) -> str:
    return "".join((_BASE, *_used(program, agent, shown)))


def _used(program: Program, agent: AgentSpec, shown: str) -> Iterator[str]:
    others = [other for other in program.agents if other.name != agent.name]
    judged = judges(agent, others)
    public = any(playbook.public for other in others for playbook in other.playbooks)
    if len(agent.playbooks) > 1 or public or judged:
        yield _CALLS
    if any(other.kind is not AgentKind.HUMAN and not other.kind.on_server for other in others) or "Agent(" in shown:
        yield _AGENTS
    if "$" in shown:
        yield _VARIABLES
    english = [playbook for playbook in agent.playbooks if playbook.kind == "llm"]
    guided = [playbook for playbook in english if playbook.mode != "raw" and not playbook.walked]
    if len(guided) > 1 or any(playbook.public for playbook in guided):
        yield _SUMMARY
    if any(playbook.steps for playbook in guided):
        yield _STEPS
    if judged:
        yield _TRIGGERS
    yield from (_told(rule) for named, rule in _NAMED if named.inside(shown))
    if any(playbook.meeting for playbook in agent.playbooks):
        yield _MEETINGS


def rules_now(system: str, now: str, *, files: bool, meeting: bool, memory: bool = False) -> str:
    """The rules for what came up during a session, and which `system` lacks: people sent `files`, the agent is in a
    `meeting`, it has a `memory`, `now` shows artifacts."""
    remembers = ("Remember", "Recall")
    cases = ((files, _FILES), (meeting, _MEETINGS), (memory, remembers), ("LoadArtifact(" in now, _ARTIFACTS))
    told = [_told(rule) for is_so, rule in cases if is_so]
    return "".join(rule for rule in told if rule not in system).strip()
