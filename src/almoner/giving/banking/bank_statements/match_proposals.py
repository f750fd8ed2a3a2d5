"""Possible matches of an open line: records with its reference, with its amount, and with similar amounts."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, islice
from typing import Final
from uuid import UUID

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.banking.bank_statements import store
from almoner.giving.banking.bank_statements.domain import BankLine, BankMovement, MatchProposal, ReferencedRecords
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import DonationRequest
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import Disbursement, DisbursementStatus, OperatorDisbursementFilters
from almoner.platform.database.transactions import Tx

_LOOKED_AT: Final = 500
_COMBINED: Final = 120
"""Of this many of the newest unpaid requests, combinations are looked at."""
_MAX_COMBINATIONS: Final = 3
_NEAR: Final = 20
"""A request or disbursement has a similar amount if it differs by at most a twentieth."""


async def propose_matches(
    tx: Tx, line: BankLine, referenced_records: ReferencedRecords, max_proposals: int
) -> list[MatchProposal]:
    """Propose a limited number of matches, most likely first. ``referenced_records``: the references in the line."""
    moved = line.movement
    unpaid = await _unpaid_requests(tx, moved) if moved.amount_minor > 0 else []
    found = [*_named_in(moved, referenced_records), *await _of_amount(tx, moved, unpaid)]
    found += await _provider_payouts(tx, moved)
    taken = await store.find_matched_records(tx, [one.record_id for one in found if one.kind == "disbursement"])
    matched_as = "disbursement_return" if moved.amount_minor > 0 else "disbursement"
    free = [one for one in found if one.kind != "disbursement" or (matched_as, one.record_id) not in taken]
    unique = {(one.kind, one.record_id): one for one in reversed(free)}
    combined = _combined_requests(moved, unpaid, {one.id for one in referenced_records.donation_requests})
    ranked = sorted([*unique.values(), *combined], key=lambda one: (not one.is_referenced, abs(one.difference_minor)))
    return ranked[:max_proposals]


def _named_in(moved: BankMovement, named: ReferencedRecords) -> list[MatchProposal]:
    found = [_request(moved, one, is_named=True) for one in named.donation_requests]
    found += [
        MatchProposal("donation", one.donation_id, "", one.money.minor, one.money.currency, True, moved.amount_minor)
        for one in named.payments
    ]
    found += [
        MatchProposal("provider_payout", one.id, one.reference, one.net_minor, one.currency, True, moved.amount_minor)
        for one in named.provider_payouts
    ]
    return found + [_disbursement(moved, one, is_named=True) for one in named.disbursements]


def _request(moved: BankMovement, one: DonationRequest, *, is_named: bool) -> MatchProposal:
    return MatchProposal(
        "request", one.id, one.reference, one.outstanding_minor, one.money.currency, is_named, moved.amount_minor
    )


def _disbursement(moved: BankMovement, one: Disbursement, *, is_named: bool) -> MatchProposal:
    minor = one.money.minor if moved.amount_minor > 0 else -one.money.minor
    return MatchProposal(
        "disbursement", one.id, one.end_to_end_id, minor, one.money.currency, is_named, moved.amount_minor
    )


async def _of_amount(tx: Tx, moved: BankMovement, unpaid: Sequence[DonationRequest]) -> list[MatchProposal]:
    if moved.amount_minor > 0:
        requests = [_request(moved, one, is_named=False) for one in unpaid]
        return [
            *(one for one in requests if abs(one.difference_minor) * _NEAR <= moved.amount_minor),
            *await _donations(tx, moved),
            *await _disbursements(tx, moved, "SENT", "PAID"),
        ]
    return [*await _disbursements(tx, moved, "SENT"), *await _refunds(tx, moved)]


async def _unpaid_requests(tx: Tx, moved: BankMovement) -> list[DonationRequest]:
    open_ = await donation_requests.list_for_operators(tx, "OPEN", None, None, _LOOKED_AT)
    begun = await donation_requests.list_for_operators(tx, "PARTLY_PAID", None, None, _LOOKED_AT)
    return [one for one in (*open_, *begun) if one.money.currency == moved.currency and not one.is_adding_donations]


def _combined_requests(
    moved: BankMovement, unpaid: Sequence[DonationRequest], named: AbstractSet[UUID]
) -> list[MatchProposal]:
    """Two or three requests of one partner that the line pays together."""
    smaller = [one for one in unpaid if one.outstanding_minor < moved.amount_minor]
    return [
        MatchProposal(
            "request",
            requests[0].id,
            ", ".join(one.reference for one in requests),
            moved.amount_minor,
            moved.currency,
            all(one.id in named for one in requests),
            moved.amount_minor,
        )
        for requests in islice(_combinations(smaller[:_COMBINED], moved.amount_minor), _MAX_COMBINATIONS)
    ]


def _combinations(requests: Sequence[DonationRequest], total_minor: int) -> Iterator[tuple[DonationRequest, ...]]:
    """Pairs, then triples, of requests of one partner whose unpaid amounts add up to the total."""
    places: dict[tuple[UUID, int], list[int]] = {}
    for place, one in enumerate(requests):
        places.setdefault((one.partner_id, one.outstanding_minor), []).append(place)

    def completing(first: DonationRequest, missing_minor: int, after: int) -> Iterator[DonationRequest]:
        return (requests[nth] for nth in places.get((first.partner_id, missing_minor), ()) if nth > after)

    for place, one in enumerate(requests):
        for other in completing(one, total_minor - one.outstanding_minor, place):
            yield one, other
    for (first, one), (second, two) in combinations(enumerate(requests), 2):
        if one.partner_id == two.partner_id:
            missing = total_minor - one.outstanding_minor - two.outstanding_minor
            for third in completing(one, missing, max(first, second)):
                yield one, two, third


async def _donations(tx: Tx, moved: BankMovement) -> list[MatchProposal]:
    return [
        MatchProposal("donation", one.donation_id, "", one.money.minor, one.money.currency, False, moved.amount_minor)
        for one in await payments.list_open_payments_by_amount(tx, BANK_TRANSFER, moved.money, _LOOKED_AT)
    ]


async def _disbursements(tx: Tx, moved: BankMovement, *statuses: DisbursementStatus) -> list[MatchProposal]:
    found: list[Disbursement] = []
    for status in statuses:
        filters = OperatorDisbursementFilters(status=status, money=moved.money)
        found += await disbursements.list_for_operators(tx, filters, None, _LOOKED_AT)
    return [_disbursement(moved, one, is_named=False) for one in found]


async def _refunds(tx: Tx, moved: BankMovement) -> list[MatchProposal]:
    pending = await refunds.list_for_operators(tx, "pending", BANK_TRANSFER, None, _LOOKED_AT)
    return [
        MatchProposal("donation", one.donation_id, "", -one.money.minor, one.money.currency, False, moved.amount_minor)
        for one in pending
        if one.money == moved.money
    ]


async def _provider_payouts(tx: Tx, moved: BankMovement) -> Sequence[MatchProposal]:
    found = [
        MatchProposal(
            "provider_payout",
            one.payout.id,
            f"{one.provider}/{one.payout.reference}",
            one.payout.net_minor,
            one.payout.currency,
            False,
            moved.amount_minor,
        )
        for one in await store.list_missing_provider_payouts(tx, _LOOKED_AT)
        if one.payout.currency == moved.currency
    ]
    return [one for one in found if abs(one.difference_minor) * _NEAR <= abs(moved.amount_minor)]
