"""A resolver that never answers holds up those who ask for its names, in few threads, and nobody else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.figures import Figures
from tests.support.hanging_resolver import OF_EACH

ABSENT = os.geteuid() != 0 or shutil.which("unshare") is None
pytestmark = [pytest.mark.long, pytest.mark.skipif(ABSENT, reason="needs root and unshare")]


def test_mail_provider_and_scanner_wait_and_nobody_else_does(figures: Figures) -> None:
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-m", "tests.support.hanging_resolver"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    figures.write(
        "resolver",
        "A resolver that never answers",
        f"{OF_EACH} mails, {OF_EACH} calls of Stripe and {OF_EACH} scans at names whose server listens and says "
        f"nothing: {found['failed']:.0f} failed, to be tried again, within {found['seconds']:.0f} s",
        f"meanwhile a name of the loop's own threads, as a database has, took {found['lookup'] * 1000:.1f} ms, work "
        f"for another thread {found['thread'] * 1000:.1f} ms; {found['threads']:.0f} threads",
    )
    assert found["lookup"] < 0.5, found  # of a database by its name, in the loop's own threads
    assert found["thread"] < 0.5, found
    assert found["threads"] <= 3 * 16 + 12, found
    assert found["failed"] == 3 * OF_EACH, found
    assert found["seconds"] < 70, found
