"""Complete published files, kept outside the repository, if their folder is configured."""

import os
from pathlib import Path


def folder() -> Path | None:
    """The folder with ``us_irs_bmf``, ``gb_ccni`` and so on; None if none is configured."""
    named = os.environ.get("ALMONER_REGISTER_FILES")
    return Path(named) if named else None
