"""Run a command as the parent of whatever it leaves behind, so that the processor time of all is counted as its own.

A database server outlives the process that started it. Its time is that of whoever waits for its end: on Linux, of the
nearest process above that asks for orphans; elsewhere, of nobody who counts.
"""

import ctypes
import os
import subprocess
import sys
from contextlib import suppress
from typing import Final

_ADOPT_ORPHANS: Final = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


def run(command: list[str]) -> int:
    """Run it to its end; its exit status."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    process = subprocess.Popen(command)
    ended = 0
    while ended != process.pid:
        ended, status = os.wait()
    process.returncode = os.waitstatus_to_exitcode(status)
    with suppress(ChildProcessError):  # of those that are left, who has ended
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return process.returncode


if __name__ == "__main__":
    returned = run(sys.argv[1:])
    sys.exit(returned if returned >= 0 else 128 - returned)
