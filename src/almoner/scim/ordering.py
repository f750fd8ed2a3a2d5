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

from almoner.scim.attributes import Complex, Many, Places, Scalar
from almoner.scim.filters import Parameters


def value_of(places: Places, binding: AttributeBinding | None, *, among_others: bool) -> Scalar | None:
    """What a kind of resource is ordered by; None: nothing but its identifier.

    ``among_others``: other kinds are searched too, whose identifiers begin in another way.
    """
    if binding is None:
        return None
    place = places.of(binding)
    if isinstance(place, Many):
        item = place.item(binding if binding.sub_field_name else None)
        assert isinstance(item, Scalar)
        first = f"order by coalesce({place.primary}, false) desc, {place.order} limit 1"
        return Scalar(f"(select {item.text} from {place.rows} {first})", "text" if item.type == "uuid" else item.type)
    assert not isinstance(place, Complex)
    if place.type != "uuid":
        return place
    return Scalar(f"'{place.ids}'::text") if among_others else None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page starts, or ends. ``value``: None for resources without one."""

    direction: Literal["next", "previous"]
    value: Any
    id: UUID

    def written(self) -> dict[str, Any]:
        """As JSON can hold it."""
        value = {"at": self.value.isoformat()} if isinstance(self.value, datetime) else self.value
        return {"d": self.direction, "v": value, "i": self.id.hex}


def read(written: Any) -> Position:
    """A position that was written. Raises InvalidCursorException."""
    try:
        value, direction = written["v"], written["d"]
        value = datetime.fromisoformat(value["at"]) if isinstance(value, dict) else value
        id_ = UUID(hex=str(written["i"]))
    except (TypeError, KeyError, ValueError):
        raise InvalidCursorException from None
    if direction not in {"next", "previous"} or not isinstance(value, str | bool | datetime | None):
        raise InvalidCursorException
    return Position(direction, value, id_)


@dataclass(frozen=True, slots=True)
class Order:
    """``type``: of the value ``v``, None when there is only the identifier. ``required``: there is always a value."""

    type: str | None
    required: bool
    descending: bool

    def sql(self, *, backwards: bool = False) -> str:
        """What stands after ORDER BY."""
        way = "desc" if self.descending != backwards else "asc"
        if self.type is None:
            return f"id {way}"
        return f"{self._value} {way}, id {way}"

    @property
    def _value(self) -> str:
        return 'v collate "C"' if self.type == "text" else "v"

    def beyond(self, position: Position, parameters: Parameters) -> str:
        """The condition of what comes after a position, or before it. Raises InvalidCursorException."""
        up = self.descending == (position.direction == "previous")
        sign = ">" if up else "<"
        id_ = parameters.add(position.id, "uuid")
        if self.type is None:
            return f"id {sign} {id_}"
        if position.value is None:
            return f"(v is null and id {sign} {id_})" if up else f"((v is null and id {sign} {id_}) or v is not null)"
        value = parameters.add(_checked(position.value, self.type), self.type)
        pair = f"({self._value}, id) {sign} ({value}, {id_})"
        return pair if self.required or not up else f"({pair} or v is null)"


_TYPES: Final = {"text": str, "boolean": bool, "timestamptz": datetime}


def _checked(value: Any, type_: str) -> Any:
    if not isinstance(value, _TYPES[type_]):
        raise InvalidCursorException
    return value


def order_of(request: SearchRequest[Any], values: list[Scalar | None]) -> Order:
    """The order of a search, whose kinds have these values; the newest first unless the client says (settled 1.1).

    Whoever pages by index while others come sees somebody twice then, but misses nobody.
    """
    descending = request.sort_by is None or request.sort_order == SearchRequest.SortOrder.descending
    type_ = next((value.type for value in values if value is not None), None)
    required = all(value is not None and value.required for value in values)
    return Order(type_, required, descending)
