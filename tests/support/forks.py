"""``almoner`` commands as processes that need not import it again, which takes a second each.

A process that has imported every command (``python -m tests.support.forks``) waits. For each command it forks a copy of
itself, which gets its own arguments, environment and streams, runs the command like ``python -m almoner`` and exits
with its status. It starts with the first command of a test run and ends with it.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import typer
from typer.core import TyperGroup

from almoner.cli import failures, terminal

_BEGIN: Final = b"b"
_STREAMS: Final = 3
"""Standard input, output and errors as one, and the socket for arguments and the status."""


def run(words: Sequence[str], environment: Mapping[str, str], typed: str = "") -> tuple[int, str]:
    """Run a command; returns (exit status, negative for a signal; output). ``typed``: short standard input.

    If the words begin with ``-m``, run that module, as ``python -m`` does.
    """
    ours, other = socket.socketpair()
    stdin, feeding = os.pipe()
    printing, stdout = os.pipe()
    with ours, os.fdopen(printing, "rb") as printed:
        with other, os.fdopen(feeding, "wb") as to_type, os.fdopen(stdin), os.fdopen(stdout, "ab"):
            to_type.write(typed.encode())
            to_type.flush()
            ours.sendall(json.dumps([list(words), dict(environment)]).encode())
            ours.shutdown(socket.SHUT_WR)
            with _TURN:
                socket.send_fds(_waiting(), [_BEGIN], [stdin, stdout, other.fileno()])
        shown = printed.read().decode()
        status = _all(ours)
    assert status, f"the process that waits for commands is gone; last: {words}"
    return int(status), shown


_TURN: Final = threading.Lock()


@cache
def _waiting() -> socket.socket:
    """The socket to the waiting process."""
    ours, other = socket.socketpair()
    command = [sys.executable, "-m", "tests.support.forks", str(other.fileno())]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with other:
        process = subprocess.Popen(
            command, env=environment, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _all(sender: socket.socket) -> bytes:
    return b"".join(iter(lambda: sender.recv(65536), b""))


def _next(control: socket.socket) -> bool:
    """Wait for commands and fork for each; True in the process that runs one, False once the socket is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while True:
        started, streams, _, _ = socket.recv_fds(control, len(_BEGIN), _STREAMS)
        if not started:
            return False
        if os.fork() == 0:
            control.close()
            return _begin(*streams)
        for stream in streams:
            os.close(stream)


def _begin(stdin: int, stdout: int, told: int) -> bool:
    """Fork the process of a command, and one that reports its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=told) as caller:
        words, environment = json.loads(_all(caller))
        if command := os.fork():
            os.close(stdin)
            os.close(stdout)
            status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
            caller.sendall(str(status).encode())
            os._exit(0)
    for stream, number in ((stdin, 0), (stdout, 1), (stdout, 2)):
        os.dup2(stream, number)
    os.close(stdin)
    os.close(stdout)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["almoner", *words]
    return True


def main() -> None:
    """Import every command, and wait."""
    group = typer.main.get_command(terminal.commands)
    assert isinstance(group, TyperGroup)
    assert list(group.commands.values())
    assert failures.explain_error(EOFError()) is None  # imports the module, too
    assert threading.active_count() == 1, "a copy has one thread"
    gc.freeze()  # garbage collection skips what is loaded, in every copy
    if _next(socket.socket(fileno=int(sys.argv[1]))):
        if sys.argv[1:2] == ["-m"]:
            sys.argv[:] = sys.argv[2:]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            terminal.main()


if __name__ == "__main__":
    main()
