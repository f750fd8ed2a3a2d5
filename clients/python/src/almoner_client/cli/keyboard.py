"""Single keys of the terminal, while something else is under way."""

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_LOOK_SECONDS = 0.2


@contextmanager
def watch_keys(actions: Mapping[str, Callable[[], None]]) -> Iterator[bool]:
    """Run an action at its key until the block ends. False where there is no terminal to read keys from."""
    if not sys.stdin.isatty() or os.name != "posix":
        yield False
        return
    import termios
    import tty

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            if select.select([number], [], [], _LOOK_SECONDS)[0]:
                action = actions.get(os.read(number, 1).decode("ascii", "replace").lower())
                if action is not None:
                    action()

    thread = threading.Thread(target=watch, daemon=True)
    tty.setcbreak(number)
    try:
        thread.start()
        yield True
    finally:
        ended.set()
        termios.tcsetattr(number, termios.TCSADRAIN, before)
