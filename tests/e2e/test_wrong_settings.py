"""Every sort of wrong setting over a production-like deployment: each is told in one sentence (O4 to O19)."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support import running
from tests.support.debian_postgres import PASSWORD, DebianServer, debian_server, missing
from tests.support.deployed import KEY
from tests.support.production import PRODUCTION
from tests.support.running import ALMONER, free_port

ABSENT = missing()
pytestmark = [pytest.mark.long, pytest.mark.skipif(ABSENT is not None, reason=ABSENT or "")]
NOWHERE: Final = 9
"""A port on which nobody listens."""

DATABASES: Final = {
    "no server": ("postgresql://almoner_app:x@127.0.0.1:{nowhere}/almoner", "cannot be reached"),
    "no host": ("postgresql://almoner_app:x@database.invalid/almoner", "cannot be reached"),
    "no socket": ("postgresql://almoner_app:x@/almoner?host={folder}/sockets", "cannot be reached"),
    "no database": ("postgresql://almoner_app:x@127.0.0.1:{port}/other", "rejected the connection"),
    "no role": ("postgresql://stranger:x@127.0.0.1:{port}/almoner", "rejected the connection"),
    "no password": ("postgresql://almoner_app:wrong@127.0.0.1:{port}/scram", "rejected the connection"),
    "no right to connect": ("postgresql://almoner_app:x@127.0.0.1:{port}/closed", "rejected the connection"),
    "no TLS at the server": ("postgresql://almoner_app:x@127.0.0.1:{port}/almoner?sslmode=require", "SSL"),
    "no certificate file": (
        "postgresql://almoner_app:x@127.0.0.1:{port}/almoner?sslmode=verify-full&sslrootcert={folder}/ca.pem",
        "sslrootcert",
    ),
    "another program": ("postgresql://almoner_app:x@127.0.0.1:{mute}/almoner", "cannot be reached"),
    "unknown option": ("postgresql://almoner_app:x@127.0.0.1:{port}/almoner?sslmod=require", "sslmod"),
    "wrong sslmode": ("postgresql://almoner_app:x@127.0.0.1:{port}/almoner?sslmode=yes", "sslmode"),
    "wrong session attributes": (
        "postgresql://almoner_app:x@127.0.0.1:{port}/almoner?target_session_attrs=writable",
        "target_session_attrs",
    ),
    "all servers down": (
        "postgresql://almoner_app:x@127.0.0.1:{nowhere},127.0.0.2:{nowhere}/almoner?target_session_attrs=read-write",
        "cannot be reached",
    ),
    "a stand-by alone": (
        "postgresql://almoner_app:x@127.0.0.1:{port}/almoner?target_session_attrs=standby",
        "target_session_attrs",
    ),
    "another kind of database": ("mysql://almoner_app:x@127.0.0.1:{port}/almoner", "postgresql://"),
    "wrong port": ("postgresql://almoner_app:x@127.0.0.1:99999/almoner", "ort"),
    "a slash in the password": ("postgresql://almoner_app:a/b@127.0.0.1:{port}/almoner", "percent"),
    "empty database": ("postgresql://almoner_app:x@127.0.0.1:{port}/empty", "almoner migrate"),
    "no text encoding": ("postgresql://almoner_app:x@127.0.0.1:{port}/ascii", "UTF8"),
    "no rights": ("postgresql://stranger2:x@127.0.0.1:{port}/almoner", "does not allow the role to do this"),
    "settings of the role": ("postgresql://slow:x@127.0.0.1:{port}/almoner", "jit is on, not off"),
    "no free connections": ("postgresql://limited:x@127.0.0.1:{port}/almoner", "no free connections"),
}
"""The address for the service, and words of the sentence."""

SETTINGS: Final = {
    "MASTER_KEY": {
        "secret": "base64",
        "c2hvcnQ=": "32",
        "KEY": "base64",
        "/" * 43 + "=": "ALMONER_MASTER_KEY is not the key",
    },
    "MAIL_URL": {
        "mail.example.org:25": "smtp",
        "https://mail.example.org": "smtp",
        "smtp://": "host",
        "smtp://h:x": "smtp://host:25",
    },
    "MAIL_FROM": {"Giving": "address", "a@": "address", "Giving <giving@example.org": "address"},
    "API_URL": {"http://api.example.org": "https", "api.example.org": "https", "https://": "https"},
    "PAGES_URL": {"http://give.example.org": "https", "https://give.example.org/path?x=1": "ALMONER_PAGES_URL"},
    "PRIVACY_URL": {"example": "http", "javascript:alert(1)": "http"},
    "CONTACT_EMAIL": {"help": "address"},
    "TRUSTED_PROXIES": {"proxy.internal": "network", "10.0.0.1/8": "10.0.0.0/8", "10.0.0.0/33": "network"},
    "TIME_ZONE": {"CET+1": "zone", "London": "Europe/London"},
    "PORT": {"http": "ALMONER_PORT", "0": "ALMONER_PORT", "99999": "ALMONER_PORT", "BUSY": "in use"},
    "HOST": {"192.0.2.1": "ALMONER_HOST", "no-such-host.invalid": "ALMONER_HOST", "http://localhost": "ALMONER_HOST"},
    "DATABASE_POOL": {"0": "2", "many": "ALMONER_DATABASE_POOL"},
    "DATA_DIR": {"FILE": "ALMONER_DATA_DIR", "/proc/none": "ALMONER_DATA_DIR"},
    "DOCUMENTS_URL": {"FILE": "ALMONER_DOCUMENTS_URL", "ftp://store": "s3://", "s3://": "bucket"},
    "SCANNER_URL": {"http://clamd": "clamd://", "clamd://": "clamd://"},
    "BANK_ACCOUNTS": {"NOFILE": "ALMONER_BANK_ACCOUNTS", "FILE": "ALMONER_BANK_ACCOUNTS"},
    "REGISTER_SCHEDULE": {"NOFILE": "ALMONER_REGISTER_SCHEDULE", "FILE": "ALMONER_REGISTER_SCHEDULE"},
    "WATCHLIST_SCHEDULE": {"NOFILE": "ALMONER_WATCHLIST_SCHEDULE", "FILE": "ALMONER_WATCHLIST_SCHEDULE"},
    "STRIPE_SECRET_KEY": {"sk_test_" + "0" * 24: "live", "pk_live_" + "0" * 24: "ALMONER_STRIPE"},
    "STRIPE_WEBHOOK_SECRET": {"whsec_" + "0" * 32: "ALMONER_STRIPE_SECRET_KEY"},
    "STRIPE_FEE": {"2.9 %": "ALMONER_STRIPE_FEE"},
    "RATE_LIMIT_SECRET": {"fast": "ALMONER_RATE_LIMIT_SECRET", "0/0": "ALMONER_RATE_LIMIT_SECRET"},
    "METRICS_TOKEN": {"short": "16"},
    "ENVIRONMENT": {"prod": "production"},
    "LOG_LEVEL": {"verbose": "info"},
    "DRAIN_SECONDS": {"10s": "ALMONER_DRAIN_SECONDS"},
    "TRACES_URL": {"localhost:4318": "http"},
    "TRACES_SHARE": {"2": "1"},
    "AUDIT_HEADS": {"FILE": "ALMONER_AUDIT_HEADS"},
    "NAME_MATCH_THRESHOLD": {"95": "ALMONER_NAME_MATCH_THRESHOLD"},
}
"""Values of a setting, and words of the sentence."""


class World:
    """A database as production has it, and others that are not as they must be."""

    def __init__(self, folder: Path, server: DebianServer) -> None:
        self.folder = folder
        self.server = server
        server.sql("create role stranger2 login; create role slow login in role almoner_app; create role limited login")
        server.sql("alter role slow set jit = on; alter role limited connection limit 0")
        server.sql("create database empty owner almoner_owner")
        server.sql("create database closed; revoke connect on database closed from public")
        server.sql("create database scram")
        server.sql("create database ascii owner almoner_owner encoding 'SQL_ASCII' template template0")
        hba = server.data / "pg_hba.conf"
        hba.write_text(f"host scram all 127.0.0.1/32 scram-sha-256\n{hba.read_text()}")
        server.sql("select pg_reload_conf()")
        self.busy = socket.create_server(("127.0.0.1", 0))
        self.mute = socket.create_server(("127.0.0.1", 0))
        (folder / "file").write_text("not [toml")
        self.owner = {"OWNER_DATABASE_URL": server.url("almoner_owner")}

    def run(self, command: str, **given: str) -> "subprocess.CompletedProcess[str]":
        """A command with one setting changed."""
        usual = {
            name.upper(): ",".join(value) if isinstance(value, list) else value
            for name, value in PRODUCTION.items()
            if value
        }
        usual |= {
            "DATABASE_URL": self.server.url("almoner_app"),
            "MASTER_KEY": KEY,
            "DATA_DIR": str(self.folder / "data"),
            "SCANNER_URL": "none",
            "HOST": "127.0.0.1",
            "PORT": str(free_port()),
        }
        settings = {f"ALMONER_{name}": self._value(value) for name, value in {**usual, **given}.items()}
        return subprocess.run(
            [ALMONER, command],
            env={"PATH": os.defpath, **settings},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def _value(self, value: str) -> str:
        stand_ins = {"FILE": str(self.folder / "file"), "NOFILE": str(self.folder / "none.toml"), "KEY": KEY[:-4]}
        stand_ins["BUSY"] = str(self.busy.getsockname()[1])
        return stand_ins.get(value, value)

    def url(self, text: str) -> str:
        """An address with places of this world."""
        places = {
            "port": self.server.port,
            "nowhere": NOWHERE,
            "mute": self.mute.getsockname()[1],
            "folder": self.folder,
        }
        return text.format(**places)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """One for all: nothing is written."""
    with running.folder("settings") as folder, debian_server(folder / "database", "max_connections=40") as server:
        made = World(folder, server)
        done = made.run("migrate", **made.owner)
        assert done.returncode == 0, done.stderr
        yield made
        made.busy.close()
        made.mute.close()


def is_a_sentence(done: "subprocess.CompletedProcess[str]", words: str) -> None:
    """One line that says it, and no traceback; nothing secret."""
    assert done.returncode != 0, "it did not fail"
    assert "Traceback" not in done.stderr, done.stderr[-1500:]
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert words in lines[0], lines[0]
    assert PASSWORD not in lines[0]


@pytest.mark.parametrize("name", DATABASES)
def test_a_wrong_database_is_told_in_a_sentence(world: World, name: str) -> None:
    url, words = DATABASES[name]
    is_a_sentence(world.run("serve", DATABASE_URL=world.url(url)), words)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values])
def test_a_wrong_setting_is_told_in_a_sentence(world: World, name: str, value: str) -> None:
    if name == "MASTER_KEY" and SETTINGS[name][value].startswith("ALMONER_MASTER_KEY is not"):
        before = subprocess.run(
            [ALMONER, "partners", "list"], env=_environment(world), capture_output=True, check=False
        )
        assert before.returncode == 0, before.stderr
    is_a_sentence(world.run("serve", **{name: value}), SETTINGS[name][value])


def test_the_folder_of_the_status_page_matters_to_workers_only(world: World) -> None:
    is_a_sentence(world.run("worker", STATUS_DIR="FILE"), "ALMONER_STATUS_DIR")
    is_a_sentence(world.run("serve", STATUS_DIR="FILE", PORT="BUSY"), "in use")


def _environment(world: World) -> dict[str, str]:
    given = {name.upper(): ",".join(v) if isinstance(v, list) else v for name, v in PRODUCTION.items() if v}
    given |= {
        "DATABASE_URL": world.server.url("almoner_app"),
        "MASTER_KEY": KEY,
        "DATA_DIR": str(world.folder / "data"),
    }
    return {"PATH": os.defpath, **{f"ALMONER_{name}": value for name, value in given.items()}}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("almoner_app", "ALMONER_OWNER_DATABASE_URL"),
        ("stranger", "ALMONER_OWNER_DATABASE_URL"),
    ],
)
def test_migrate_as_somebody_else(world: World, name: str, words: str) -> None:
    is_a_sentence(world.run("migrate", OWNER_DATABASE_URL=world.server.url(name, "empty")), words)
