"""Filters become SQL without a word of the client in it, and what cannot be asked is refused, never a failure."""

from typing import Any
from uuid import UUID

import pytest
from scim2_models import (
    InvalidCursorException,
    InvalidFilterException,
    InvalidValueException,
    SCIMException,
    ScimFilter,
)
from scim2_server.utils import load_default_provider, parametrize

from almoner.kit.ids import RecordIdCodec
from almoner.scim import filters, ordering, resources
from almoner.scim.attributes import AttributeMap
from almoner.scim.filters import MOST_CONDITIONS, SqlParameters
from almoner.scim.ordering import PagePosition, SortOrder

IDS = RecordIdCodec(sandbox=False)
PROVIDER = load_default_provider()
USER: Any = PROVIDER.model_for("User")
GROUP: Any = PROVIDER.model_for("Group")
EMAILS = "jsonb_array_elements(p.profile -> 'emails') with ordinality e (v, n) where true"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"


def translated(text: str, kind: resources.Kind = "User") -> tuple[str, list[object]]:
    """The SQL of a filter and what is bound to it."""
    model = USER if kind == "User" else GROUP
    parameters = SqlParameters()
    sql = filters.filter_to_sql(parametrize(ScimFilter, model)(text), AttributeMap(IDS, kind, model), parameters)
    return sql, parameters.values


@pytest.mark.parametrize(
    ("text", "sql", "values"),
    [
        ('userName eq "Ada"', "p.user_name = folded($1::text)", ["Ada"]),
        ('externalId eq "X"', "p.external_id = normalize($1::text)", ["X"]),
        ('id eq "nobody"', "false", []),
        ('id ne "nobody"', "true", []),
        ("title eq null", "folded((p.profile ->> 'title')) is null", []),
        ("title gt null", "false", []),
        ("active eq false", "not p.active", []),
        ('nothing eq "x"', "false", []),
        ('name eq "x"', "false", []),
        ('meta.created gt "2026-03-02T09:30:00"', "false", []),
        ('meta.created co "20"', "false", []),
        ("userName co 5", "false", []),
        (
            "not (title pr)",
            "((folded((p.profile ->> 'title')) <> '') is not true)",
            [],
        ),
        (
            'emails[type eq "work"]',
            f"exists (select from {EMAILS} and folded((e.v ->> 'type')) = folded($1::text))",
            ["work"],
        ),
    ],
)
def test_a_filter_is_sql_with_bound_values(text: str, sql: str, values: list[object]) -> None:
    assert translated(text) == (sql, values)


def test_a_member_is_looked_up_by_its_uuid() -> None:
    text = IDS.example_id("member")
    sql, values = translated(f'members.value eq "{text}"', "Group")
    assert "m.person_id = $1::uuid" in sql
    assert values == [IDS.decode("member", text)]


