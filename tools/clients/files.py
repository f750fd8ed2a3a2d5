"""All generated files of the clients, and whether they are what the description says."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from tools.clients import python_client, typescript_client
from tools.clients.api_model import Api

PROJECT: Final = Path(__file__).parents[2]


def render() -> dict[str, str]:
    """Each generated file's text by its path below the project."""
    api = Api(msgspec.json.decode((PROJECT / "openapi.json").read_bytes()))
    return {**_formatted(python_client.render(api)), **typescript_client.render(api)}


def _formatted(texts: dict[str, str]) -> dict[str, str]:
    """The files as ruff formats them."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--line-length", "120", folder]
        subprocess.run(command, check=True)
        return {path: (Path(folder) / path).read_text("utf-8") for path in texts}


def write() -> list[str]:
    """Write all files; their paths."""
    made = render()
    for path, text in made.items():
        file = PROJECT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return list(made)


def outdated() -> list[str]:
    """The files that differ from what the description says."""
    return [
        path
        for path, text in render().items()
        if not (PROJECT / path).exists() or (PROJECT / path).read_text("utf-8") != text
    ]
