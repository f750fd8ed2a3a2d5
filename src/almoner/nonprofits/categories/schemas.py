"""Categories on the wire (spec 2.9, 4.2; settled 4)."""

from typing import Annotated

from pydantic import Field

from almoner.kit.patch import UNSET
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.categories.domain import MAX_ATTRIBUTES, Attribute, Category
from almoner.platform.database.transactions import Tx
from almoner.platform.files import media
from almoner.platform.http.wire import (
    Maybe,
    PageQuery,
    PatchBody,
    RequestBody,
    ResponseRecord,
    Text255,
    ValueText,
)

_LARGEST = 2**53 - 1  # what every JSON reader keeps exactly
_Bounds = Field(ge=-_LARGEST, le=_LARGEST)
Value = Annotated[
    ValueText | bool | Annotated[int, _Bounds] | Annotated[float, _Bounds],
    Field(union_mode="left_to_right"),
]

Attributes = Annotated[
    dict[str, Value],
    Field(
        description="At most 20 keys of 1 to 40 characters. Values are strings of at most 250 characters, "
        "booleans or numbers.",
        examples=[{"colour": "green", "featured": True}],
        json_schema_extra={"maxProperties": MAX_ATTRIBUTES},
    ),
]


class CategoriesQuery(PageQuery):
    """Categories have no filters."""


class CategoryBody(RequestBody):
    """A new category."""

    name: Text255
    attributes: Attributes | None = None


class CategoryPatch(PatchBody):
    """Changes to a category; ``attributes`` replaces the whole object, null removes it."""

    name: Maybe[Text255] = UNSET
    attributes: Maybe[Attributes | None] = UNSET


class CategoryResponse(ResponseRecord, object_name="Category"):
    """A category as partners see it."""

    id: str
    name: str
    attributes: dict[str, Attribute] | None
    image_url: str | None
    created_at: str


def category_response(tx: Tx, category: Category) -> CategoryResponse:
    """The response for one category."""
    return CategoryResponse(
        id=tx.ids.encode("category", category.id),
        name=category.name,
        attributes=None if category.attributes is None else dict(category.attributes),
        image_url=media.media_url(tx.base_urls, category.image_key),
        created_at=iso_timestamp(category.created_at),
    )