HOSTILE = [
    "'; drop table person; --",
    "x' or '1'='1",
    "%",
    "_",
    "\\",
    "$1",
    "$$",
    "{}",
    "{0}",
    "%s",
    "/* */",
    "x' || pg_sleep(10) || '",
    "\u202e",
    "\U0001f600",
    "a" * 3_000,
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("op", ["eq", "ne", "co", "sw", "ew", "gt"])
@pytest.mark.parametrize("path", ["userName", "title", "emails.value", f"{ENTERPRISE}:department", "id"])
def test_no_word_of_the_client_is_in_the_sql(path: str, op: str, value: str) -> None:
    sql, values = translated(f"{path} {op} {ScimFilter.quote(value)}")
    harmless, _ = translated(f'{path} {op} "harmless"')
    assert sql == harmless
    assert values in ([], [value])


@pytest.mark.parametrize("value", ["\\u0000", "a\\u0000b", "\\ud800", "\\udfff"])
@pytest.mark.parametrize("path", ["userName", "emails", "groups.display", "schemas", "meta.version"])
def test_text_that_postgresql_cannot_hold_is_refused(path: str, value: str) -> None:
    for text in (f'{path} eq "{value}"', f'not ({path} co "{value}")', f'emails[value sw "{value}"]'):
        with pytest.raises(InvalidFilterException):
            translated(text)


@pytest.mark.parametrize(
    "text",
    [
        " or ".join(['title eq "x"'] * (MOST_CONDITIONS + 1)),
        "emails[" + " or ".join(['type eq "x"'] * (MOST_CONDITIONS + 1)) + "]",
        "not (" * 40 + "title pr" + ")" * 40,
        'meta.created gt "0001-01-01T00:00:00+14:00"',
        'meta.created lt "9999-12-31T23:59:59-14:00"',
        'meta.created gt "yesterday"',
        "active gt true",
        'active co "t"',
        'userName eq "x" or',
        "userName eq x",
        'emails[type eq "x"',
        'name[familyName eq "x"]',
        'title; drop table person eq "x"',
        "userName'--",
        "",
    ],
)
def test_what_cannot_be_asked_is_refused(text: str) -> None:
    with pytest.raises(SCIMException) as refused:
        translated(text)
    assert refused.value.scim_type == "invalidFilter"


def test_as_many_comparisons_as_allowed() -> None:
    _, values = translated(" or ".join(['title eq "x"'] * MOST_CONDITIONS))
    assert len(values) == MOST_CONDITIONS


@pytest.mark.parametrize(
    "written",
    [
        None,
        "x",
        5,
        [],
        {},
        {"d": "next", "v": None},
        {"d": "up", "v": None, "i": "0" * 32},
        {"d": "next", "v": [], "i": "0" * 32},
        {"d": "next", "v": {"at": "never"}, "i": "0" * 32},
        {"d": "next", "v": None, "i": "x"},
        {"d": "next", "v": None, "i": 5},
    ],
)
def test_a_position_that_was_never_given_is_refused(written: Any) -> None:
    with pytest.raises(InvalidCursorException):
        ordering.parse_position(written)


def test_a_position_of_another_order_is_refused() -> None:
    position = ordering.parse_position({"d": "next", "v": "text", "i": "0" * 32})
    with pytest.raises(InvalidCursorException):
        SortOrder("timestamptz", required=True, descending=False).beyond_position_sql(position, SqlParameters())


def test_a_position_comes_back_as_it_was_written() -> None:
    position = PagePosition("previous", "é", UUID(int=7))
    assert ordering.parse_position(position.to_json()) == position


@pytest.mark.parametrize(
    "given",
    [
        {"userName": "a\x00b"},
        {"userName": "a", "title": "\x00"},
        {"userName": "a", "emails": [{"value": "\x00"}]},
        {"userName": "a", "externalId": "x" * 513},
        {"userName": "a", "name": {"familyName": "x" * 513}},
        {"userName": "a", "emails": [{"value": "x" * 513}]},
    ],
)
def test_what_a_profile_cannot_hold_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueException):
        resources.profile_from_resource(USER.model_validate(given))


def test_a_profile_holds_nothing_empty_and_nothing_of_ours() -> None:
    given = {
        "id": "x",
        "userName": "Ada",
        "title": "",
        "name": {"formatted": None},
        "emails": [],
        "groups": [{"value": "g"}],
        "meta": {"version": "1"},
        ENTERPRISE: {"department": "d"},
    }
    assert resources.profile_from_resource(USER.model_validate(given)) == {
        "userName": "Ada",
        "title": "",
        ENTERPRISE: {"department": "d"},
    }


@pytest.mark.parametrize("member", [{"value": IDS.example_id("group")}, {"value": "x", "type": "Group"}])
def test_a_group_is_no_member_of_a_group(member: dict[str, str]) -> None:
    with pytest.raises(InvalidValueException):
        resources.member_ids_of_group(IDS, GROUP.model_validate({"displayName": "g", "members": [member]}))


def test_a_member_who_is_named_twice_is_in_a_group_once() -> None:
    text = IDS.example_id("member")
    twice = [{"value": text}, {"value": "nobody"}, {"value": text, "display": "Ada", "type": "user"}]
    assert resources.member_ids_of_group(IDS, GROUP.model_validate({"displayName": "g", "members": twice})) == [
        IDS.decode("member", text)
    ]
