"""What several slices of the checkout take on the wire."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from almoner.giving.checkout.sessions.domain import DonationFrequency
from almoner.kit import money
from almoner.platform.http.texts import BrowserAddress
from almoner.platform.http.wire import Typed, ensure_unique
from almoner.platform.outbound import addresses

SuccessUrl = Annotated[
    BrowserAddress,
    Field(
        max_length=addresses.MAX_LENGTH,
        description="Where the donor is redirected after donating; https. `{DONATION_SESSION_ID}` in it is "
        "replaced by the session's ID. Default: our own page.",
        examples=["https://shop.example/thanks"],
    ),
]
_Amount = Annotated[int, Field(ge=1, le=money.MAX_MINOR)]
SuggestedAmounts = Annotated[
    list[_Amount],
    Field(
        min_length=1,
        max_length=6,
        examples=[[1000, 2500, 5000]],
        description="Amounts to choose from, in minor units. Default: the currency's default amounts.",
    ),
    AfterValidator(ensure_unique),
]
Minimum = Annotated[
    _Amount,
    Field(examples=[500], description="The minimum donation, in minor units, not below the currency's own minimum."),
]
Maximum = Annotated[_Amount, Field(examples=[100_000], description="The maximum donation, in minor units.")]
Frequencies = Annotated[
    list[DonationFrequency],
    Field(
        min_length=1,
        max_length=5,
        description="How often the donor can donate. If there are several, the donor chooses one on the page. The "
        "first is selected by default. All but `one_time` start a regular donation by card.",
        examples=[["one_time", "monthly"]],
    ),
    AfterValidator(ensure_unique),
]
OFFERS_DEDICATION: Final = (
    "Whether the donor can dedicate the donation to somebody, and have us email a person about it once it is paid."
)
Designations = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100), Typed]],
    Field(
        min_length=1,
        max_length=20,
        examples=[["Where it is needed most", "Roof"]],
        description="Purposes from which the donor chooses one. The nonprofit sees the choice. A single purpose "
        "applies without a choice.",
    ),
    AfterValidator(ensure_unique),
]
