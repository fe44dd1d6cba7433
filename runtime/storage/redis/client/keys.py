"""Every key there is. The part in braces decides the Cluster slot, so one script touches one slot. Content may be
sealed: a text `sealed:<key id>:<Base64>` (see `runtime/storage/encoding/sealing.py`).

{parley:17}:lease                  hash    node, token (only grows), expires (server ms): who may write in shard 17;
                                           commits: how many there were; lasts: how long it is taken for (ms)
{parley:17}:inbox                  stream  events that no session has taken: field e, JSON
{parley:17}:seen:<n>:<conv>:<id>   string  the event was taken in: the attempt, its entry and its program; gone
                                           after 7 days; n is the length of <conv>
{parley:17}:dead                   stream  events that could not be processed: e, id, reason
{parley:17}:settled:<letter>       string  who replayed or dropped a dead letter just now; gone after a minute
{parley:17}:current                hash    conversation key -> id of the session that lives there
{parley:17}:awake                  set     ids of sessions that have work without a further event
{parley:17}:outbox                 set     ["session","page"], JSON: pages no platform has in final form
{parley:17}:timers                 zset    session that is out of memory -> when it is due, UTC seconds since the epoch
{parley:17}:schedules:<conv>       hash    number -> the event as which a schedule of a conversation is kept, JSON;
                                           last: the last number given out; zone: the conversation's time zone
{parley:17}:schedule-times         zset    <number> <conv> -> when the schedule is due next, UTC seconds since the epoch
{parley:17}:memories:<scope>       hash    number -> a memory, JSON; id:<id>: its number; last: the last number given;
                                           version: changes with them; gone:<id>: when it was forgotten, server seconds
{parley:17}:memory-vectors:<scope> hash    id of a memory -> what it means to a model, JSON; made again where it is gone
{parley:17}:said:<conv>            zset    message id -> its place in the order in which what was said came
{parley:17}:said-message:<n>:<conv>:<id> hash  text: such a message, JSON; gone after context.keep_hours
{parley:17}:model-calls            zset    <session> <asked> <heard> <ms> <bytes> -> when it was kept, server ms
{parley:17}:model-call:<name>      hash    text: a call of a model, Base64 of its compressed JSON; gone after 7 days, or
                                           when it is not among the latest 100 or in the latest MiB
{parley:17}:session:<session>      hash    address, program, started_at, seq, ended; last commit: digest, writer, call;
                                           parent, parent_seq: what it goes on from; replaced_by; early: see there;
                                           anchors: all of its anchors are known; spent:<measure>: what models cost
{parley:17}:sessions               zset    session -> when something was committed last, server ms
{parley:17}:sessions-known         string  sessions from before there was this list are in it
{parley:17}:news                   stream  the latest commits: field s, session; for who waits for facts
{parley:17}:events                 stream  what other programs see: y (type), f (tape) and q (seq) of a fact, or
                                           e, JSON: an event that a client sent; of 7 days, at most 10,000
{parley:17}:events-cut             string  the id of the last entry that was taken out of it
{parley:17}:tapes:<session>        set     the session's tape ids
{parley:17}:tape:<tape>            stream  facts: entry id <seq>-0, fields k (kind), t (time), d (data, JSON) and
                                           v (what of the data is kept by its hash: {name: hash}, JSON)
{parley:17}:anchors:<session>      zset    <kind>:<seq>, all of score 0: the session's own anchors
{parley:17}:value:<hash>           hash    text: a large value, JSON; sessions: how many have it
{parley:17}:values:<session>       set     hashes of the large values that the session has
{parley:17}:early:<tape>           stream  the facts that came from a parent which was deleted
{parley:17}:copy:<key>             stream  a tape that is being written again under another key; gone after 10 minutes
{parley:17}:snapshot:<session>     hash    seq, version, text: what the facts so far add up to; text:<seq>: what they
                                           did earlier, by the same version; earlier: the last of these seqs
{parley:17}:forks:<session>        hash    session that goes on from this one -> [shard, server ms], JSON
{parley:17}:notebooks              zset    notebook -> when it changed last, server ms; grows with each change
{parley:17}:notebook:<name>        hash    head, branch, last (the last place), off (head - last), at, created; a fork's
                                           parent, origin:<branch> (JSON); merged:<other>: branch, entry, head
{parley:17}:notebook-branches:<name> hash  number -> "at offset parent head", see `NotebookBranch`
{parley:17}:notebook-entries:<name> stream <place>-0, fields k (kind), d (line, JSON), r (raw), m (mark of a sealed one)
{parley:17}:notebook-anchors:<name> zset   place of an anchor -> place
{parley:17}:notebook-append:<n>:<name>:<key> string first and last entry, and the attempt; gone after 7 days
{parley:17}:notebook-news          stream  the latest changes: field s, notebook; for who follows
{parley:17}:rooms                  zset    room -> time of its latest message, microseconds
{parley:17}:room:<room>            hash    message id -> message, JSON
{parley:17}:room-counters:<room>   hash    the last seq and version given out
{parley:17}:room-seqs:<room>       zset    message id -> seq
{parley:17}:room-versions:<room>   zset    message id -> version
{parley:bot:telegram}:lease        hash    like a shard's: who holds that bot's connection
{parley:nodes}                     hash    node -> until when it lives (server ms); :news is a stream: look again
{parley:shares}                    hash    node -> its part of every shared limit, and until when it lives (server ms)
{parley:file:<id>}                 hash    a file: type, size, and its pieces by number, Base64 (files.py)
{parley:files}:order, :sizes, :total       zset, hash, string: which files are kept, how long each is, and all of them
{parley:files}:entries, :accounts, :totals hash, zset, hash: whose each file is, each account's in order, and its bytes
{parley:files}:owners, :owned, :owned-entries zset, zset, hash: who sent how many bytes (a hash), and which files
{parley:files}:last                        string: the number of the file that was counted last
{parley:rooms}:news                channel what nodes tell each other of rooms; :<node> for one of them (rooms.py)
{parley:<table>}                   hash    a table of texts by name: marks:discord, access:people, … (records.py)
{parley:runs:<schedule>}           hash    run of a schedule -> how it ended, JSON; gone after 90 days without a run
{parley:programs:versions}, :texts   hash    digest of a program -> when it was taken up, JSON; its compiled text
{parley:runs-paused}               hash    schedule -> 1: it skips its times
{parley:reports}                   hash    number -> a report about failures, JSON; the latest 500
{parley:reports}:numbers           hash    fingerprint -> number of its report; last: the last number given out
{parley:usage:<day>}               hash    ["person","program","agent","model","purpose"] measure -> its sum; 92 days
{parley:hours:<hour>}              hash    measure -> its sum; gone after 2 days without an addition
{parley:participant:<name>}:mail   stream  letters for a participant in another process: l, JSON (mailboxes.py)
{parley:participant:<name>}:seen   zset    letter -> 0 while it is there, then until when it is known, UTC seconds
{parley:participant:<name>}:seat:<seat>    string  where a seat is, JSON; gone after 30 days without a letter
{parley:participant:<name>}:reader, :readers   string, stream   which connection reads now, and the latest that did
{parley:count:<name>}              string  a sum that vanishes; :once:<id> is an addition made (records.py)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from runtime.core.ids import SessionId, TapeId

SHARD_KEY = re.compile(r"\{parley:(\d+)\}:([a-z-]+):?(.*)", re.DOTALL)
"""A key of a shard: the shard, the kind, and the rest."""

EARLIER = "text:"
"""The fields of a session's earlier snapshots begin so; the number of the fact follows."""

