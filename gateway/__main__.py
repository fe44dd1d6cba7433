"""`parley`, also as `python -m gateway`."""

from __future__ import annotations

import signal
import sys

from gateway.collection import collect_rarely
from gateway.settings.hidden_keys import hide_keys


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


if __name__ == "__main__":
    main()
