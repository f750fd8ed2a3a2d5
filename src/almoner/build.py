"""The commit of this build: from `commit.txt` in an archive, or else from git."""

import re
from pathlib import Path
from typing import Final

_HASH: Final = re.compile(r"[0-9a-f]{40,64}")
_PACKAGE: Final = Path(__file__).parent


def source_commit() -> str | None:
    """The commit that this was built from; None if it was not recorded."""
    written = (_PACKAGE / "commit.txt").read_text().strip()
    return written if _HASH.fullmatch(written) else _checked_out(_PACKAGE.parents[1] / ".git")


def _checked_out(git: Path) -> str | None:
    """The commit of a checkout's HEAD, read without git, which a server may not have."""
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head if _HASH.fullmatch(head) else None
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text().strip()
        packed = (git / "packed-refs").read_text()
        found = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$", packed, re.MULTILINE)
        return found[1] if found else None
    except OSError:
        return None
