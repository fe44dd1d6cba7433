"""The capabilities and limits of Telegram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adapters.capabilities import Budget, CallWindow, Capabilities, PreviewLimits
from runtime.core.message import Mark

MAX_MESSAGE_UNITS = 4096
"""The most UTF-16 units of one message, counted without entities (Bot API, sendMessage)."""
MAX_ENTITIES: Final = 100
"""The number of entities in one message that Telegram accepts (Bot API limits, `telegram.constants.MessageLimit`)."""
MAX_CAPTION_UNITS: Final = 1024
"""The most UTF-16 units of a caption, counted in the same way (Bot API, sendDocument)."""
MAX_RICH_BLOCKS: Final = 500
MAX_RICH_COLUMNS: Final = 20
MAX_RICH_DEPTH: Final = 16
"""The most blocks of a rich message, columns of its tables, and nested tags (Bot API, Rich Message Limits)."""
MAX_PHOTO_BYTES: Final = 10 * 1000 * 1000
"""The largest picture sent as such; a larger one is sent as a document (Bot API, sendPhoto)."""
MAX_DOWNLOAD_BYTES: Final = 20 * 1000 * 1000
"""The largest file that a bot can fetch (Bot API, getFile). A Bot API server of your own has no limit."""
MAX_TOPIC_NAME: Final = 128
"""The most characters of a topic's name (Bot API, createForumTopic)."""
MARKS: Final[Mapping[Mark, str]] = {"seen": "👀", "queued": "👌", "stopped": "🫡", "failed": "💔"}
"""Our marks as emoji. A bot may use only those of `telegram.constants.ReactionEmoji`, one at a time."""
CAPABILITIES = Capabilities(
    max_text=3900,
    max_pieces=MAX_ENTITIES - 1,
    text_unit="utf16",
    edits=True,
    threads=True,
    idempotent_send=False,
    typing_lasts_s=5.0,
    private_budget=Budget(rate_per_s=1.0, burst=3.0),
    group_budget=Budget(rate_per_s=20 / 60, burst=5.0, window=CallWindow(20, 60.0)),
    total_budget=Budget(rate_per_s=30.0, burst=30.0, shared=True),
    deletes=True,
    quotes=True,
    reactions=True,
    max_choices=24,
    max_choice_label=64,
    max_file_bytes=50 * 1000 * 1000,
    preview=PreviewLimits(keep_alive_s=20.0),
    source=(
        "Bot API 10.5. max_text: sendMessage takes 4096 UTF-16 units; 196 stay free for a speaker's name, closing "
        "marks and the columns of a table. private: at most about one message a second in one chat (Bot FAQ); short "
        "bursts pass, 3 is what public reports bear out. group: 20 messages a minute (Bot FAQ), edits included; "
        "a bucket with bursts of 5, and not more than 20 in any 60 s, whichever of them Telegram counts. "
        "total: about 30 messages a second for one bot (Bot FAQ). typing: 5 s or until a message comes "
        "(sendChatAction). deletes: one's own messages, for 48 h (deleteMessage). reactions: setMessageReaction, one "
        "emoji of a fixed set. choices: inline keyboards, callback_data of at most 64 bytes; 24 buttons and labels of "
        "64 characters are ours, what a telephone shows well. files: 50 MB out, 20 MB in (sendDocument, getFile). "
        "threads: topics of forums, and of private chats where the bot has them (createForumTopic). "
        "preview: a draft lasts 30 s (sendMessageDraft), private chats only, shown again 10 s before."
    ),
)
