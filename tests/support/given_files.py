"""Whole files as published, which lie outside the repository, where somebody has named their folder."""

import os
from pathlib import Path


def folder() -> Path | None:
    """The folder with ``us_irs_bmf``, ``gb_ccni`` and so on; None where none is named."""
    named = os.environ.get("ALMONER_REGISTER_FILES")
    return Path(named) if named else None
