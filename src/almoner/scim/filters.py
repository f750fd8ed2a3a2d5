"""Filters of RFC 7644 3.4.2.2 as SQL, with the meaning that ``ScimFilter.match`` gives them: pure.

A condition may be null where the filter is false; ``not`` takes null for false, so that this never shows.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from inspect import isclass
from typing import Any, Final

from scim2_models import BaseModel, InvalidFilterException, ScimFilter
from scim2_models.path import (
    AttributeBinding,
    AttrPath,
    CompareOperator,
    Comparison,
    FilterNode,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
    coerce_value,
)
from scim2_server.utils import parametrize

from almoner.kit import ids
from almoner.scim.attributes import AttributeMap, AttributeSql, ComplexAttributeSql, MultiValuedSql, ScalarSql
from almoner.scim.resources import is_storable_text

MOST_CONDITIONS: Final = 50
"""The maximum number of comparisons in one filter, because each may scan all members."""

_SIGNS: Final = {
    CompareOperator.eq: "=",
    CompareOperator.ne: "is distinct from",
    CompareOperator.gt: ">",
    CompareOperator.ge: ">=",
    CompareOperator.lt: "<",
    CompareOperator.le: "<=",
}
_LAST: Final = "chr(1114111)"
_FULL: Final = """'$.** ? ((@.type() == "string" && @ != "") || @.type() == "boolean" || @.type() == "number")'"""


class SqlParameters:
    """Values bound to one statement. ``conditions``: how many comparisons it makes."""

    def __init__(self, *values: object) -> None:
        self.values = list(values)
        self.conditions = 0

    def add(self, value: object, type_: str) -> str:
        """Bind a value; returns its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}::{type_}"

    def count_comparison_within_limit(self) -> None:
        """Count a comparison. Raises InvalidFilterException above the maximum."""
        self.conditions += 1
        if self.conditions > MOST_CONDITIONS:
            raise InvalidFilterException(detail=f"A filter may make at most {MOST_CONDITIONS} comparisons")


def filter_to_sql(scim_filter: ScimFilter[Any], attribute_map: AttributeMap, parameters: SqlParameters) -> str:
    """A condition on one row, for a filter that is bound to the model of ``attribute_map``.

    Raises InvalidFilterException.
    """
    return _ResourceVisitor(scim_filter, attribute_map.resolve, parameters).visit(scim_filter.ast)


class _LogicalVisitor(FilterVisitor[str]):
    """Combines conditions with and, or and not."""

    def visit_not(self, node: Not) -> str:
        return f"(({self.visit(node.expr)}) is not true)"

    def visit_logical_expr(self, node: LogicalExpr) -> str:
        sign = " and " if node.op == LogicalOperator.and_ else " or "
        return f"({sign.join(self.visit(term) for term in node.terms)})"


class _ResourceVisitor(_LogicalVisitor):
    """Conditions on a resource, or on one entry of a list: ``place`` maps its attributes."""

    def __init__(
        self, scim_filter: ScimFilter[Any], place: Callable[[AttributeBinding], AttributeSql], parameters: SqlParameters
    ) -> None:
        self._filter = scim_filter
        self._place = place
        self._parameters = parameters

    def visit_comparison(self, node: Comparison) -> str:
        self._parameters.count_comparison_within_limit()
        binding = self._filter.resolve_comparison(node.attr_path, strict=False)
        if binding is None:
            return "false"
        value = coerce_value(binding, node.value, node.op)
        place = self._place(binding)
        if not isinstance(place, MultiValuedSql):
            return comparison_sql(place, node.op, value, self._parameters)
        item = place.item_sql(binding if binding.sub_field_name else None)
        if value is None:
            return _missing_value_sql(place, item, node.op)
        if node.op == CompareOperator.ne:
            return f"not {_exists_sql(place, comparison_sql(item, CompareOperator.eq, value, self._parameters))}"
        return _exists_sql(place, comparison_sql(item, node.op, value, self._parameters))

    def visit_present(self, node: Present) -> str:
        self._parameters.count_comparison_within_limit()
        binding = self._filter.resolve(node.attr_path, strict=False)
        if binding is None:
            return "false"
        place = self._place(binding)
        if isinstance(place, MultiValuedSql):
            return _exists_sql(place, _presence_sql(place.item_sql(binding if binding.sub_field_name else None)))
        return _presence_sql(place)

    def visit_value_path(self, node: ValuePath) -> str:
        binding = self._filter.resolve(node.attr_path, strict=False)
        if binding is None:
            return "false"
        place = self._place(binding)
        if not isinstance(place, MultiValuedSql):
            raise InvalidFilterException(detail=f"'{node.attr_path}' has no values to choose from")
        return _exists_sql(place, self._of_item(binding, place, node.val_filter))

    def _of_item(self, binding: AttributeBinding, place: MultiValuedSql, node: FilterNode) -> str:
        model = binding.field_type
        if isclass(model) and issubclass(model, BaseModel):
            inner = parametrize(ScimFilter, model)(node)
            return _ResourceVisitor(inner, place.item_sql, self._parameters).visit(node)
        value = place.item_sql(None)
        assert isinstance(value, ScalarSql)
        return _ValueVisitor(value, self._parameters).visit(node)


