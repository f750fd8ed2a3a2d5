"""Base classes of wire models: Pydantic for requests, msgspec for responses, camelCase on the wire."""

import re
from copy import copy
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, Union

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from almoner.kit import metadata as metadata_rules
from almoner.kit import money
from almoner.kit.patch import UnsetType
from almoner.kit.text import clean_text, clean_text_keeping_hidden_characters
from almoner.kit.time import parse_day_or_timestamp, parse_timestamp

T = TypeVar("T")


_RECORDS: dict[str, Any] = {}
"""Declared records by ``object``."""


class _Named(msgspec.StructMeta):
    """Accepts ``object_name`` as a class keyword."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, object_name: str = "", **options: Any
    ) -> Any:
        if object_name:
            namespace["object_name"] = object_name
        result = super().__new__(mcls, name, bases, namespace, **options)
        if object_name:
            _RECORDS.setdefault(object_name, result)
        return result


class ResponseRecord(msgspec.Struct, metaclass=_Named, rename="camel"):
    """Base of records in responses; ``object_name`` is the record's ``object``.

    ``personal``: its members that identify a donor.
    """

    object_name: ClassVar[str] = ""
    personal: ClassVar[tuple[str, ...]] = ()


R = TypeVar("R", bound=ResponseRecord)


def find_record_type(object_name: str) -> type[ResponseRecord] | None:
    """The record of this ``object``."""
    return _RECORDS.get(object_name)


def personal_fields(object_name: str) -> list[str]:
    """The record's members (wire names) that hold donors' personal data."""
    record: type[ResponseRecord] = _RECORDS.get(object_name, ResponseRecord)
    return [field.encode_name for field in msgspec.structs.fields(record) if field.name in record.personal]


def redact_personal_fields(record: R) -> R:
    """The record with personal members set to null, for keys without the scope."""
    if not record.personal:
        return record
    hidden = copy(record)  # `msgspec.structs.replace` takes twice as long: it compares each name with every member's
    for name in record.personal:
        if getattr(record, name) is not msgspec.UNSET:
            msgspec.structs.force_setattr(hidden, name, None)
    return hidden


def encode_envelope(record: ResponseRecord) -> bytes:
    """``{"data": record, "object": name}`` (spec 2.1)."""
    return b'{"data":' + msgspec.json.encode(record) + b',"object":' + msgspec.json.encode(record.object_name) + b"}"


class RequestBody(BaseModel):
    """Base of request bodies: strict types, trimmed strings, no unknown fields."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        extra="forbid",
        str_strip_whitespace=True,
        strict=True,
        frozen=True,
        allow_inf_nan=False,
    )

    raw_texts: ClassVar[tuple[str, ...]] = ()
    """Wire names of texts whose invisible characters are kept, because they are evidence; see ``RawText``."""


class PatchBody(RequestBody):
    """Base of PATCH bodies: absent fields are ``UNSET``."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        result = handler(schema)
        for field in handler.resolve_ref_schema(result).get("properties", {}).values():
            field.pop("default", None)
        return result


ACROSS = "across"
"""Error type of a field about its whole object.

Reported with all other errors; a model validator would only run once every field is valid.
"""


def exactly_one_of(other_field: str) -> AfterValidator:
    """A validator: exactly one of this field and ``other_field`` must be given.

    The field needs ``validate_default``.
    """

    def check(value: T, info: ValidationInfo) -> T:
        if other_field in info.data and (info.data[other_field] is None) == (value is None):
            names = {"one": to_camel(other_field), "other": to_camel(info.field_name or "")}
            raise PydanticCustomError(ACROSS, "must have either {one} or {other}", names)
        return value

    return AfterValidator(check)


if TYPE_CHECKING:
    Maybe = Union[T, UnsetType]  # noqa: UP007 (a generic alias cannot be written with a bar)
else:

    class Maybe:
        """``Maybe[X]`` is X if given; the default UNSET is never validated, so no JSON value can equal it."""

        def __class_getitem__(cls, item: object) -> object:
            return item


class Query(BaseModel):
    """Base of query strings."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="ignore",
        str_strip_whitespace=True,
        frozen=True,
    )

    @field_validator("*")
    @classmethod
    def _given(cls, value: T, info: ValidationInfo) -> T:
        """Refuse a parameter without a value: as a filter it would let everything through."""
        if value in ("", [], [[]]) and info.field_name != "cursor":
            raise ValueError("must not be empty; leave it out to get everything")
        return value


def _positive_integer(value: object) -> object:
    if isinstance(value, str):
        if not re.fullmatch(r"0*[1-9]\d{0,8}", value, re.ASCII):
            raise ValueError("must be a positive integer")
        return min(int(value), MAX_PAGE_SIZE)  # above the maximum it is capped (settled 1.1)
    return value


