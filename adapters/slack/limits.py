"""What Slack can do, and how much of it."""

from __future__ import annotations

from adapters.capabilities import Budget, Capabilities

MAX_SECTION_UNITS = 3000
"""Most characters of a section's text, markup and escapes included (Block Kit reference, section block)."""
MAX_FALLBACK_BYTES = 4000
"""Most bytes of `text` that chat.update takes; more is `msg_too_long` (openclaw#115027, tried on the live API)."""

CAPABILITIES = Capabilities(
    max_text=2650,
    text_unit="utf16",
    edits=True,
    threads=True,
    custom_identity=True,
    idempotent_send=True,
    typing_lasts_s=30.0,
    private_budget=Budget(rate_per_s=1.0, burst=3.0),
    group_budget=Budget(rate_per_s=1.0, burst=3.0),
    total_budget=Budget(rate_per_s=40 / 60, burst=5.0),
    source=(
        "docs.slack.dev. max_text: a section block takes 3000 characters; 350 stay free for a speaker's name, closing "
        "marks, escapes and the columns of a table. private and group: chat.postMessage about once a second in one "
        "channel, short bursts pass (rate limits). total: chat.update is tier 3, 50 a minute for all channels of a "
        "workspace together; 40 and bursts of 5 keep within it, and everything is counted against it, since posts and "
        "edits come from one scheduler. typing: a status vanishes after 2 minutes or with our next message "
        "(assistant.threads.setStatus); renewed after 30 s, because another agent's message takes it away."
    ),
)