SHARES = "{parley:shares}"
"""The key of the nodes' parts of shared limits."""

NODES = "{parley:nodes}"
"""The key of the roster of nodes."""

NODE_NEWS = "{parley:nodes}:news"
"""The key of the stream that reports changes of the roster and released leases."""

FRONTS = "{parley:fronts}"
"""The key of the fronts, kept as NODES is."""

FRONT_NEWS = "{parley:fronts}:news"
"""The key of the stream that reports changes of the fronts."""


Id = TypeVar("Id", bound=str)


class _KeyOfAll:
    """A key that a shard has once, or a notebook, or a mailbox."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, keys: ShardKeys | NotebookKeys | MailboxKeys, _kind: object = None, /) -> str:
        return keys.named(self._name)


class _KeyOfEach(Generic[Id]):
    """The keys that a shard or a mailbox has for each of a kind: what follows their beginning."""

    def __init__(self, begins: str) -> None:
        self._begins = begins

    def __get__(self, keys: ShardKeys | MailboxKeys, _kind: object = None, /) -> Callable[[Id], str]:
        return lambda id_: keys.named(f"{self._begins}:{id_}")


class ShardKeys(Struct, frozen=True):
    shard: int

    lease = _KeyOfAll("lease")
    inbox = _KeyOfAll("inbox")
    dead = _KeyOfAll("dead")
    current = _KeyOfAll("current")
    awake = _KeyOfAll("awake")
    outbox = _KeyOfAll("outbox")
    timers = _KeyOfAll("timers")
    schedule_times = _KeyOfAll("schedule-times")
    model_calls = _KeyOfAll("model-calls")
    events = _KeyOfAll("events")
    events_cut = _KeyOfAll("events-cut")
    sessions = _KeyOfAll("sessions")
    sessions_known = _KeyOfAll("sessions-known")
    news = _KeyOfAll("news")
    notebooks = _KeyOfAll("notebooks")
    notebook_news = _KeyOfAll("notebook-news")
    rooms = _KeyOfAll("rooms")
    settled = _KeyOfEach[str]("settled")
    schedules = _KeyOfEach[str]("schedules")
    memories = _KeyOfEach[str]("memories")
    memory_vectors = _KeyOfEach[str]("memory-vectors")
    said = _KeyOfEach[str]("said")
    model_call = _KeyOfEach[str]("model-call")
    session = _KeyOfEach[SessionId]("session")
    tapes = _KeyOfEach[SessionId]("tapes")
    tape = _KeyOfEach[TapeId]("tape")
    anchors = _KeyOfEach[SessionId]("anchors")
    value = _KeyOfEach[str]("value")
    values = _KeyOfEach[SessionId]("values")
    early = _KeyOfEach[TapeId]("early")
    snapshot = _KeyOfEach[SessionId]("snapshot")
    forks = _KeyOfEach[SessionId]("forks")
    room = _KeyOfEach[str]("room")
    room_counters = _KeyOfEach[str]("room-counters")
    room_seqs = _KeyOfEach[str]("room-seqs")
    room_versions = _KeyOfEach[str]("room-versions")

    def named(self, name: str) -> str:
        """The shard's key of this name."""
        return f"{{parley:{self.shard}}}:{name}"

    def seen(self, conversation: str, event_id: str) -> str:
        return self.named(f"seen:{len(conversation)}:{conversation}:{event_id}")

    def said_message(self, conversation: str, message: str) -> str:
        return self.named(f"said-message:{len(conversation)}:{conversation}:{message}")


