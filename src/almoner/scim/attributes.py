"""Maps SCIM attributes to SQL expressions over our rows: pure.

No client input gets into the SQL: names come from the schemas that we serve, values are bound as parameters. Strings
are in the form in which they are compared (RFC 7643 2.2): case-insensitive unless the schema has ``caseExact``, and
composed (NFC).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from inspect import isclass
from typing import Any, Final, Literal
from uuid import UUID

from scim2_models import BaseModel, Extension, InvalidFilterException, Resource
from scim2_models.path import AttributeBinding

from almoner.kit.ids import RecordIdCodec
from almoner.scim.resources import Kind, id_type_of_resource

Type = Literal["text", "boolean", "timestamptz", "bytea", "uuid"]

_NAME: Final = re.compile(r"[A-Za-z0-9$:._-]+")
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ALIAS: Final = {"User": "p", "Group": "g"}


@dataclass(frozen=True, slots=True)
class ScalarSql:
    """SQL of a single value. ``sql``: comparable, null if missing; ``case_exact``: case-sensitive.

    ``is_indexed_column``: it stands in a column with an index in this form. ``required``: it is never null.
    ``id_prefix``: of a uuid, the beginning of its text. ``is_false_sql``: the condition that it is false, as an index
    has it.
    """

    sql: str
    type: Type = "text"
    case_exact: bool = True
    is_indexed_column: bool = False
    required: bool = False
    id_prefix: str = ""
    is_false_sql: str = ""

    @property
    def text_sql(self) -> str:
        """The value of an identifier as text: Crockford's base32 of 130 bits, as ``kit.ids`` writes it."""
        if self.type != "uuid":
            return self.sql
        bits = f"(B'00' || ('x' || replace({self.sql}::text, '-', ''))::bit(128))"
        letter = f"substr('{_ALPHABET}', substring({bits} from five * 5 + 1 for 5)::int + 1, 1)"
        return (
            f"('{self.id_prefix}' || (select string_agg({letter}, '' order by five) from generate_series(0, 25) five))"
        )


@dataclass(frozen=True, slots=True)
class ComplexAttributeSql:
    """SQL of a value with named parts. ``sql``: its JSON, null if missing."""

    sql: str


@dataclass(frozen=True, slots=True)
class MultiValuedSql:
    """SQL of a list of values. ``rows_sql``: the FROM clause; ``item_sql``: a part of one row by name, or the value.

    ``order_sql``: the place of a row. ``is_primary_sql``: whether a row is the primary one, null when it does not say.
    """

    rows_sql: str
    item_sql: Callable[[AttributeBinding | None], "ScalarSql | ComplexAttributeSql"]
    order_sql: str
    is_primary_sql: str = "null::boolean"


AttributeSql = ScalarSql | ComplexAttributeSql | MultiValuedSql
_NULL_SCALAR: Final = ScalarSql("null::text")
"""Attributes that are not stored with a resource: its location, a password."""
_SOME: Final = UUID(int=0)


def _quoted(text: str) -> str:
    assert _NAME.fullmatch(text), text
    return text


def _model_of(binding: AttributeBinding) -> type[BaseModel]:
    """The model of the attribute itself."""
    model = binding.target_model
    assert model is not None
    return model


def json_name(model: type[BaseModel], field: str) -> str:
    """The name of a field in JSON, fit for an SQL literal."""
    return _quoted(str(model.model_fields[field].serialization_alias or field))


def _sql_type(of: type | None) -> Type:
    """The type of a value in SQL. Raises InvalidFilterException for one that nothing here compares."""
    if isclass(of):
        for known, type_ in ((bool, "boolean"), (str, "text"), (datetime, "timestamptz"), (bytes, "bytea")):
            if issubclass(of, known):
                return type_  # type: ignore[return-value]  # of the four above
    raise InvalidFilterException(detail="This attribute cannot be compared")


def _is_complex(of: type | None) -> bool:
    return isclass(of) and issubclass(of, BaseModel)


def _json_value_sql(text: str, binding: AttributeBinding) -> ScalarSql:
    """A value of JSON, given as text."""
    match type_ := _sql_type(binding.target_type):
        case "text":
            sql = f"normalize({text})" if binding.case_exact else f"folded({text})"
            return ScalarSql(sql, "text", binding.case_exact)
        case "bytea":
            return ScalarSql(f"decode({text}, 'base64')", type_)
    return ScalarSql(f"({text})::{type_}", type_)


