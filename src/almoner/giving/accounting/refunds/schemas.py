"""Request schemas of the refund endpoint."""

from pydantic import Field

from almoner.kit.money import MAX_MINOR
from almoner.platform.http.wire import RequestBody


class RefundBody(RequestBody):
    """The amount to refund."""

    amount: int | None = Field(
        None,
        ge=1,
        le=MAX_MINOR,
        description="The amount to refund, in the currency's minor unit, at most what is left of the donation. "
        "Default: all that is left.",
    )
