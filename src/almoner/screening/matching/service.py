"""Public functions of name matching. Pure: no database, no network."""

from typing import Final

from almoner.screening.matching.agreement import (
    CERTAIN_SCORE,
    LIKELY_SCORE,
    MEMBER_KINDS,
    RARE_NAME_WEIGHT,
    best_name_similarity,
    compare_parties,
)
from almoner.screening.matching.comparison import compare_names
from almoner.screening.matching.obstacles import find_person_screening_obstacle, find_screening_obstacle
from almoner.screening.matching.posting_lists import PostingLists
from almoner.screening.matching.romanisations import alternative_romanisations
from almoner.screening.matching.watchlist_matcher import FLAG_SCORE, WatchlistMatcher, match_entry, prepare_subject
from almoner.screening.matching.words import prepare_name

ENGINE_VERSION: Final = 16
"""Increase it with every change that affects a score: watched subjects are then screened again."""

__all__ = [
    "CERTAIN_SCORE",
    "ENGINE_VERSION",
    "FLAG_SCORE",
    "LIKELY_SCORE",
    "MEMBER_KINDS",
    "RARE_NAME_WEIGHT",
    "PostingLists",
    "WatchlistMatcher",
    "alternative_romanisations",
    "best_name_similarity",
    "compare_names",
    "compare_parties",
    "find_person_screening_obstacle",
    "find_screening_obstacle",
    "match_entry",
    "prepare_name",
    "prepare_subject",
]