class _ValueVisitor(_LogicalVisitor):
    """Conditions on one value of a list of simple values: ``value`` refers to the value itself."""

    def __init__(self, value: ScalarSql, parameters: SqlParameters) -> None:
        self._value = value
        self._parameters = parameters

    def visit_comparison(self, node: Comparison) -> str:
        self._parameters.count_comparison_within_limit()
        return (
            comparison_sql(self._value, node.op, node.value, self._parameters)
            if _is_value_path(node.attr_path)
            else "false"
        )

    def visit_present(self, node: Present) -> str:
        self._parameters.count_comparison_within_limit()
        return _presence_sql(self._value) if _is_value_path(node.attr_path) else "false"


def _is_value_path(path: AttrPath) -> bool:
    return path.attr.lower() == "value" and not path.sub_attr


def _exists_sql(place: MultiValuedSql, condition: str) -> str:
    return f"exists (select from {place.rows_sql} and {condition})"


def _missing_value_sql(place: MultiValuedSql, item: ScalarSql | ComplexAttributeSql, op: CompareOperator) -> str:
    """Compare a multi-valued attribute with null."""
    missing = f"(not exists (select from {place.rows_sql}) or {_exists_sql(place, f'{item.sql} is null')})"
    if op == CompareOperator.eq:
        return missing
    return f"not {missing}" if op == CompareOperator.ne else "false"


def _presence_sql(place: ScalarSql | ComplexAttributeSql) -> str:
    """``pr``: text that is not empty, any other value, or a part that is present."""
    if isinstance(place, ComplexAttributeSql):
        return f"jsonb_path_exists({place.sql}, {_FULL})"
    return f"{place.sql} <> ''" if place.type == "text" else f"{place.sql} is not null"


def comparison_sql(
    attribute_sql: ScalarSql | ComplexAttributeSql, op: CompareOperator, value: Any, parameters: SqlParameters
) -> str:
    """Compare an attribute with a value of its type, or None. Raises InvalidFilterException."""
    if value is None:
        return {"eq": f"{attribute_sql.sql} is null", "ne": f"{attribute_sql.sql} is not null"}.get(op.value, "false")
    if isinstance(attribute_sql, ComplexAttributeSql):
        return _type_mismatch_sql(op)
    match attribute_sql.type:
        case "uuid":
            return _id_comparison_sql(attribute_sql, op, value, parameters)
        case "text":
            return (
                _text_comparison_sql(attribute_sql, op, value, parameters)
                if isinstance(value, str)
                else _type_mismatch_sql(op)
            )
        case "timestamptz":
            return _time_comparison_sql(attribute_sql, op, value, parameters)
    if attribute_sql.is_false_sql and op == CompareOperator.eq and value is False:
        return attribute_sql.is_false_sql
    return (
        f"{attribute_sql.sql} {_SIGNS[op]} {parameters.add(value, attribute_sql.type)}"
        if op in _SIGNS
        else _type_mismatch_sql(op)
    )


def _type_mismatch_sql(op: CompareOperator) -> str:
    """Compare with a value of another type, which differs from every value."""
    return "true" if op == CompareOperator.ne else "false"


def _id_comparison_sql(place: ScalarSql, op: CompareOperator, value: Any, parameters: SqlParameters) -> str:
    if not isinstance(value, str):
        return _type_mismatch_sql(op)
    if op not in {CompareOperator.eq, CompareOperator.ne}:
        return _text_comparison_sql(ScalarSql(place.text_sql), op, value, parameters)
    known = ids.decode_uuid(value.removeprefix(place.id_prefix)) if value.startswith(place.id_prefix) else None
    return _type_mismatch_sql(op) if known is None else f"{place.sql} {_SIGNS[op]} {parameters.add(known, 'uuid')}"


def _text_comparison_sql(place: ScalarSql, op: CompareOperator, value: str, parameters: SqlParameters) -> str:
    """Compare texts by code points, whatever the database's collation."""
    if not is_storable_text(value):
        raise InvalidFilterException(detail="Text must not hold NUL characters or halves of surrogate pairs")
    given = parameters.add(value, "text")
    given = f"normalize({given})" if place.case_exact else f"folded({given})"
    match op:
        case CompareOperator.co:
            return f"strpos({place.sql}, {given}) > 0"
        case CompareOperator.ew:
            return f"right({place.sql}, length({given})) = {given}"
        case CompareOperator.sw:
            begins = f"starts_with({place.sql}, {given})"
            near = f"{place.sql} >= {given} and {place.sql} < {given} || {_LAST}"
            return f"({begins} and {near})" if place.is_indexed_column else begins
        case CompareOperator.eq | CompareOperator.ne:
            return f"{place.sql} {_SIGNS[op]} {given}"
    return f'{place.sql} collate "C" {_SIGNS[op]} {given}'


def _time_comparison_sql(place: ScalarSql, op: CompareOperator, value: Any, parameters: SqlParameters) -> str:
    """Compare times; one without a zone is invalid (RFC 7643 2.3.5) and equals none."""
    if not isinstance(value, datetime) or value.tzinfo is None or op not in _SIGNS:
        return _type_mismatch_sql(op)
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        raise InvalidFilterException(detail="This moment is out of range") from None
    return f"{place.sql} {_SIGNS[op]} {parameters.add(moment, 'timestamptz')}"