class AttributeMap:
    """The SQL of the attributes of one resource type."""

    def __init__(self, ids: RecordIdCodec, kind: Kind, model: type[Resource[Any]]) -> None:
        self.kind = kind
        self.alias = _ALIAS[kind]
        self._prefixes = {type_: ids.encode(type_, _SOME)[:-26] for type_ in ("member", "group")}
        self._model = model

    @property
    def id_sql(self) -> ScalarSql:
        """The SQL of the resource's ID."""
        return ScalarSql(
            f"{self.alias}.id",
            "uuid",
            is_indexed_column=True,
            required=True,
            id_prefix=self._prefixes[id_type_of_resource(self.kind)],
        )

    def resolve(self, binding: AttributeBinding) -> AttributeSql:
        """The SQL of the attribute at a path."""
        field, part = binding.field_name, binding.sub_field_name
        if issubclass(binding.model, Extension):
            return self._stored(f"{self.alias}.profile -> '{_quoted(str(binding.model.__schema__))}'", binding)
        own = self._columns().get(f"{field}.{part}" if part else field)
        if own is not None:
            return own
        if field == "meta":
            return ComplexAttributeSql(f"{self.alias}.profile") if part is None else _NULL_SCALAR
        if field == "schemas":
            return self._schemas()
        if field in {"groups", "members"}:
            return self._links()
        return self._stored(f"{self.alias}.profile", binding)

    def _columns(self) -> dict[str, ScalarSql]:
        row = self.alias
        found = {
            "id": self.id_sql,
            "external_id": ScalarSql(f"{row}.external_id", is_indexed_column=True),
            "meta.resource_type": ScalarSql(f"'{self.kind}'::text"),
            "meta.created": ScalarSql(f"{row}.created_at", "timestamptz", is_indexed_column=True, required=True),
            "meta.last_modified": ScalarSql(f"{row}.updated_at", "timestamptz", is_indexed_column=True, required=True),
            "meta.version": ScalarSql(f"('W/\"' || {row}.version || '\"')"),
        }
        if self.kind == "Group":
            return found | {
                "display_name": ScalarSql("g.display_name", case_exact=False, is_indexed_column=True, required=True)
            }
        return found | {
            "user_name": ScalarSql("p.user_name", case_exact=False, is_indexed_column=True, required=True),
            "active": ScalarSql("(p.profile ->> 'active')::boolean", "boolean", is_false_sql="not p.active"),
        }

    def _stored(self, holder: str, binding: AttributeBinding) -> AttributeSql:
        """The SQL of an attribute stored in the profile."""
        name = json_name(binding.model, binding.field_name)
        if binding.is_multivalued:
            return self._values(f"{holder} -> '{name}'", binding)
        if binding.sub_field_name is not None:
            part = json_name(_model_of(binding), binding.sub_field_name)
            return _json_value_sql(f"({holder} -> '{name}' ->> '{part}')", binding)
        if _is_complex(binding.field_type):
            return ComplexAttributeSql(f"({holder} -> '{name}')")
        return _json_value_sql(f"({holder} ->> '{name}')", binding)

    @staticmethod
    def _values(values: str, many: AttributeBinding) -> MultiValuedSql:
        """The entries of a list in JSON."""

        def item(binding: AttributeBinding | None) -> ScalarSql | ComplexAttributeSql:
            if binding is not None:
                field = binding.sub_field_name or binding.field_name
                return _json_value_sql(f"(e.v ->> '{json_name(_model_of(binding), field)}')", binding)
            return (
                ComplexAttributeSql("e.v") if _is_complex(many.field_type) else _json_value_sql("(e.v #>> '{}')", many)
            )

        primary = "(e.v ->> 'primary')::boolean" if _is_complex(many.field_type) else "null::boolean"
        return MultiValuedSql(
            f"jsonb_array_elements({values}) with ordinality e (v, n) where true", item, "e.n", primary
        )

    def _schemas(self) -> MultiValuedSql:
        """The schema of the resource and those of its extensions."""
        own = _quoted(str(self._model.__schema__))
        rows = f"""(
            select '{own}' as v, 0 as n
            union all select k, 1 from jsonb_object_keys({self.alias}.profile) k where k like 'urn:%'
        ) e where true"""
        return MultiValuedSql(rows, lambda _: ScalarSql("folded(e.v)", case_exact=False), "e.n, e.v")

    def _links(self) -> MultiValuedSql:
        """The groups of a user, or the members of a group."""
        if self.kind == "User":
            rows = "member_group_member m left join member_group l on l.id = m.group_id where m.person_id = p.id"
            linked, type_, path, of, name = "m.group_id", "group", "Groups", "direct", "l.profile ->> 'displayName'"
        else:
            rows = "member_group_member m where m.group_id = g.id"
            linked, type_, path, of, name = "m.person_id", "member", "Users", "User", "null::text"
        link = ScalarSql(linked, "uuid", id_prefix=self._prefixes[type_])
        parts = {
            "value": link,
            "ref": ScalarSql(f"('{path}/' || {link.text_sql})"),
            "display": ScalarSql(f"folded({name})", case_exact=False),
            "type": ScalarSql(f"folded('{of}')", case_exact=False),
        }

        def item(binding: AttributeBinding | None) -> ScalarSql | ComplexAttributeSql:
            if binding is None:
                return ComplexAttributeSql("'[true]'::jsonb")
            return parts[binding.sub_field_name or binding.field_name]

        return MultiValuedSql(rows, item, linked)
