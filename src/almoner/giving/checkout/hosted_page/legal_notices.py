"""Parses the operator's legal notices for giving links and regular donations: a TOML file."""

import tomllib
from pathlib import Path
from typing import Final

from almoner.giving.checkout.hosted_page.ports import LegalNotice
from almoner.nonprofits.countries.domain import COUNTRIES

_MOST_NOTICES: Final = 200
_LONGEST: Final = 2000
_KEYS: Final = {"country", "state", "text", "regular"}


def load_legal_notices(file: Path) -> tuple[LegalNotice, ...]:
    """Load the tables ``[[notice]]``: ``country``, ``state``, ``text``, ``regular``. Raises OSError, ValueError."""
    content = tomllib.loads(file.read_text("utf-8-sig"))
    tables = content.get("notice", [])
    if set(content) - {"notice"} or not isinstance(tables, list) or len(tables) > _MOST_NOTICES:
        raise ValueError(f"it must have at most {_MOST_NOTICES} tables [[notice]], and nothing else")
    return tuple(_notice(number, table) for number, table in enumerate(tables, 1))


def _notice(number: int, table: object) -> LegalNotice:
    if not isinstance(table, dict) or set(table) - _KEYS:
        raise ValueError(f"notice {number} must have country, text and perhaps state and regular")
    texts = [one for key, one in table.items() if key != "regular"]
    if not all(isinstance(one, str) for one in texts) or not isinstance(table.get("regular", False), bool):
        raise ValueError(f"notice {number}: country, text and state must be texts, and regular true or false")
    country, text, state = table.get("country", ""), table.get("text", "").strip(), table.get("state")
    if country not in COUNTRIES:
        raise ValueError(f"notice {number}: country must be three letters such as USA")
    if not 1 <= len(text) <= _LONGEST:
        raise ValueError(f"notice {number}: text must have 1 to {_LONGEST} characters")
    return LegalNotice(country, state, text, table.get("regular", False))
