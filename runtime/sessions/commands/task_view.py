"""The tasks of a conversation, as `/tasks` shows them."""

from __future__ import annotations

from runtime.core.texts import Texts
from runtime.sessions.commands.overview import lasting
from runtime.sessions.succession import words_within
from runtime.sessions.tasks.orders import in_words
from runtime.tape.facts.tasks import TaskCancelled
from runtime.tape.journal import Journal
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import TaskState

MAX_SHOWN = 20
"""The latest tasks that are shown."""


def tasks_text(state: SessionState, now_s: float, texts: Texts) -> str:
    """The tasks of a session, one a line, the latest last."""
    shown = list(state.tasks.values())[-MAX_SHOWN:]
    return "\n".join(_line(task, now_s, texts) for task in shown) if shown else texts("tasks.none")


def _line(task: TaskState, now_s: float, texts: Texts) -> str:
    came = in_words(task.value) if task.status == "completed" else task.error or ""
    return texts(
        "tasks.line" if not came else "tasks.line_over",
        task=task.number,
        does=f"{task.klass}.{task.playbook}",
        status=texts(f"tasks.{task.status}"),
        time=lasting(now_s - task.since, texts),
        result=words_within(came),
    )


def stop_task(journal: Journal, asked: str, texts: Texts) -> str:
    """End the task of this number; what people are told."""
    number = asked.strip()
    known = (task for task in journal.state.tasks.values() if str(task.number) == number)
    task = next(known, None)
    if task is None:
        return texts("tasks.unknown", task=words_within(number))
    if task.over:
        return texts("tasks.over", task=task.number)
    journal.note(TaskCancelled(task.number))
    return texts("tasks.stopped", task=task.number)
