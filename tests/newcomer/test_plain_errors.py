"""What goes wrong on a first day is told in one line that says what to do; what needs no clone: tests/e2e."""

import re
import socket
from pathlib import Path

from tests.newcomer.clones import Clone


def _lines(output: str) -> list[str]:
    """What was said, without make's own line about the status."""
    return [line for line in output.splitlines() if line.strip() and not line.startswith("make")]


def test_a_busy_port(installed: Clone) -> None:
    with socket.create_server(("127.0.0.1", installed.port)):
        reported = installed.run("make", "run")
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert re.fullmatch(rf"Port {installed.port} is in use: .*ALMONER_PORT=\d+\.", line)


def test_a_busy_port_of_the_test_payment_provider(installed: Clone) -> None:
    with socket.create_server(("::1", installed.port + 1), family=socket.AF_INET6):
        reported = installed.run("make", "run")
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert line.startswith(f"Port {installed.port + 1} (ALMONER_PORT + 1, the test payment provider) is in use")


def test_a_folder_of_somebody_else(ordinary: Clone, place: Path) -> None:
    foreign = place / "foreign"
    foreign.mkdir(mode=0o555)
    assert ordinary.run("tools/bootstrap", "service").returncode == 0
    reported = ordinary.run("make", "run", ALMONER_DATA_DIR=str(foreign))
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert re.search(r"ALMONER_DATA_DIR is .*foreign, .*: create it, or give it to the account of the service", line)


def test_a_python_without_ensurepip(bare: Clone, place: Path) -> None:
    debian = place / "without-ensurepip"  # as Debian's python3 is without the package python3-venv
    debian.mkdir(exist_ok=True)
    (debian / "ensurepip.py").write_text("raise ModuleNotFoundError('No module named ensurepip', name='ensurepip')\n")
    reported = bare.run("make", "run", PYTHONPATH=str(debian))
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert "has no ensurepip" in line
    assert "apt-get install python3-venv" in line


def test_a_python_that_is_too_old(bare: Clone, place: Path) -> None:
    old = place / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *exit*) exit 1;; *) echo 3.9.2;; esac\n')
    old.chmod(0o755)
    reported = bare.run("make", "run", PYTHON=str(old))
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert line.startswith("Python 3.9.2 is too old: install Python 3.11 or newer")


def test_a_machine_without_python(bare: Clone) -> None:
    reported = bare.run("make", "run", PYTHON="/nowhere/python3")
    assert reported.returncode != 0
    (line,) = _lines(reported.stdout)
    assert "was not found: install Python 3.11 or newer" in line
