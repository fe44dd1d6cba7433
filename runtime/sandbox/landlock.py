"""Starts a program in a jail that needs no namespaces: `python landlock.py PROGRAM ARGUMENT…`.

For machines that refuse bubblewrap, as most containers do. Landlock takes away every file but the program and the
system's libraries; a seccomp filter takes away sockets, signals to others, tracing, mounting and new namespaces. Linux
5.13 has both, for everybody. This file is a script of its own: it runs without Parley, in a process of the sandbox.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8
_NET = 3  # bind and connect of TCP
_SCOPE = 3  # abstract sockets of others, signals to others

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _SET, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_NEW_NAMESPACES = 0x7E020000
_OTHER_ABI = 0x40000000
"""Calls of x86-64 from here on are those of x32: the same calls under other numbers."""

_ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_CLONE, _CLONE3 = (56, 220), 435
_REFUSED = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}


def _called(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _close_files(libc: ctypes.CDLL, paths: Sequence[str]) -> None:
    """Landlock: nothing can be opened but these paths, nothing is written, and no TCP connects."""
    version = _called("Landlock", libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))
    every = (1 << (13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16)) - 1
    attributes = struct.pack("=QQQ", every, _NET, _SCOPE)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _called("Landlock", libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path in paths:
        if os.path.exists(path):  # noqa: PTH110 - a start counts every import
            allowed = _EXECUTE | _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)  # noqa: PTH112
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", allowed, handle)
            _called("Landlock", libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0))
            os.close(handle)
    _called("Landlock", libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _step(code: int, operand: int, holds: int = 0, fails: int = 0) -> bytes:
    """An instruction of a filter: code, how far to jump when it holds and when not, operand."""
    return struct.pack("=HBBI", code, holds, fails, operand)


def _filter(arch: int, column: int) -> Iterator[bytes]:
    """The filter's instructions."""
    yield _step(_LOAD, _ARCH_AT)
    yield _step(_EQUAL, arch, holds=1)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER_AT)
    yield _step(_AT_LEAST, _OTHER_ABI, fails=1)
    yield _step(_RETURN, _KILL)
    for numbers in _REFUSED.values():
        yield _step(_EQUAL, numbers[column], fails=1)
        yield _step(_RETURN, _ERRNO | _EPERM)
    yield _step(_EQUAL, _CLONE3, fails=1)  # its arguments cannot be looked at; without it clone is called
    yield _step(_RETURN, _ERRNO | _ENOSYS)
    yield _step(_EQUAL, _CLONE[column], fails=3)
    yield _step(_LOAD, _FIRST_ARGUMENT_AT)
    yield _step(_SET, _NEW_NAMESPACES, fails=1)
    yield _step(_RETURN, _ERRNO | _EPERM)
    yield _step(_RETURN, _ALLOW)


def _close_calls(libc: ctypes.CDLL) -> None:
    arch = _ARCHES.get(platform.machine())
    if arch is None or sys.byteorder != "little":
        raise OSError(f"no seccomp filter is known for {platform.machine()}")
    number, column = arch
    steps = list(_filter(number, column))
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    _called("seccomp", libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0))


def enclose(paths: Sequence[str]) -> None:
    """Put this process into the jail, for good; `paths` stay readable. Raises OSError where the system has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    _called("prctl", libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _close_files(libc, paths)
    _close_calls(libc)


def main(arguments: list[str]) -> None:
    """Become the program, in the jail. Raises OSError where the system has no such jail."""
    enclose((*LIBRARIES, arguments[0]))
    os.execve(arguments[0], arguments, {})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.exit(f"the jail cannot be made: {error}")
