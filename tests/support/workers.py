"""Real background processes for a test's database."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.service import Service


def start_worker(service: Service, folder: Path, **given: str) -> "subprocess.Popen[bytes]":
    """``almoner worker`` on the service's database; its output is ``worker.log`` in the folder.

    ``given`` are further settings without their prefix.
    """
    settings = service.services.settings
    assert settings.master_key is not None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")} | {
        "ALMONER_DATABASE_URL": settings.dsn,
        "ALMONER_MASTER_KEY": settings.master_key.get_secret_value(),
        "ALMONER_DATA_DIR": str(folder),
        **{f"ALMONER_{name}": value for name, value in given.items()},
    }
    with (folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "almoner", "worker"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
