"""What goes wrong on a first day is told in one line that says what to do."""

import re
import socket
from pathlib import Path

from tests.newcomer.clones import Clone
from tests.support.running import free_port
from tests.support.small_disk import fill, small_disk


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


def test_an_unreachable_database(installed: Clone) -> None:
    nobody_there = free_port()
    for command in (("make", "run"), (".venv/bin/almoner", "migrate"), (".venv/bin/almoner", "partners", "list")):
        reported = installed.run(
            *command, ALMONER_DATABASE_URL=f"postgresql://role:hush@127.0.0.1:{nobody_there}/almoner"
        )
        assert reported.returncode != 0
        (line,) = _lines(reported.stdout)
        assert f"127.0.0.1:{nobody_there} (ALMONER_DATABASE_URL) cannot be reached" in line
        assert "hush" not in line


SET_REVISION = """
import asyncio, sys, asyncpg
from almoner import settings
from almoner.cli import local

async def change(dsn):
    connection = await asyncpg.connect(dsn)
    await connection.execute("update alembic_version set version_num = $1", sys.argv[1])
    await connection.execute("delete from compatible_revision")
    await connection.close()

with local.complete_settings(settings.read_settings()) as complete:
    asyncio.run(change(complete.owner_dsn))
"""


def test_a_database_of_another_form_than_the_code(installed: Clone, place: Path) -> None:
    data = str(place / "other")
    assert installed.run(".venv/bin/almoner", "migrate", ALMONER_DATA_DIR=data).returncode == 0
    serve, migrate = (".venv/bin/almoner", "serve"), (".venv/bin/almoner", "migrate")
    newer = "The database is at revision r9999, newer than this version of Almoner"
    older = "The database is at revision r0001, from before Almoner 0.1.0, and cannot be carried over"
    # Those that migrate look in one place, those that serve in another.
    for revision, wrong, commands in (
        ("r9999", newer, (("make", "run"), serve, (".venv/bin/almoner", "worker"), migrate)),
        ("r0001", older, (serve, migrate)),
    ):
        changed = installed.run(".venv/bin/python", "-c", SET_REVISION, revision, ALMONER_DATA_DIR=data)
        assert changed.returncode == 0, changed.stdout
        for command in commands:
            reported = installed.run(*command, ALMONER_DATA_DIR=data)
            assert reported.returncode != 0
            (line,) = _lines(reported.stdout)
            assert wrong in line
    assert installed.run("make", "clean", ALMONER_DATA_DIR=data).returncode == 0


def test_a_disk_too_small_for_the_database(installed: Clone, place: Path) -> None:
    with small_disk(place / "small", 100) as data:
        reported = installed.run("make", "run", ALMONER_DATA_DIR=str(data))
        assert reported.returncode != 0
        (line,) = _lines(reported.stdout)
        assert re.match(r"No room for the database in .*: free 300 MB, or set ALMONER_DATA_DIR", line)


def test_a_disk_that_is_full_at_a_later_start(installed: Clone, place: Path) -> None:
    with small_disk(place / "full", 350) as data:
        assert installed.run(".venv/bin/almoner", "migrate", ALMONER_DATA_DIR=str(data)).returncode == 0
        fill(data / "filler")
        reported = installed.run("make", "run", ALMONER_DATA_DIR=str(data))
        assert reported.returncode != 0
        (line,) = _lines(reported.stdout)
        assert "No room for the database" in line


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


def test_settings_of_production_are_told_all_at_once(installed: Clone) -> None:
    reported = installed.run(".venv/bin/almoner", "serve", ALMONER_ENVIRONMENT="production", ALMONER_PORT="none")
    assert reported.returncode != 0
    named = set(re.findall(r"^  (ALMONER_[A-Z_]+)", reported.stdout, re.MULTILINE))
    assert named == {
        "ALMONER_PORT",
        "ALMONER_DATABASE_URL",
        "ALMONER_MASTER_KEY",
        "ALMONER_API_URL",
        "ALMONER_PAGES_URL",
        "ALMONER_WEBHOOK_SOURCE_ADDRESSES",
        "ALMONER_MAIL_URL",
        "ALMONER_MAIL_FROM",
        "ALMONER_PRIVACY_URL",
        "ALMONER_CONTACT_EMAIL",
    }
