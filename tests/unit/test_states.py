"""Lifecycle tables: allow-lists that answer the same in every direction."""

from almoner.giving.checkout.donations.domain import DONATION
from almoner.giving.checkout.sessions.domain import SESSION
from almoner.kit.states import Lifecycle

TEA = Lifecycle("tea", {"ordered": frozenset({"served", "cancelled"}), "served": frozenset({"paid"})})


def test_s1_only_named_moves_are_allowed() -> None:
    allowed = {(one, other) for one in TEA.states() for other in TEA.states() if TEA.allows_transition(one, other)}
    assert allowed == {("ordered", "served"), ("ordered", "cancelled"), ("served", "paid")}
    assert not TEA.allows_transition("unknown", "paid")


def test_sources_are_the_states_with_an_arrow_to_the_target() -> None:
    assert TEA.source_states_of("paid") == ("served",)
    assert set(TEA.source_states_of("served")) == {"ordered"}
    assert TEA.source_states_of("ordered") == ()


def test_states_and_arrows_are_complete() -> None:
    assert TEA.states() == {"ordered", "served", "cancelled", "paid"}
    assert list(TEA.transitions()) == [("ordered", "cancelled"), ("ordered", "served"), ("served", "paid")]


def test_s1_the_tables_are_those_of_the_interface() -> None:
    """spec 3.1 and 3.2; settled 5 adds the direct donation, the returned payout and the session's grace."""
    assert set(SESSION.transitions()) == {("open", "completed"), ("open", "expired"), ("expired", "completed")}
    assert set(DONATION.transitions()) == {
        ("ACTIVE", "REQUESTED_PAYMENT"),
        ("ACTIVE", "CANCELLED"),
        ("REQUESTED_PAYMENT", "RECEIVED_PAYMENT"),
        ("REQUESTED_PAYMENT", "CANCELLED"),
        ("RECEIVED_PAYMENT", "DISBURSED"),
        ("DISBURSED", "RECEIVED_PAYMENT"),
    }
