"""The order of a search and the places of its pages (RFC 7644 3.4.2.3, RFC 9865), as SQL: pure.

Resources without a value come last when ascending and first when descending; equal ones by their identifier. A
position is the value and the identifier of the resource at the end of a page.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from scim2_models import InvalidCursorException, SearchRequest
from scim2_models.path import AttributeBinding

from almoner.scim.attributes import AttributeMap, ComplexAttributeSql, MultiValuedSql, ScalarSql
from almoner.scim.filters import SqlParameters


def sort_value_sql(
    attribute_map: AttributeMap, binding: AttributeBinding | None, *, searches_several_kinds: bool
) -> ScalarSql | None:
    """The SQL by which a kind of resource is sorted; None: by its ID only.

    ``searches_several_kinds``: other kinds, whose IDs have other prefixes, are searched too.
    """
    if binding is None:
        return None
    place = attribute_map.resolve(binding)
    if isinstance(place, MultiValuedSql):
        item = place.item_sql(binding if binding.sub_field_name else None)
        assert isinstance(item, ScalarSql)
        first = f"order by coalesce({place.is_primary_sql}, false) desc, {place.order_sql} limit 1"
        return ScalarSql(
            f"(select {item.text_sql} from {place.rows_sql} {first})", "text" if item.type == "uuid" else item.type
        )
    assert not isinstance(place, ComplexAttributeSql)
    if place.type != "uuid":
        return place
    return ScalarSql(f"'{place.id_prefix}'::text") if searches_several_kinds else None


@dataclass(frozen=True, slots=True)
class PagePosition:
    """The position where a page starts or ends. ``value``: None for resources without one."""

    direction: Literal["next", "previous"]
    value: Any
    id: UUID

    def to_json(self) -> dict[str, Any]:
        """The position as a JSON value."""
        value = {"at": self.value.isoformat()} if isinstance(self.value, datetime) else self.value
        return {"d": self.direction, "v": value, "i": self.id.hex}


def parse_position(position_json: Any) -> PagePosition:
    """Parse a position. Raises InvalidCursorException."""
    try:
        value, direction = position_json["v"], position_json["d"]
        value = datetime.fromisoformat(value["at"]) if isinstance(value, dict) else value
        id_ = UUID(hex=str(position_json["i"]))
    except (TypeError, KeyError, ValueError):
        raise InvalidCursorException from None
    if direction not in {"next", "previous"} or not isinstance(value, str | bool | datetime | None):
        raise InvalidCursorException
    return PagePosition(direction, value, id_)


@dataclass(frozen=True, slots=True)
class SortOrder:
    """A sort order. ``type``: of the value ``v``, None for IDs only. ``required``: never null."""

    type: str | None
    required: bool
    descending: bool

    def order_by_sql(self, *, backwards: bool = False) -> str:
        """The ORDER BY expressions."""
        way = "desc" if self.descending != backwards else "asc"
        if self.type is None:
            return f"id {way}"
        return f"{self._value} {way}, id {way}"

    @property
    def _value(self) -> str:
        return 'v collate "C"' if self.type == "text" else "v"

    def beyond_position_sql(self, position: PagePosition, parameters: SqlParameters) -> str:
        """The SQL condition for rows after (or before) a position. Raises InvalidCursorException."""
        up = self.descending == (position.direction == "previous")
        sign = ">" if up else "<"
        id_ = parameters.add(position.id, "uuid")
        if self.type is None:
            return f"id {sign} {id_}"
        if position.value is None:
            return f"(v is null and id {sign} {id_})" if up else f"((v is null and id {sign} {id_}) or v is not null)"
        value = parameters.add(_check_type(position.value, self.type), self.type)
        pair = f"({self._value}, id) {sign} ({value}, {id_})"
        return pair if self.required or not up else f"({pair} or v is null)"


_TYPES: Final = {"text": str, "boolean": bool, "timestamptz": datetime}


def _check_type(value: Any, type_: str) -> Any:
    if not isinstance(value, _TYPES[type_]):
        raise InvalidCursorException
    return value


def build_sort_order(request: SearchRequest[Any], sort_expressions: list[ScalarSql | None]) -> SortOrder:
    """The sort order of a search over kinds with these values; newest first by default (settled 1.1).

    Paging by index while resources are added may show one twice, but skips none.
    """
    descending = request.sort_by is None or request.sort_order == SearchRequest.SortOrder.descending
    type_ = next((value.type for value in sort_expressions if value is not None), None)
    required = all(value is not None and value.required for value in sort_expressions)
    return SortOrder(type_, required, descending)
