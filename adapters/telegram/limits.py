"""What Telegram can do, and how much of it."""

from __future__ import annotations

from adapters.capabilities import Budget, Capabilities

MAX_MESSAGE_UNITS = 4096
"""Most UTF-16 units of one message, counted after entities are taken out (Bot API, sendMessage)."""

CAPABILITIES = Capabilities(
    max_text=3900,
    text_unit="utf16",
    edits=True,
    threads=False,
    custom_identity=False,
    idempotent_send=False,
    typing_lasts_s=5.0,
    private_budget=Budget(rate_per_s=1.0, burst=3.0),
    group_budget=Budget(rate_per_s=15 / 60, burst=5.0),
    total_budget=Budget(rate_per_s=30.0, burst=30.0),
    source=(
        "Bot API 10.0. max_text: sendMessage takes 4096 UTF-16 units; 196 stay free for a speaker's name, closing "
        "marks and the columns of a table. private: at most about one message a second in one chat (Bot FAQ); short "
        "bursts pass, 3 is what public reports bear out. group: 20 messages a minute (Bot FAQ), edits included; if "
        "that is a window of any 60 s, a bucket keeps within it only while burst + 60 s x rate <= 20, hence 5 + 15. "
        "total: about 30 messages a second for one bot (Bot FAQ). typing: 5 s or until a message comes "
        "(sendChatAction)."
    ),
)
