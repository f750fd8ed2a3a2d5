"""Files that a command writes: for nobody else on this machine, and over nothing that is there."""

import os
from pathlib import Path

import typer


def ensure_new(out: Path) -> None:
    """Before anything is done. Raises BadParameter."""
    if out.exists():
        raise typer.BadParameter(f"{out} is there already: name another file")
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}")


def write(out: Path, content: bytes) -> None:
    """Whole or not at all."""
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)
