"""What several slices of the checkout take on the wire."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from almoner.giving.checkout.sessions.domain import DonationFrequency
from almoner.kit import money
from almoner.platform.http.texts import BrowserAddress
from almoner.platform.http.wire import CurrencyCode, Typed, ensure_unique
from almoner.platform.outbound import addresses


def _currency(text: str) -> str:
    if text not in money.EXPONENTS:
        raise ValueError("must be an active ISO 4217 currency such as GBP")
    return text


SuccessUrl = Annotated[
    BrowserAddress,
    Field(
        max_length=addresses.MAX_LENGTH,
        description="Where the donor is sent after giving; https. `{DONATION_SESSION_ID}` in it becomes the session's "
        "id. Without it a success screen is shown.",
        examples=["https://shop.example/thanks"],
    ),
]
Currency = Annotated[CurrencyCode, AfterValidator(_currency)]
_Amount = Annotated[int, Field(ge=1, le=money.MAX_MINOR)]
SuggestedAmounts = Annotated[
    list[_Amount],
    Field(
        min_length=1,
        max_length=6,
        examples=[[1000, 2500, 5000]],
        description="Amounts to choose from, in the minor unit of the currency; null: the currency's usual ones.",
    ),
    AfterValidator(ensure_unique),
]
Minimum = Annotated[
    _Amount, Field(examples=[500], description="The least donation, in the minor unit; never below the currency's own.")
]
Maximum = Annotated[_Amount, Field(examples=[100_000], description="The largest donation, in the minor unit.")]
Frequencies = Annotated[
    list[DonationFrequency],
    Field(
        min_length=1,
        max_length=5,
        description="How often the donor may give. With several, the donor chooses on the page, and the first one is "
        "chosen at first. Any other than `one_time` begins a regular donation by card.",
        examples=[["one_time", "monthly"]],
    ),
    AfterValidator(ensure_unique),
]
OFFERS_DEDICATION: Final = (
    "The donor may dedicate the donation to somebody, and have a person told of it by email once it is paid."
)
Designations = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100), Typed]],
    Field(
        min_length=1,
        max_length=20,
        examples=[["Where it is needed most", "Roof"]],
        description="Purposes of which the donor chooses one; the nonprofit is told. With a single one there is no "
        "choice.",
    ),
    AfterValidator(ensure_unique),
]
