"""Deployment records in a folder, read and written without the object storage library."""

import os
from pathlib import Path
from typing import Final

from almoner.platform.files.storage import StorageUnavailable
from almoner.platform.jobs.sidecar import run_in_detached_thread

_FOLDER: Final = "marks"  # as adapters.storage_objects has it


class FolderDeploymentRecords:
    """Deployment records on a local or shared disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER

    async def read_deployment_record(self, name: str) -> bytes | None:
        """Read a deployment record; None if there is none."""
        try:
            return await run_in_detached_thread((self._folder / name).read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageUnavailable from error

    async def write_deployment_record(self, name: str, content: bytes) -> None:
        """Write a deployment record, replacing the old one."""
        try:
            await run_in_detached_thread(lambda: self._write(name, content))
        except OSError as error:
            raise StorageUnavailable from error

    async def list_deployment_records(self) -> list[str]:
        """List the names of all deployment records."""
        try:
            return await run_in_detached_thread(
                lambda: [file.name for file in self._folder.iterdir() if "." not in file.name]
            )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageUnavailable from error

    def _write(self, name: str, content: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f"{name}.{os.getpid()}"
        unfinished.write_bytes(content)
        unfinished.replace(self._folder / name)