def conversation_of_said(rest: str) -> str:
    """The conversation in the rest of the key of a message that was said."""
    length, _, named = rest.partition(":")
    return named[: int(length)]


class NotebookKeys(Struct, frozen=True):
    shard: ShardKeys
    name: str

    notebook = _KeyOfAll("notebook")
    branches = _KeyOfAll("notebook-branches")
    entries = _KeyOfAll("notebook-entries")
    anchors = _KeyOfAll("notebook-anchors")

    def named(self, kind: str) -> str:
        return self.shard.named(f"{kind}:{self.name}")

    def append(self, key: str) -> str:
        return self.shard.named(f"notebook-append:{len(self.name)}:{self.name}:{key}")


class MailboxKeys(Struct, frozen=True):
    participant: str

    mail = _KeyOfAll("mail")
    seen = _KeyOfAll("seen")
    reader = _KeyOfAll("reader")
    readers = _KeyOfAll("readers")
    seat = _KeyOfEach[str]("seat")

    def named(self, name: str) -> str:
        return f"{{parley:participant:{self.participant}}}:{name}"


def lease_key(name: str) -> str:
    """The key of a lease by its name: `shard:<n>` or `bot:<platform>`."""
    shard = shard_of_lease(name)
    return f"{{parley:{name}}}:lease" if shard is None else ShardKeys(shard).lease


def shard_of_lease(name: str) -> int | None:
    """The shard of a lease with this name; None for other leases."""
    kind, _, rest = name.partition(":")
    return int(rest) if kind == "shard" else None
