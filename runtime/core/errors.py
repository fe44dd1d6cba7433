"""Every error of ours, as one tree.

ParleyError
├── ConfigError                  a setting is wrong; exit code 2, names the key
│   ├── NotInstalled             what it needs is an optional part, and not there
│   └── FileUnreadable           a file that a setting names is not there, or cannot be read
├── ProgramError                 the author can fix it; carries the diagnostics
│   ├── ParseError
│   └── CompileError
├── ExecutionError
│   ├── PlaybookError            a playbook failed; the text is for its caller and, at the top, the person
│   │   └── SharedStateConflict  somebody else wrote a value of a meeting meanwhile; it was not written
│   ├── VerificationError        what the model makes of a playbook cannot be gone on with
│   │   └── NoUsableAnswer       no answer of the model fits, several times; people read that alone
│   ├── SandboxError             model-written code broke a limit or a rule
│   │   └── NoWorker             the sandbox has no process to run a statement now
│   ├── QueueTimeout             nothing matching came in time
│   ├── QueueClosed              the queue takes and gives nothing any more
│   ├── QueueFull                the queue is at its bound; the message was not taken
│   ├── OutcomeUnknown           an outside effect may or may not have happened
│   ├── RemoteError              a playbook of a remote agent gave no result
│   │   ├── NotAllowed           the settings forbid it, or whoever was asked did not allow it
│   │   ├── ToolFailed           its server says that it failed, and why
│   │   ├── RemoteFault          its server refused the request, or answered what cannot be read
│   │   ├── RemoteTimeout        it took too long; it may be called again
│   │   └── RemoteUnavailable    its server cannot be reached; it may be called again
│   └── JournalError
│       ├── Divergence           code and journal do not agree
│       ├── ProgramChanged       the playbook is not the one the frame began with
│       └── Unjournaled          a frame waits for something that is not a host call
├── DebugError                   what a debugger asks for cannot be
│   └── DebugProtocolError       what it sends is not the Debug Adapter Protocol
├── RoutingError
│   ├── UnknownTarget            nobody of that name can be spoken to
│   └── UnknownStream            no such stream is in progress
├── AdapterError
│   ├── RateLimited              come back after `retry_after_s`
│   ├── NotDelivered             the platform refused for good
│   ├── OutcomeUncertain         the platform may have it (time-out, 5xx)
│   ├── MessageGone              the message to edit is no longer there
│   ├── BadMarkup                the platform refuses the formatting; plain text will do
│   ├── StreamOver               the native stream takes nothing more, or none is to be had; edits will do
│   ├── ShownDiffers             the platform answered that it shows another text, or shows it elsewhere
│   └── AuthFailed               the token or the rights are wrong
├── LLMError
│   ├── LLMUnavailable           it cannot be reached
│   │   ├── NoModelSet           no model is configured; the text says what to set
│   │   └── LLMProcessLost       the process that asks models has ended; it is started again
│   ├── LLMRateLimited
│   ├── LLMTimeout
│   ├── LLMRefused               the provider rejects the request (model, content)
│   │   ├── LLMKeyRefused        the provider rejects the key
│   │   ├── LLMNotOffered        the provider does not have the model, or not for this key
│   │   └── LLMQuotaSpent        the account has no credit left
│   └── ContextTooLong
└── StorageError
    ├── TapeConflict             the tape's head is not where the writer thought
    ├── LeaseLost                another node owns the shard; stop at once
    ├── InboxFull                too much is waiting in this shard; nothing was taken
    │   └── ConversationFull     too much is waiting in this conversation
    ├── MailboxFull              too much waits for a participant in another process; nothing was taken
    ├── FileTooLarge             the file is longer than what is kept; nothing was
    ├── EventsGone               events after a client's place in the log are no longer kept
    ├── HeadMoved                a notebook's head is not where the writer thought; nothing was written
    ├── NotebookFull             a notebook, or the list of them, is at its bound; nothing was written
    ├── NotebookExists           there is such a notebook already, and it began elsewhere
    ├── NotebookGone             there is no such notebook, or it has no such entry
    ├── LetterGone               there is no such dead letter, or not any more
    ├── TaskRefused              there is no such task, or what is wanted of it cannot be now
    ├── SessionBusy              a running node is at work on the session; nothing was changed
    ├── SessionExists            there is such a session already, or its conversation has another
    ├── ContentLocked            what is there is encrypted, and its key is missing or it was changed
    ├── ArchiveUnavailable       a session is in the archive and cannot be had from there; the database is well
    └── StorageUnavailable
"""

