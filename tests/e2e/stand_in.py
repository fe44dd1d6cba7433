"""A process that stands in for a copy of a loaded one, where a program starts it by a command line.

    python -I -S stand_in.py PLACE MODULE ARGUMENTS…

The copy has its environment, folder, input and outputs. It passes signals on and ends as the copy ends; a copy whose
stand-in is killed is killed too. It loads hardly anything, since that is what it is for. See `warm_starts`.
"""

import contextlib
import marshal
import os
import signal
import socket
import struct
import sys

PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}

_NUMBER = struct.Struct("i")


def main() -> None:
    """Ask for the copy, and wait for its end."""
    place, module, *arguments = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    asks = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asks.connect(place)
    asked = [module, arguments, dict(os.environ), os.getcwd()]  # noqa: PTH109 - pathlib takes a while to load
    socket.send_fds(asks, [marshal.dumps(asked)], [0, 1, 2])
    os.closerange(0, 3)  # whoever reads what the copy writes sees its end
    copy = _NUMBER.unpack(asks.recv(_NUMBER.size))[0]

    def pass_on(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(copy, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    code = _NUMBER.unpack(asks.recv(_NUMBER.size))[0]
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
