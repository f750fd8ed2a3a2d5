"""Monitoring by itself: what results follow from, the moves, and how test values are read."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.ongoing.monitoring import domain as monitoring_domain
from almoner.validation.ongoing.monitoring import monitoring_evidence
from almoner.validation.ongoing.monitoring import test_values as monitoring_test_values
from almoner.validation.ongoing.monitoring.domain import (
    DEFAULT_FLAGS,
    SUBSCRIPTION,
    AlreadyCancelled,
    CategoryStatus,
    Compliance,
    DatedScreenedWatchlist,
    InvalidState,
    MatchDecision,
    MonitoringEvidence,
    MonitoringMatch,
    MonitoringResults,
    MonitoringStatus,
    MonitoringSubscription,
    ScreenedWatchlist,
    new_subscription,
    results_from_evidence,
)

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ID = UUID(int=7)


def match(category: Category, decision: MatchDecision) -> MonitoringMatch:
    """A match of some list."""
    return MonitoringMatch("list", "1", category, "7", 0.9, decision)


def source(category: Category, name: str = "list") -> ScreenedWatchlist:
    """A list that was looked into."""
    return ScreenedWatchlist(name, "1", category)


categories = st.sampled_from(CATEGORIES)
matches = st.lists(st.builds(match, categories, st.sampled_from(get_args(MatchDecision))), max_size=8)
sources = st.lists(st.builds(source, categories), max_size=6)


@given(matches, sources, st.sampled_from(["yes", "no", None]), st.frozensets(categories))
def test_results_follow_from_what_was_seen(
    found: Sequence[MonitoringMatch],
    lists: Sequence[ScreenedWatchlist],
    active: monitoring_domain.RegistrationActive | None,
    flags: frozenset[Category],
) -> None:
    results = results_from_evidence(MonitoringEvidence(tuple(found), tuple(lists), active), compliance_flags=flags)
    by: dict[Category, set[MatchDecision]] = {
        category: {one.decision for one in found if one.category == category} for category in CATEGORIES
    }
    for category in CATEGORIES:
        status = results.status_by_category.get(category)
        assert (status == "flag") == ("confirmed" in by[category])
        checked = any(one.category == category for one in lists)
        assert (status == "clear") == (checked and not by[category] - {"cleared"})
    counted = [category for category in CATEGORIES if category in flags]
    if any(results.status_by_category.get(category) == "flag" for category in counted):
        assert results.compliance_status == "fail"
    elif any("open" in by[category] for category in counted):
        assert results.compliance_status is None
    else:
        assert results.compliance_status == "pass"
    assert results.registration_active == active


def test_the_flags_that_count_are_those_of_settled_4() -> None:
    assert frozenset(("sanction", "warning", "hateSpeech")) == DEFAULT_FLAGS
    for category in CATEGORIES:
        results = results_from_evidence(MonitoringEvidence((match(category, "confirmed"),)))
        assert results.compliance_status == ("fail" if category in DEFAULT_FLAGS else "pass")
        open_ = results_from_evidence(MonitoringEvidence((match(category, "open"),), (source(category),)))
        assert (open_.compliance_status, open_.status_by_category.get(category)) == (
            None if category in DEFAULT_FLAGS else "pass",
            None,
        )


known = st.builds(
    MonitoringResults,
    st.sampled_from(["pass", "fail", None]),
    st.dictionaries(categories, st.sampled_from(["clear", "flag"])),
    st.sampled_from(["yes", "no", None]),
)


@given(known)
def test_results_are_kept_as_they_are(results: MonitoringResults) -> None:
    assert monitoring_domain.results_from_json(results.as_json()) == results


@given(known, matches, sources)
def test_what_is_chosen_stands_in_place_of_what_was_seen(
    chosen: MonitoringResults, found: Sequence[MonitoringMatch], lists: Sequence[ScreenedWatchlist]
) -> None:
    seen = MonitoringEvidence(tuple(found), tuple(lists), "yes")
    results, without = results_from_evidence(seen, chosen), results_from_evidence(seen)
    for category in CATEGORIES:
        wanted = chosen.status_by_category.get(category, without.status_by_category.get(category))
        assert results.status_by_category.get(category) == wanted
    assert results.registration_active == (chosen.registration_active or "yes")
    if chosen.compliance_status:
        assert results.compliance_status == chosen.compliance_status


PARAMETERS = [*CATEGORIES, "compliance"]
ids = st.text("0123456789abcdefghjkmnpqrstvwxyz_", min_size=0, max_size=60)
overalls = st.sampled_from(get_args(Compliance))
overrides = st.lists(st.tuples(st.sampled_from(PARAMETERS), st.sampled_from(get_args(CategoryStatus))), max_size=9)


@given(ids, overalls, overrides, st.data())
def test_4_11_a_suffix_is_read_in_any_order(
    id_: str, overall: Compliance, single: list[tuple[str, CategoryStatus]], data: st.DataObject
) -> None:
    parts = [f"-{parameter}:{status}" for parameter, status in single]
    parts.insert(data.draw(st.integers(0, len(parts))), f"-complianceStatus:{overall}")
    named, chosen = monitoring_test_values.split_id_and_simulated_results(id_ + "".join(parts))
    assert named == id_
    every: CategoryStatus = "clear" if overall == "pass" else "flag"
    last: dict[str, CategoryStatus] = {**dict.fromkeys(CATEGORIES, every), **dict(single)}
    assert chosen == MonitoringResults(overall, {category: last[category] for category in CATEGORIES})


@given(ids, st.text(max_size=40))
def test_4_11_what_is_no_suffix_is_left_as_it_is(id_: str, tail: str) -> None:
    named, chosen = monitoring_test_values.split_id_and_simulated_results(id_ + tail)
    if chosen is None:
        assert named == id_ + tail
    else:
        assert "-complianceStatus:" in tail


@given(ids, overalls, overrides, st.data())
def test_4_11_one_wrong_sign_makes_it_no_suffix(
    id_: str, overall: Compliance, single: list[tuple[str, CategoryStatus]], data: st.DataObject
) -> None:
    suffix = f"-complianceStatus:{overall}" + "".join(f"-{parameter}:{status}" for parameter, status in single)
    place = data.draw(st.integers(1, len(suffix)))
    broken = id_ + suffix[:place] + data.draw(st.sampled_from(" \n:X")) + suffix[place:]
    assert monitoring_test_values.split_id_and_simulated_results(broken) == (broken, None)


def at(status: MonitoringStatus) -> MonitoringSubscription:
    """One in this state."""
    by_request = status in ("pending_validation_request", "validation_request_failed")
    new = new_subscription(
        ID,
        ID,
        NOW,
        "name",
        organisation_id=None if by_request else ID,
        validation_request_id=ID if by_request else None,
    )
    if status == "validation_request_failed":
        return new.with_validation_request_rejected()
    if status in ("live", "cancelled"):
        new = new.with_evidence(MonitoringEvidence(), "name", NOW)
    return new.with_cancellation(NOW) if status == "cancelled" else new


def test_settled_5_no_move_beside_the_table() -> None:
    states: tuple[MonitoringStatus, ...] = get_args(MonitoringStatus)
    assert set(states) == SUBSCRIPTION.states()
    for source_, target in product(states, states):
        if SUBSCRIPTION.allows_transition(source_, target):
            at(source_).ensure_transition_allowed(target)
            continue
        with pytest.raises(AlreadyCancelled if source_ == "cancelled" else InvalidState):
            at(source_).ensure_transition_allowed(target)


def test_settled_5_the_moves_are_those_of_the_specification() -> None:
    assert set(SUBSCRIPTION.transitions()) == {
        ("pending", "live"),
        ("pending_validation_request", "pending"),
        ("pending_validation_request", "validation_request_failed"),
        ("validation_request_failed", "pending_validation_request"),  # an appeal reversed the rejection (settled 4)
        *((state, "cancelled") for state in SUBSCRIPTION.states() - {"cancelled"}),
    }


def test_a_live_one_shows_the_versions_up_to_which_all_are_compared() -> None:
    own = (source("sanction", "a"), source("warning", "b"))
    live = at("pending").with_evidence(MonitoringEvidence((), own, "yes"), "name", NOW)
    newer = ScreenedWatchlist("a", "2", "sanction")
    later, earlier = NOW + timedelta(seconds=1), NOW - timedelta(seconds=1)
    assert monitoring_evidence.with_newer_watchlist_versions(live, [DatedScreenedWatchlist(newer, later)]).sources == (
        newer,
        own[1],
    )
    assert (
        monitoring_evidence.with_newer_watchlist_versions(live, [DatedScreenedWatchlist(newer, earlier)]).sources == own
    )
    assert (
        monitoring_evidence.with_newer_watchlist_versions(
            live.with_cancellation(NOW), [DatedScreenedWatchlist(newer, later)]
        ).sources
        == own
    )
