"""`parley`, also as `python -m gateway`."""

from __future__ import annotations

import gc
import signal
import sys

from gateway.settings.hidden_keys import hide_keys

YOUNG, MIDDLE, OLD = 20_000, 5, 5
"""After so many new objects they are looked through for cyclic garbage; every fifth time those that survived too; and
every 25th time, after half a million objects (some 50 MB), all of them. Almost nothing here is cyclic, and what Python
looks through is every session in memory: by default a third of a busy node's processor time, with pauses of a fifth of
a second.
"""


def main() -> None:
    """Run the command line. Ctrl-C before a command has begun ends the process without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    collect_rarely()
    if sys.argv[1:2] in (["run"], ["standby"]):
        hide_keys()
    from gateway.cli.commands import narrowed, renamed  # noqa: PLC0415 - takes a while, in which Ctrl-C may come

    sys.argv[1:] = renamed(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    narrowed("".join(sys.argv[1:2]))(prog_name="parley")


def collect_rarely() -> None:
    """Look for garbage more rarely than Python does by itself, from the first import on: modules are none, and looking
    through them three hundred times is a tenth of a start.
    """
    gc.set_threshold(YOUNG, MIDDLE, OLD)


if __name__ == "__main__":
    main()
