"""What Discord can do, and how much of it."""

from __future__ import annotations

from adapters.capabilities import Budget, Capabilities

MAX_MESSAGE_UNITS = 2000
"""Most characters of one message (Discord's documentation, Create Message)."""
MAX_NONCE = 25
"""Most characters of a nonce (Discord's documentation, Create Message)."""
MAX_HOOK_NAME = 80
"""Most characters of the name under which a webhook speaks (Discord's documentation, Create Webhook)."""

WEBHOOK_BUDGET = Budget(rate_per_s=26 / 60, burst=4.0)
"""What is said under agents' names in one channel and its threads together: see the source of CAPABILITIES."""

CAPABILITIES = Capabilities(
    max_text=1900,
    text_unit="utf16",
    edits=True,
    threads=True,
    custom_identity=True,
    idempotent_send=True,
    typing_lasts_s=10.0,
    private_budget=Budget(rate_per_s=0.7, burst=1.5),
    group_budget=Budget(rate_per_s=0.7, burst=1.5),
    total_budget=Budget(rate_per_s=40.0, burst=40.0),
    source=(
        "API v10. max_text: a message takes 2000 characters (Create Message); whether an emoji counts once or twice is "
        "not documented, so the larger UTF-16 count is taken; 100 stay free for a name, closing marks and the "
        "columns of a table. private, group: limits are told by headers only; 5 in 5 s for each of posting and "
        "editing in one channel is what bots see, and a thread counts as a channel. Both together stay within it: a "
        "bucket keeps within a window of any w seconds while burst + w x rate <= the window's calls, hence 1.5 + 3.5. "
        "WEBHOOK_BUDGET: 5 in 2 s for a webhook and 30 in 60 s for webhooks in one channel (Discord's staff, "
        "discord-api-docs issue 367), hence 4 + 26. "
        "total: 50 requests a second for one bot (Rate Limits, global), 40 used. typing: 10 s (Trigger Typing "
        "Indicator). idempotent_send: `enforce_nonce` makes a message with a known nonce of the same author come back "
        "instead of being posted, for `the past few minutes` (Create Message); see the adapter for webhooks."
    ),
)