from __future__ import annotations

from pathlib import Path

# A line for each that carries nothing but its text.
# fmt: off


class ParleyError(Exception):
    """The root. The text says what happened, with the value, and what to do."""


class ConfigError(ParleyError): ...
class NotInstalled(ConfigError): ...


class FileUnreadable(ConfigError):
    """`key` is the setting, `path` the file, `error` says why."""

    def __init__(self, key: str, path: Path, error: Exception) -> None:
        super().__init__(f"{key}: {path} cannot be read ({error}); check the path and its permissions.")
        self.key = key
        self.path = path
        self.missing = isinstance(error, FileNotFoundError)


class ProgramError(ParleyError): ...
class ParseError(ProgramError): ...
class CompileError(ProgramError): ...
class ExecutionError(ParleyError): ...
class PlaybookError(ExecutionError): ...
class SharedStateConflict(PlaybookError): ...
class VerificationError(ExecutionError): ...
class NoUsableAnswer(VerificationError): ...
class SandboxError(ExecutionError): ...
class NoWorker(SandboxError): ...
class QueueTimeout(ExecutionError): ...
class QueueClosed(ExecutionError): ...
class QueueFull(ExecutionError): ...
class OutcomeUnknown(ExecutionError): ...
class RemoteError(ExecutionError): ...
class NotAllowed(RemoteError): ...
class ToolFailed(RemoteError): ...
class RemoteFault(RemoteError): ...
class RemoteTimeout(RemoteError): ...
class RemoteUnavailable(RemoteError): ...


class JournalError(ExecutionError):
    """A session cannot continue as its tape says. The text is for people; `detail`, for the log, says what differs."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail

    def __repr__(self) -> str:
        more = f", detail={self.detail!r}" if self.detail else ""
        return f"{type(self).__name__}({str(self)!r}{more})"


class Divergence(JournalError): ...
class ProgramChanged(JournalError): ...
class Unjournaled(JournalError): ...
class DebugError(ParleyError): ...
class DebugProtocolError(DebugError): ...
class RoutingError(ParleyError): ...
class UnknownTarget(RoutingError): ...
class UnknownStream(RoutingError): ...
class AdapterError(ParleyError): ...


class RateLimited(AdapterError):
    """The platform asks for a pause."""

    def __init__(self, text: str, *, retry_after_s: float) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class NotDelivered(AdapterError): ...
class OutcomeUncertain(AdapterError): ...
class MessageGone(AdapterError): ...
class BadMarkup(AdapterError): ...
class StreamOver(AdapterError): ...
class ShownDiffers(AdapterError): ...
class AuthFailed(AdapterError): ...
class LLMError(ParleyError): ...
class LLMUnavailable(LLMError): ...
class NoModelSet(LLMUnavailable): ...
class LLMProcessLost(LLMUnavailable): ...


class LLMRateLimited(LLMError):
    """The provider asks for a pause; None when it does not say how long."""

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class LLMTimeout(LLMError): ...
class LLMRefused(LLMError): ...
class LLMKeyRefused(LLMRefused): ...
class LLMNotOffered(LLMRefused): ...
class LLMQuotaSpent(LLMRefused): ...
class ContextTooLong(LLMError): ...
class StorageError(ParleyError): ...


class TapeConflict(StorageError):
    """Somebody else appended first; both sequence numbers are given."""

    def __init__(self, text: str, *, expected: int, actual: int) -> None:
        super().__init__(text)
        self.expected = expected
        self.actual = actual


class LeaseLost(StorageError): ...
class InboxFull(StorageError): ...


class ConversationFull(InboxFull):
    """The inbox of one conversation has its largest number of events, and another is not taken."""

    def __init__(self, text: str, *, bound: int) -> None:
        super().__init__(text)
        self.bound = bound


class MailboxFull(StorageError): ...
class FileTooLarge(StorageError): ...
class EventsGone(StorageError): ...


class HeadMoved(StorageError):
    """Somebody else wrote first; `head` is where the notebook is."""

    def __init__(self, text: str, *, head: int) -> None:
        super().__init__(text)
        self.head = head


class NotebookFull(StorageError): ...
class NotebookExists(StorageError): ...
class NotebookGone(StorageError): ...
class LetterGone(StorageError): ...
class TaskRefused(StorageError): ...
class SessionBusy(StorageError): ...
class SessionExists(StorageError): ...
class ContentLocked(StorageError): ...
class ArchiveUnavailable(StorageError): ...
class StorageUnavailable(StorageError): ...
