"""The names that extensions of Parley build on. They keep their meaning until `API_VERSION` rises.

See docs/connecting/extending.md for a guide to each of them.
"""

from adapters.adapter import (
    Adapter,
    AnswersHttp,
    CanDelete,
    CanDownload,
    CanEdit,
    CanOffer,
    CanOpenThread,
    CanReact,
    CanShowTyping,
    CanStream,
    CanUpload,
    HoldsConnections,
    Inbound,
)
from adapters.capabilities import Budget, Capabilities
from adapters.records import Records
from gateway.extensions.extension import API_VERSION, Extension, ExtensionPlatform, PlatformParts
from gateway.settings.forms import FilePath, Words
from gateway.settings.platforms import PlatformSettings
from runtime.channels.channel import Channel
from runtime.channels.participant import Participant
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    ConfigError,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    OutcomeUnknown,
    PlaybookError,
    RateLimited,
    ShownDiffers,
    StreamOver,
)
from runtime.core.message import (
    Attachment,
    Choice,
    Message,
    MessageType,
    StreamChunk,
    StreamComplete,
    StreamObserver,
    StreamStart,
)
from runtime.core.quote import Quote

__all__ = [
    "API_VERSION",
    "Adapter",
    "AdapterError",
    "Address",
    "AnswersHttp",
    "Attachment",
    "AuthFailed",
    "BadMarkup",
    "Budget",
    "CanDelete",
    "CanDownload",
    "CanEdit",
    "CanOffer",
    "CanOpenThread",
    "CanReact",
    "CanShowTyping",
    "CanStream",
    "CanUpload",
    "Capabilities",
    "Channel",
    "Choice",
    "Clock",
    "ConfigError",
    "Extension",
    "ExtensionPlatform",
    "FilePath",
    "HoldsConnections",
    "Inbound",
    "Message",
    "MessageGone",
    "MessageType",
    "NotDelivered",
    "OutcomeUncertain",
    "OutcomeUnknown",
    "Participant",
    "PlatformParts",
    "PlatformSettings",
    "PlaybookError",
    "Quote",
    "RateLimited",
    "Records",
    "ShownDiffers",
    "Speaker",
    "StreamChunk",
    "StreamComplete",
    "StreamObserver",
    "StreamOver",
    "StreamStart",
    "Words",
]
