"""The capabilities and limits of Discord."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.capabilities import Budget, Capabilities
from runtime.core.message import Mark

MAX_MESSAGE_UNITS = 2000
"""Most characters of one message (Discord's documentation, Create Message)."""
MAX_NONCE = 25
"""Most characters of a nonce (Discord's documentation, Create Message)."""
MAX_HOOK_NAME = 80
"""Most characters of the name under which a webhook speaks (Discord's documentation, Create Webhook)."""
MAX_THREAD_NAME = 100
"""Most characters of a thread's name (Discord's documentation, Start Thread)."""
MAX_BUTTONS = 25
"""Buttons of one message: five rows of five (Discord's documentation, Component Reference)."""
MAX_OPTIONS = 25
"""Options of one select menu; a message takes five menus (Component Reference)."""
MAX_BUTTON_LABEL = 80
"""Most characters on a button (Component Reference); an option of a menu takes 100."""
MAX_FILE_WORDS = 1024
"""Most characters of the words in the place of a picture (Discord's OpenAPI, MessageAttachmentRequest)."""
MAX_FILE_BYTES = 10 * 1024 * 1024
"""What a bot may upload everywhere (Discord's documentation, Uploading Files); boosted servers take more."""
HOOKS_PER_CHANNEL = 3
"""Webhooks of ours in one channel, out of 15 possible ones; agents are spread over them. Chosen."""
MARKS: Mapping[Mark, str] = {"seen": "👀", "queued": "⏳", "stopped": "🛑", "failed": "⚠️"}
_BURST_SHARE = 0.3
"""The part of a window's calls that may come at once; the others come evenly. Chosen."""
HOOKS_BUDGET = Budget(rate_per_s=26 / 60, burst=4.0)
"""Posts of all webhooks in one channel and its threads together."""


def within(calls: int, window_s: float) -> Budget:
    """A bucket that stays within this number of calls in any window of this many seconds.

    In a window of w seconds a bucket lets through burst + w x rate calls at most, and only whole ones.
    """
    burst = max(1.0, _BURST_SHARE * calls)
    return Budget(rate_per_s=max(calls - burst, 0.5) / window_s, burst=burst)


CHANNEL_BUDGET = within(5, 5.0)
"""Posts in one channel or thread; edits there have a bucket of the same size. See the source of CAPABILITIES."""
HOOK_BUDGET = within(5, 2.0)
"""Posts through one webhook; edits of them have a bucket of the same size."""
OTHER_BUDGET = within(5, 5.0)
"""Typing indicators, reactions and deletions in one channel: Discord tells their limits by headers only."""
CAPABILITIES = Capabilities(
    max_text=1800,
    text_unit="utf16",
    edits=True,
    threads=True,
    idempotent_send=True,
    typing_lasts_s=10.0,
    private_budget=CHANNEL_BUDGET,
    group_budget=CHANNEL_BUDGET,
    total_budget=Budget(rate_per_s=40.0, burst=40.0),
    source=(
        "API v10. max_text: a message takes 2000 characters (Create Message); whether an emoji counts once or twice is "
        "not documented, so the larger UTF-16 count is taken; 200 stay free for a name, a link to what is answered, "
        "closing marks and the columns of a table. private, group: limits are told by headers only; 5 in 5 s for each "
        "of posting and editing in one channel is what bots see, a thread counts as a channel, and the two are counted "
        "apart although they name the same bucket (discord-api-docs issue 8073). A bucket keeps within a window of w "
        "seconds while burst + w x rate <= the window's calls. Webhooks: 5 in 2 s for each, and 30 in 60 s for what "
        "they post in one channel (Discord's staff, discord-api-docs issue 367), hence 4 + 26; posts and edits are "
        "different routes and taken to be counted apart. "
        "total: 50 requests a second for one bot (Rate Limits, global), 40 used. typing: 10 s (Trigger Typing "
        "Indicator). idempotent_send: `enforce_nonce` makes a message with a known nonce of the same author come back "
        "instead of being posted, for `the past few minutes` (Create Message); see the adapter for webhooks. "
        "choices: buttons up to 25, then menus of 25 options, five at most (Component Reference). "
        "files: 10 MiB (Uploading Files). editable_for: messages older than an hour take only few edits, then error "
        "30046; five minutes are left for calls on their way."
    ),
    deletes=True,
    quotes=True,
    reactions=True,
    max_choices=5 * MAX_OPTIONS,
    max_choice_label=MAX_BUTTON_LABEL,
    max_file_bytes=MAX_FILE_BYTES,
    editable_for_s=55 * 60.0,
)
