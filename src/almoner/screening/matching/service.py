"""Compares names and bodies, and gives its reasons. Pure: no database, no network."""

from almoner.screening.matching.agreement import CERTAIN, LIKELY, agreement, names_agree
from almoner.screening.matching.comparison import compare
from almoner.screening.matching.screening import FLAGGED, Watchlist, match, subject
from almoner.screening.matching.words import prepare

__all__ = [
    "CERTAIN",
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
