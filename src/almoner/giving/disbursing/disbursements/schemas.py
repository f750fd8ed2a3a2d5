"""Disbursements on the wire (settled 4)."""

from typing import Annotated

from almoner.giving.disbursing.disbursements.domain import (
    Disbursement,
    DisbursementFilters,
    DisbursementStatus,
    WaitingReason,
)
from almoner.kit.errors import IncorrectParams
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.ids import IdString
from almoner.platform.http.wire import PageQuery, ResponseRecord


class DisbursementsQuery(PageQuery):
    """Filters of the list; all given ones must hold."""

    organisation_id: Annotated[str, IdString("organisation")] | None = None
    status: DisbursementStatus | None = None


def parse_filters(tx: Tx, query: DisbursementsQuery) -> DisbursementFilters:
    """The filters in a query. Raises IncorrectParams for invalid IDs."""
    if query.organisation_id is None:
        return DisbursementFilters(None, query.status)
    if (organisation_id := tx.ids.decode("organisation", query.organisation_id)) is None:
        raise IncorrectParams("query.organisationId must be the id of an organisation")
    return DisbursementFilters(organisation_id, query.status)


class DisbursementResponse(ResponseRecord, object_name="disbursement"):
    """A disbursement to a nonprofit. While ``PENDING``, ``waitingReason`` says why the next run does not send it."""

    id: str
    organisation_id: str
    amount: int
    currency_code: str
    status: DisbursementStatus
    waiting_reason: WaitingReason | None
    end_to_end_id: str
    created_at: str
    paid_at: str | None


def disbursement_response(tx: Tx, disbursement: Disbursement) -> DisbursementResponse:
    """The response for one disbursement."""
    return DisbursementResponse(
        id=tx.ids.encode("disbursement", disbursement.id),
        organisation_id=tx.ids.encode("organisation", disbursement.organisation_id),
        amount=disbursement.money.minor,
        currency_code=disbursement.money.currency,
        status=disbursement.status,
        waiting_reason=disbursement.waiting_reason,
        end_to_end_id=disbursement.end_to_end_id,
        created_at=iso_timestamp(disbursement.created_at),
        paid_at=iso_timestamp_or_none(disbursement.paid_at),
    )
