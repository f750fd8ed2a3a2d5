"""Confine a process that reads untrusted files: processor time, memory, system calls.

After ``confine_process`` it reads and writes only what is already open. It opens no file and no connection and starts
no program or process: Linux refuses all system calls except those that such work needs. On other systems only the
resource limits apply.
"""

import ctypes
import platform
import resource
import struct
import sys
from typing import Final

_CPU_SECONDS: Final = 10
_MEMORY_BYTES: Final = 512 * 1024 * 1024
_WRITTEN_BYTES: Final = 64 * 1024 * 1024

_X86_64: Final = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "pwrite64": 18, "readv": 19,
    "writev": 20, "sched_yield": 24, "mremap": 25, "madvise": 28, "getpid": 39, "exit": 60, "fcntl": 72, "getcwd": 79,
    "ftruncate": 77, "gettimeofday": 96, "getrusage": 98, "sigaltstack": 131, "gettid": 186, "futex": 202,
    "clock_gettime": 228, "clock_nanosleep": 230, "exit_group": 231, "newfstatat": 262, "set_robust_list": 273,
    "getrandom": 318, "membarrier": 324, "rseq": 334,
}  # fmt: skip
_AARCH64: Final = {
    "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215,
    "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "pread64": 67, "pwrite64": 68,
    "readv": 65, "writev": 66, "sched_yield": 124, "mremap": 216, "madvise": 233, "getpid": 172, "exit": 93,
    "fcntl": 25, "getcwd": 17, "ftruncate": 46, "gettimeofday": 169, "getrusage": 165, "sigaltstack": 132,
    "gettid": 178, "futex": 98, "clock_gettime": 113, "clock_nanosleep": 115, "exit_group": 94, "newfstatat": 79,
    "set_robust_list": 99, "getrandom": 278, "membarrier": 283, "rseq": 293,
}  # fmt: skip
_MACHINES: Final = {"x86_64": (0xC000003E, 56, _X86_64), "aarch64": (0xC00000B7, 220, _AARCH64)}
"""For each architecture: its number in a filter, the number of ``clone``, and the allowed system calls."""
_CLONE3: Final = 435
"""Its flags are in memory, where filters cannot see them. If it is reported as missing, the library uses ``clone``."""
_CLONE_THREAD: Final = 0x10000

_LOAD, _EQUAL, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF_LD+W+ABS, BPF_JMP+JEQ+K, BPF_JMP+JSET+K, BPF_RET+K
_CALL, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16  # their offsets in the filtered data
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # "operation not permitted", "no such call"
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def confine_process() -> bool:
    """Confine this process permanently; True if system calls are also filtered."""
    for kind, most in (
        (resource.RLIMIT_CPU, _CPU_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, _WRITTEN_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    return sys.platform == "linux" and _filter_calls()


def _filter_calls() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    number, clone, calls = machine
    steps = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, number), (_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, _CALL)]
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]
    # A thread shares every limit; a new process would not.
    steps += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_HAS, 0, 1, _CLONE_THREAD)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_EQUAL, len(calls) - index, 0, call) for index, call in enumerate(calls.values())]
    steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    libc = ctypes.CDLL(None)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)
