"""Events of a gateway as a whole: what it stands on, the other nodes, and who may come in."""

from __future__ import annotations

from runtime.events.happening import Happening, happening


@happening("storage.lost", "warning")
class StorageLost(Happening, frozen=True):
    """The database does not answer; everything waits."""

    reason: str
    server: str | None = None


@happening("storage.back")
class StorageBack(Happening, frozen=True):
    """It answers again, after `seconds`."""

    seconds: float
    server: str | None = None


@happening("storage.doubted", "warning")
class StorageDoubted(Happening, frozen=True):
    """The set-up of the database may lose data."""

    reason: str


@happening("archive.failed", "error")
class ArchiveFailed(Happening, frozen=True):
    """The archive does not answer, or lacks something; `conversation` if one waits for it."""

    error: str
    conversation: str | None = None


@happening("sessions.retired")
class SessionsRetired(Happening, frozen=True):
    """Old sessions were archived and deleted; the numbers."""

    archived: int
    deleted: int
    left: int


@happening("notebooks.retired")
class NotebooksRetired(Happening, frozen=True):
    """Notebooks in which nobody has written for long were deleted; how many."""

    deleted: int


@happening("connections.ended", "warning")
class ConnectionsEnded(Happening, frozen=True):
    """Connections to the web server were ended, `count` of them since the last such line: their requests were too slow,
    or they took the place of others. The last one came from `address`.
    """

    trouble: str
    count: int
    address: str


@happening("model.ready")
class ModelReady(Happening, frozen=True):
    """The process that asks the model has started, after `seconds`."""

    model: str
    seconds: float


@happening("model.unknown", "error")
class ModelUnknown(Happening, frozen=True):
    """The name of a model says no provider that is known: a misspelt name, or one without a provider."""

    model: str


@happening("model.lost", "warning")
class ModelLost(Happening, frozen=True):
    """That process has ended; it is started again."""

    model: str
    reason: str


@happening("model.fell_back", "warning")
class ModelFellBack(Happening, frozen=True):
    """A model has failed. `following` is asked in its place; None where the answer had begun, or no other is ready."""

    model: str
    following: str | None
    error: str


@happening("model.key_refused", "error")
class ModelKeyRefused(Happening, frozen=True):
    """The provider of a model that others stand in for refuses its key. `entry` is its name in the settings."""

    model: str
    entry: str
    error: str


@happening("model.not_offered", "error")
class ModelNotOffered(Happening, frozen=True):
    """The provider of a model that others stand in for does not have it, or not for this key. `entry` is its name in
    the settings.
    """

    model: str
    entry: str
    error: str


@happening("sandbox.unjailed", "warning")
class SandboxUnjailed(Happening, frozen=True):
    """The processes that run code from models have no jail."""

    reason: str


@happening("node.balanced")
class NodeBalanced(Happening, frozen=True):
    """This node holds this number of shards, among this number of nodes."""

    shards: int
    nodes: int


@happening("node.handed_over", "debug")
class NodeHandedOver(Happening, frozen=True):
    """A shard became idle, and this node gave it back."""

    shard: int


@happening("node.shard_lost", "warning")
class NodeShardLost(Happening, frozen=True):
    """Another node has a shard that this node held."""

    shard: int


@happening("node.isolated", "warning")
class NodeIsolated(Happening, frozen=True):
    """The leases of these shards were not renewed for so long that another node may take over."""

    shards: int


@happening("node.returned")
class NodeReturned(Happening, frozen=True):
    """The leases are renewed again, after `seconds`."""

    seconds: float


@happening("agents.absent", "warning")
class AgentsAbsent(Happening, frozen=True):
    """No node serves conversations; this front keeps what people write."""


@happening("agents.present")
class AgentsPresent(Happening, frozen=True):
    """A node serves conversations again, after `seconds`."""

    seconds: float


@happening("node.draining")
class NodeDraining(Happening, frozen=True):
    """The node is stopping: `busy` conversations have work in progress, for `seconds` at most."""

    seconds: float
    busy: int


@happening("node.drained")
class NodeDrained(Happening, frozen=True):
    """It has given everything back."""


@happening("job.failed", "error")
class JobFailed(Happening, frozen=True):
    """Background work or a schedule failed; it is tried again."""

    job: str
    error: str


@happening("failure.reported", "warning")
class ReportOpened(Happening, frozen=True):
    """A failure that nobody caught is the first of a new report."""

    report: int
    conversation: str
    raised_at: str
    error_type: str


@happening("schedule.failing", "warning")
class ScheduleFailing(Happening, frozen=True):
    """A schedule failed several times in a row, the last time with this type of error."""

    schedule: str
    conversation: str
    error_type: str


@happening("program.reloaded")
class ProgramReloaded(Happening, frozen=True):
    """A program is served in another version from now on; `version` is the beginning of its digest."""

    program: str
    version: str


@happening("program.rolled_back", "warning")
class ProgramRolledBack(Happening, frozen=True):
    """A program is served in another version than before because somebody wanted that; `version` is the beginning of
    its digest."""

    program: str
    version: str
    by: str


@happening("program.refused", "error")
class ProgramRefused(Happening, frozen=True):
    """A program, or the settings, could not be reloaded; what was served is served still."""

    program: str
    error: str


@happening("program.doubted", "warning")
class ProgramDoubted(Happening, frozen=True):
    """A model, the second reader, understands the line at `place` otherwise than Parley; `why` has both readings."""

    program: str
    place: str
    why: str


@happening("programs.unwatched", "warning")
class ProgramsUnwatched(Happening, frozen=True):
    """The files of programs cannot be watched; a reload has to be asked for."""

    reason: str


@happening("settings.reloaded")
class SettingsReloaded(Happening, frozen=True):
    """Settings have changed: those `in_force` now, and those that wait for a `restart`."""

    in_force: list[str]
    restart: list[str]


@happening("access.refused", "warning")
class AccessRefused(Happening, frozen=True):
    """A stranger wrote."""

    platform: str
    participant_id: str


@happening("access.paired")
class AccessPaired(Happening, frozen=True):
    """A person got access with the code."""

    platform: str
    participant_id: str


@happening("console.entered")
class ConsoleEntered(Happening, frozen=True):
    """Somebody has logged in to the console, from this address, by this name."""

    role: str
    source: str
    who: str = ""


@happening("console.refused", "warning")
class ConsoleRefused(Happening, frozen=True):
    """Somebody gave the console a wrong password."""

    source: str


@happening("console.left")
class ConsoleLeft(Happening, frozen=True):
    """Somebody has logged out of the console."""

    role: str


@happening("console.acted")
class ConsoleActed(Happening, frozen=True):
    """Somebody has changed something at the console: the method and the path of the request."""

    role: str
    action: str
    target: str
    who: str = ""


@happening("debugger.attached", "warning")
class DebuggerAttached(Happening, frozen=True):
    """An editor debugs the sessions of this node, and can see and stop everything."""


@happening("debugger.detached", "warning")
class DebuggerDetached(Happening, frozen=True):
    """It has left."""


@happening("debugger.refused", "warning")
class DebuggerRefused(Happening, frozen=True):
    """A connection to the debug server was refused."""

    reason: str


@happening("tracing.failed", "warning")
class TracingFailed(Happening, frozen=True):
    """Spans could not be sent; `dropped` counts those lost since the start."""

    error: str
    dropped: int


@happening("tracing.resumed")
class TracingResumed(Happening, frozen=True):
    """Spans are sent again."""

    dropped: int
