"""The capabilities and limits of Slack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adapters.adapter import Call
from adapters.capabilities import Budget, Capabilities, StreamLimits
from runtime.core.message import Mark

MAX_SECTION_UNITS = 3000
"""Most characters of a section's text, markup and escapes included (Block Kit reference, section block)."""
SECTION_TEXT_UNITS = 2650
"""The CommonMark that fits into a section with a name, closing marks, escapes and a table's columns."""
MAX_TABLE_ROWS = 100
MAX_TABLE_COLUMNS = 20
MAX_TABLE_CHARS = 10_000
"""Most rows, columns, and characters of a table, of which a message has one (Block Kit reference, table block)."""
MAX_FALLBACK_BYTES = 4000
"""Most bytes of `text` that chat.update takes; more is `msg_too_long` (openclaw#115027, tried on the live API)."""
MAX_BUTTONS: Final = 20
"""Buttons under a message. An actions block takes 25 elements (Block Kit reference)."""
MAX_BUTTON_LABEL: Final = 75
"""Characters on a button (Block Kit reference, button element)."""
MAX_FILE_BYTES: Final = 100 * 1024 * 1024
"""Slack takes files of 1 GB; they pass through memory here, so a tenth of that."""
POSTS = Budget(rate_per_s=1.0, burst=3.0, shared=True)
_UPDATES = Budget(rate_per_s=40 / 60, burst=5.0, shared=True)
_APPENDS = Budget(rate_per_s=80 / 60, burst=10.0, shared=True)
_OPENINGS = Budget(rate_per_s=16 / 60, burst=4.0, shared=True)

METHODS: Mapping[Call, tuple[str, Budget]] = {
    "edit": ("chat.update", _UPDATES),
    "offer": ("chat.update", _UPDATES),
    "delete": ("chat.delete", _UPDATES),
    "open_stream": ("chat.startStream", _OPENINGS),
    "close_stream": ("chat.stopStream", _OPENINGS),
    "append": ("chat.appendStream", _APPENDS),
    "typing": ("assistant.threads.setStatus", _APPENDS),
    "upload": ("files.completeUploadExternal", _APPENDS),
    "react": ("reactions.add", _UPDATES),
}
"""The method that a call comes to and its limit in one workspace: each leaves a fifth of its tier unused, and what it
may do at once and in the following minute stays below the tier (docs.slack.dev, rate limits: tier 2 is 20 calls a
minute, 3 is 50, 4 is 100). Sends are limited by channel."""
MARKS: Mapping[Mark, str] = {
    "seen": "eyes",
    "queued": "hourglass_flowing_sand",
    "stopped": "octagonal_sign",
    "failed": "warning",
}
CAPABILITIES = Capabilities(
    max_text=SECTION_TEXT_UNITS,
    text_unit="utf16",
    edits=True,
    threads=True,
    idempotent_send=True,
    typing_lasts_s=30.0,
    private_budget=Budget(rate_per_s=1.0, burst=3.0),
    group_budget=POSTS,
    total_budget=_UPDATES,
    deletes=True,
    reactions=True,
    status_text=True,
    max_choices=MAX_BUTTONS,
    max_choice_label=MAX_BUTTON_LABEL,
    free_answers=True,
    command_mark="!",
    max_file_bytes=MAX_FILE_BYTES,
    stream=StreamLimits(max_age_s=240.0, max_text=11_000, append=_APPENDS, opening=_OPENINGS, worth_chars=300),
    source=(
        "docs.slack.dev. max_text: a section block takes 3000 characters; 350 stay free for a speaker's name, closing "
        "marks, escapes and the columns of a table. private and group: chat.postMessage about once a second in one "
        "channel, short bursts pass (rate limits). total: chat.update is tier 3, 50 a minute for all channels of a "
        "workspace together; 40 and bursts of 5 keep within it. typing: a status vanishes after 2 minutes or with our "
        "next message (assistant.threads.setStatus); renewed after 30 s, because another agent's message takes it "
        "away. stream: dead 5 minutes after its start however much is appended (python-slack-sdk#1859), so over after "
        "4; markdown_text takes 12,000 characters; chat.appendStream is tier 4, chat.startStream and chat.stopStream "
        "are tier 2, of which streams for short texts would use up too much. Choices: Block Kit reference, actions."
    ),
)
