"""What a field's name implies: its type, format and example, the same in the whole API (spec 2.1).

Records have plain strings; that ``createdAt`` is a timestamp and ``organisationId`` an identifier follows from the
name, so no schema can omit it. What a schema declares itself takes precedence.
"""

from typing import Any, Final

from almoner.kit.ids import TYPES

Schema = dict[str, Any]

MOMENT: Final = "2026-11-21T09:30:00.000Z"

RECORDS_OF_IDENTIFIERS: Final = {"hostedconfiguration": "ValidationSubmissionConfiguration"}
"""Record names that differ from the type of their IDs (settled 4)."""

_MOMENTS: Final = frozenset(
    {
        "timestamp",
        "now",
        "dataAsOf",
        "registrationDate",
        "at",
        "due",
        "since",
        "failingSince",
        "coversFrom",
        "coversTo",
        "pausedUntil",
    }
)
_NUMBERS_OF_REGISTERS: Final = frozenset({"registryId"})
"""Named like an ID, but the number in a register (spec 2.3)."""

_IDENTIFIERS: Final = {
    "branchOf": "organisation",
    "succeededBy": "organisation",
    "registry": "registry",
    "sessionId": "donationsession",
    "hostedConfigId": "hostedconfiguration",
    "tagId": "activitytag",
}
"""ID fields whose names do not end in their type."""

_LISTS: Final = {"allowedActivitySubTags": "activitysubtag"}
"""Lists of IDs whose names do not end in `Ids`."""

_NAMED_OTHERWISE: Final = {
    "agentrequest": "validationrequest",
    "dossierdocument": "validationrequestdocument",
    "eligibilityfinding": "activitysubtag",
    "eligibilitysubtag": "activitysubtag",
    "eligibilitydecidedsubtag": "activitysubtag",
    "subtag": "activitysubtag",
    "eligibilitytag": "activitytag",
    "tagname": "activitytag",
}
"""Records whose ID has another type than their name suggests."""

_TELLING: Final = frozenset({"hosted", "userId"})
"""Nullable members that examples show with a value."""

_TYPICAL: Final = ("hosted", "nonprofit", "RECEIVED_PAYMENT", "open", "active", "succeeded")
"""The enum values preferred in examples."""

_EXAMPLES: Final[dict[str, object]] = {
    "active": True,
    "addressLine1": "12 High Street",
    "address": "12 High Street, Casper, WY 82601",
    "amount": 2500,
    "attributes": {"colour": "green", "featured": True},
    "city": "Casper",
    "code": "USA",
    "countryCode": "USA",
    "currency": "USD",
    "currencyCode": "USD",
    "durationMs": 120,
    "description": "Meals for families in Natrona County.",
    "displayName": "Relief Fund",
    "email": "ada@example.org",
    "endonyms": {"en": "United States"},
    "englishName": "Internal Revenue Service",
    "eventType": "donation.created",
    "exhaustiveTotalResults": True,
    "similarResultsOnly": False,
    "leadingZerosAdded": False,
    "expiresAt": "2026-11-22T09:30:00.000Z",
    "firstName": "Ada",
    "from": "Giving <giving@example.org>",
    "html": "<p>Thank you for your gift.</p>",
    "images": [],
    "links": ["https://give.example.org/receipts/1"],
    "imageUrl": "https://api.example.org/media/3f9c2b7a",
    "initial": True,
    "language": "en",
    "lastName": "Example",
    "metadata": {"campaign": "winter"},
    "name": "Relief Fund",
    "number": 1,
    "postcode": "82601",
    "query": "relief fund",
    "registryId": "83-0123456",
    "registryName": "Internal Revenue Service",
    "reward": "A new kitchen",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "sequence": 1024,
    "state": "WY",
    "successUrl": "https://shop.example/thanks",
    "to": "ada@example.org",
    "text": "Thank you for your gift.",
    "statusCode": 200,
    "subject": "Your gift",
    "url": "https://hooks.example.com/almoner",
    "website": "https://example.org",
    "websites": ["https://example.org"],
}

_IN_PATHS: Final = {"registry": "IRS", "registryId": "53-0196605"}
"""An organisation in the sandbox's sample register."""


def id_type_of_field(field_name: str, owner_name: str) -> str | None:
    """The identifier type of a field with this name, if any.

    ``owner_name`` names what the field belongs to, by its ``object`` or its schema: ``id`` is its own identifier.
    """
    if field_name in _IDENTIFIERS:
        return _IDENTIFIERS[field_name]
    if field_name in _NUMBERS_OF_REGISTERS or not field_name.endswith(("Id", "id")):
        return None
    held = owner_name.replace("_", "") if field_name == "id" else field_name.removesuffix("Id")
    if field_name == "id" and held.lower() in _NAMED_OTHERWISE:
        return _NAMED_OTHERWISE[held.lower()]
    if held.lower().endswith("configuration"):
        return "hostedconfiguration"  # settled 4: the record's name differs from its ID type
    return max((type_ for type_ in TYPES if held.lower().endswith(type_)), key=len, default=None)


def id_type_of_list_items(field_name: str) -> str | None:
    """The identifier type of the texts in a list with this name, if any."""
    return _LISTS.get(field_name) or (
        id_type_of_field(field_name.removesuffix("s"), "") if field_name.endswith("Ids") else None
    )


def string_format_of_field(field_name: str) -> str | None:
    """The OpenAPI format of a string field with this name."""
    if field_name.endswith("At") or field_name in _MOMENTS:
        return "date-time"
    return "uri" if field_name == "url" or field_name.endswith("Url") else None


def field_example(field_name: str) -> object | None:
    """An example value for a field with this name; None if the name implies none."""
    return _EXAMPLES.get(field_name)


def example_for_path_parameter(parameter_name: str) -> object:
    """An example value for a path parameter that is not an identifier."""
    return _IN_PATHS.get(parameter_name) or field_example(parameter_name) or parameter_name


def has_non_null_example(field_name: str) -> bool:
    """Whether examples show a value for a nullable member of this name."""
    return field_name in _TELLING or field_example(field_name) is not None


def example_enum_value(values: list[Any]) -> Any:
    """The enum value that examples show."""
    return next((value for value in _TYPICAL if value in values), values[0])
