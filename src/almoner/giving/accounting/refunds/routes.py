"""The endpoint of refunds (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.giving.accounting.refunds import service
from almoner.giving.accounting.refunds.schemas import RefundBody
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.checkout.donations.service import DonationResponse
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.http.caller import SECRET, SUPPORT_REFUNDS
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId

_SCOPE = "donations:write"
DonationId = Annotated[UUID, PathId("donation")]


def refund_routes(rules: DisbursementRules) -> Routes:
    """The endpoint to refund a donation.

    It needs the minimum amounts of disbursements, because a refunded donation leaves its disbursement.

    """
    routes = Routes("Donations", moves_money=True)

    @routes.post(
        "/v1/donations/{id}/refund",
        key=SECRET,
        scope=_SCOPE,
        member_scope=SUPPORT_REFUNDS,
        errors=(InvalidState,),
    )
    async def refund_donation(call: ApiCall, id: DonationId, body: RefundBody) -> DonationResponse:
        """Refund a donation, in full or in part.

        The donation must be `RECEIVED_PAYMENT`, and not in a disbursement that was sent. The payment provider refunds
        the donor of a hosted donation. We refund direct donations to you by bank transfer. Once the money is sent,
        `refundedAt` and `refundedAmount` are set, and `donation.refunded` is sent. The status does not change.
        """
        begin = service.begin_refund if call.caller.has_scope(_SCOPE) else service.begin_support_refund
        await begin(call.tx, call.partner, id, body.amount, rules)
        return donations.serialise_for_api(call.tx, await donations.get(call.tx, call.partner, id))

    return routes
