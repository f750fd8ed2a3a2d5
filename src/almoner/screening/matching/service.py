"""Compares names and bodies, and gives its reasons. Pure: no database, no network."""

from almoner.screening.matching.agreement import CERTAIN, LIKELY, agreement, names_agree
from almoner.screening.matching.comparison import compare
from almoner.screening.matching.domain import Agreement, Likeness, Part, Party
from almoner.screening.matching.words import Prepared, prepare

__all__ = [
    "CERTAIN",
    "LIKELY",
    "Agreement",
    "Likeness",
    "Part",
    "Party",
    "Prepared",
    "agreement",
    "compare",
    "names_agree",
    "prepare",
]
