"""Compares names and bodies, and gives its reasons. Pure: no database, no network."""

from typing import Final

from almoner.screening.matching.agreement import CERTAIN, LIKELY, agreement, names_agree
from almoner.screening.matching.comparison import compare
from almoner.screening.matching.screening import FLAGGED, Watchlist, match, subject
from almoner.screening.matching.words import prepare

ENGINE: Final = 2
"""Its version. Whoever is watched is compared again once this grows: it has to with whatever changes a score."""

__all__ = [
    "CERTAIN",
    "ENGINE",
    "FLAGGED",
    "LIKELY",
    "Watchlist",
    "agreement",
    "compare",
    "match",
    "names_agree",
    "prepare",
    "subject",
]
