"""Compares names and bodies, and gives its reasons. Pure: no database, no network."""

from typing import Final

from almoner.screening.matching.agreement import CERTAIN_SCORE, LIKELY_SCORE, compare_parties, best_name_likeness
from almoner.screening.matching.comparison import compare_names
from almoner.screening.matching.screening import FLAG_SCORE, WatchlistMatcher, match_entry, prepare_subject
from almoner.screening.matching.words import prepare_name

ENGINE_VERSION: Final = 2
"""Its version. Whoever is watched is compared again once this grows: it has to with whatever changes a score."""

__all__ = [
    "CERTAIN_SCORE",
    "ENGINE_VERSION",
    "FLAG_SCORE",
    "LIKELY_SCORE",
    "WatchlistMatcher",
    "compare_parties",
    "compare_names",
    "match_entry",
    "best_name_likeness",
    "prepare_name",
    "prepare_subject",
]