DEFAULT_PAGE_SIZE = 25
MAX_PAGE_SIZE = 100

PageSize = Annotated[
    int,
    Field(ge=1, description="Records per page, at most 100. Higher values count as 100."),
    BeforeValidator(_positive_integer),
]


Direction = Annotated[Literal["ASC", "DESC"], Field(description="Sort direction.")]


class PageQuery(Query):
    """The query parameters of every paged list (settled 1.1)."""

    cursor: str | None = Field(None, max_length=512, description="The cursor from `_links` of an earlier response.")
    direction: Direction = "DESC"
    page_size: PageSize = DEFAULT_PAGE_SIZE


class UnpagedQuery(Query):
    """The query parameters of a list that is returned whole (settled 1.1)."""

    direction: Direction = "DESC"


def _moment(value: object) -> object:
    return parse_timestamp(value) if isinstance(value, str) else value


def _day_or_moment(value: object) -> object:
    return parse_day_or_timestamp(value) if isinstance(value, str) else value


def _cleaned(value: object) -> object:
    return clean_text(value) if isinstance(value, str) and len(value) <= MAX_TYPED else value


def _cleaned_lines(value: object) -> object:
    return clean_text(value, keep_line_breaks=True) if isinstance(value, str) and len(value) <= MAX_TYPED else value


def _kept(value: object) -> object:
    return clean_text_keeping_hidden_characters(value) if isinstance(value, str) and len(value) <= MAX_TYPED else value


MAX_TYPED = 4096
Typed = BeforeValidator(_cleaned)
"""Cleans typed text before its length is checked; text that is far too long is rejected uncleaned."""
Text255 = Annotated[str, Field(min_length=1, max_length=255), Typed]
"""A name or another text on one line."""
TypedLines = BeforeValidator(_cleaned_lines)
"""Like ``Typed``, with line breaks."""
RawText = BeforeValidator(_kept)
"""For a ``raw_texts`` text: on one line, without control characters."""
Moment = Annotated[datetime, BeforeValidator(_moment)]
DayOrMoment = Annotated[
    datetime,
    BeforeValidator(_day_or_moment),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}),
]


def ensure_unique(values: list[T]) -> list[T]:
    """Refuse a list with duplicates."""
    if len(set(values)) < len(values):
        raise ValueError("must name each value once")
    return values


def _no_earlier(value: datetime, info: ValidationInfo) -> datetime:
    starts = info.data.get("start_date")
    if starts is not None and value < starts:
        raise ValueError("must not be before startDate")
    return value


WindowEnd = Annotated[DayOrMoment, AfterValidator(_no_earlier)]
"""The ``end_date`` of a window, in a model that declares ``start_date`` before it."""
YesNo = Literal["yes", "no"]


def _active_currency(code: str) -> str:
    if code not in money.EXPONENTS:
        raise ValueError("must be an active ISO 4217 currency such as GBP")
    return code


CurrencyCode = Annotated[
    str,
    Field(pattern=r"^[A-Z]{3}$", examples=["USD"], description="ISO 4217 code."),
    AfterValidator(_active_currency),
]
CountryCode = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["USA"], description="Three-letter country code.")]

METADATA = "metadata"
"""Error type of non-string metadata values; ``problems`` in its context lists all problems."""


def _metadata(value: object, *, merged: bool) -> object:
    if not isinstance(value, dict):
        return value
    read = {clean_text(key): item.strip() if isinstance(item, str) else item for key, item in value.items()}
    if all(isinstance(item, str) or (merged and item is None) for item in read.values()):
        return read
    raise PydanticCustomError(
        METADATA, "metadata", {"problems": metadata_rules.find_metadata_problems(read, is_patch=merged)}
    )


ValueText = Annotated[str, Field(json_schema_extra={"maxLength": metadata_rules.MAX_VALUE_LENGTH})]
"""A metadata or attribute value; the service also checks its length."""
Metadata = Annotated[
    dict[str, ValueText],
    BeforeValidator(partial(_metadata, merged=False)),
    Field(
        description="Your own data: at most 20 keys of up to 40 characters, values of up to 250.",
        examples=[{"campaign": "winter"}],
        json_schema_extra={"maxProperties": metadata_rules.MAX_KEYS},
    ),
]
"""Checks only the types; the service checks sizes, with the area's ``invalid_metadata``.

Wrong types give that error too if the rest of the body is valid; all reasons are reported together.
"""

MetadataPatch = Annotated[
    dict[str, ValueText | None],
    BeforeValidator(partial(_metadata, merged=True)),
    Field(
        description="Merged key by key into the current metadata; a key set to null is removed.",
        examples=[{"campaign": "spring"}],
        json_schema_extra={"maxProperties": metadata_rules.MAX_KEYS},
    ),
]
