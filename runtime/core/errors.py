"""Every error of ours, as one tree."""

from __future__ import annotations

from pathlib import Path

# A line for each that carries nothing but its text.
# fmt: off


class ParleyError(Exception):
    """The root. The text says what happened, with the value, and what to do."""


class CommandRefused(ParleyError):
    """A command was not carried out. Only the person who gave it reads why."""


class ConfigError(ParleyError): ...  # a setting is wrong; exit code 2, names the key
class NotInstalled(ConfigError): ...  # what it needs is an optional part, and not there


class FileUnreadable(ConfigError):
    """`key` is the setting, `path` the file, `error` says why."""

    def __init__(self, key: str, path: Path, error: Exception) -> None:
        super().__init__(f"{key}: {path} cannot be read ({error}); check the path and its permissions.")
        self.key = key
        self.path = path
        self.missing = isinstance(error, FileNotFoundError)


class ProgramError(ParleyError): ...  # the author can fix it; carries the diagnostics
class ParseError(ProgramError): ...
class CompileError(ProgramError): ...
class ExecutionError(ParleyError): ...
class PlaybookError(ExecutionError): ...  # a playbook failed; the text is for its caller and, at the top, the person
class SharedStateConflict(PlaybookError): ...  # somebody else wrote a value of a meeting meanwhile; it was not written
class VerificationError(ExecutionError): ...  # what the model makes of a playbook cannot be gone on with
class NoUsableAnswer(VerificationError): ...  # no answer of the model fits, several times; people read that alone
class SandboxError(ExecutionError): ...  # model-written code broke a limit or a rule
class NoWorker(SandboxError): ...  # the sandbox has no process to run a statement now
class QueueTimeout(ExecutionError): ...  # nothing matching came in time
class QueueClosed(ExecutionError): ...  # the queue takes and gives nothing any more
class QueueFull(ExecutionError): ...  # the queue is at its bound; the message was not taken
class OutcomeUnknown(ExecutionError): ...  # an outside effect may or may not have happened
class RemoteError(ExecutionError): ...  # a playbook of a remote agent gave no result
class NotAllowed(RemoteError): ...  # the settings forbid it, or whoever was asked did not allow it
class ToolFailed(RemoteError): ...  # its server says that it failed, and why
class RemoteFault(RemoteError): ...  # its server refused the request, or answered what cannot be read
class RemoteTimeout(RemoteError): ...  # it took too long; it may be called again
class RemoteUnavailable(RemoteError): ...  # its server cannot be reached; it may be called again


class JournalError(ExecutionError):
    """A session cannot continue as its tape says. The text is for people; `detail`, for the log, says what differs."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail

    def __repr__(self) -> str:
        more = f", detail={self.detail!r}" if self.detail else ""
        return f"{type(self).__name__}({str(self)!r}{more})"


class Divergence(JournalError): ...  # code and journal do not agree
class ProgramChanged(JournalError): ...  # the playbook is not the one the frame began with
class Unjournaled(JournalError): ...  # a frame waits for something that is not a host call
class DebugError(ParleyError): ...  # what a debugger asks for cannot be
class DebugProtocolError(DebugError): ...  # what it sends is not the Debug Adapter Protocol
class RoutingError(ParleyError): ...
class UnknownTarget(RoutingError): ...  # nobody of that name can be spoken to
class UnknownStream(RoutingError): ...  # no such stream is in progress
class AdapterError(ParleyError): ...


class RateLimited(AdapterError):
    """The platform asks for a pause."""

    def __init__(self, text: str, *, retry_after_s: float) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class NotDelivered(AdapterError): ...  # the platform refused for good
class OutcomeUncertain(AdapterError): ...  # the platform may have it (time-out, 5xx)
class MessageGone(AdapterError): ...  # the message to edit is no longer there
class BadMarkup(AdapterError): ...  # the platform refuses the formatting; plain text will do
class StreamOver(AdapterError): ...  # the native stream takes nothing more, or none is to be had; edits will do
class ShownDiffers(AdapterError): ...  # the platform answered that it shows another text, or shows it elsewhere
class AuthFailed(AdapterError): ...  # the token or the rights are wrong
class LLMError(ParleyError): ...
class LLMUnavailable(LLMError): ...  # it cannot be reached
class NoModelSet(LLMUnavailable): ...  # no model is configured; the text says what to set
class LLMProcessLost(LLMUnavailable): ...  # the process that asks models has ended; it is started again


class LLMRateLimited(LLMError):
    """The provider asks for a pause; None when it does not say how long."""

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class LLMTimeout(LLMError): ...
class LLMRefused(LLMError): ...  # the provider rejects the request (model, content)
class LLMKeyRefused(LLMRefused): ...  # the provider rejects the key
class LLMNotOffered(LLMRefused): ...  # the provider does not have the model, or not for this key
class LLMQuotaSpent(LLMRefused): ...  # the account has no credit left
class UnscriptedQuestion(LLMRefused): ...  # a scripted model has no answer; the text has the question
class ContextTooLong(LLMError): ...
class StorageError(ParleyError): ...


class TapeConflict(StorageError):
    """Somebody else appended first; both sequence numbers are given."""

    def __init__(self, text: str, *, expected: int, actual: int) -> None:
        super().__init__(text)
        self.expected = expected
        self.actual = actual


class LeaseLost(StorageError): ...  # another node owns the shard; stop at once
class InboxFull(StorageError): ...  # too much is waiting in this shard; nothing was taken


class ConversationFull(InboxFull):
    """The inbox of one conversation has its largest number of events, and another is not taken."""

    def __init__(self, text: str, *, bound: int) -> None:
        super().__init__(text)
        self.bound = bound


class MailboxFull(StorageError): ...  # too much waits for a participant in another process; nothing was taken
class FileTooLarge(StorageError): ...  # the file is longer than what is kept; nothing was
class EventsGone(StorageError): ...  # events after a client's place in the log are no longer kept


class HeadMoved(StorageError):
    """Somebody else wrote first, and nothing was written; `head` is where the notebook is."""

    def __init__(self, text: str, *, head: int) -> None:
        super().__init__(text)
        self.head = head


class NotebookFull(StorageError): ...  # a notebook, or the list of them, is at its bound; nothing was written
class NotebookExists(StorageError): ...  # there is such a notebook already, and it began elsewhere
class NotebookGone(StorageError): ...  # there is no such notebook, or it has no such entry
class LetterGone(StorageError): ...  # there is no such dead letter, or not any more
class TaskRefused(StorageError): ...  # there is no such task, or what is wanted of it cannot be now
class NoSuchTask(TaskRefused): ...
class SessionBusy(StorageError): ...  # a running node is at work on the session; nothing was changed
class SessionExists(StorageError): ...  # there is such a session already, or its conversation has another
class ContentLocked(StorageError): ...  # what is there is encrypted, and its key is missing or it was changed
class ArchiveUnavailable(StorageError): ...  # the archive, where a session is, cannot be reached; the database is well
class StorageUnavailable(StorageError): ...
