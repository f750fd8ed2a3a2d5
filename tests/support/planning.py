"""A database whose tables seem to have a million rows each: PostgreSQL plans by statistics, and none is filled.

The planner multiplies the rows per known page by a file's actual pages, so the files of tables are extended with
nothing in them.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import asyncpg

from tests.support.statements import SMALL, Shape

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

ROWS: Final = 1_000_000
ROWS_OF_PAGE: Final = 40
FEW_ROWS: Final = 100
DAILY_ROWS: Final = 10_000
"""Three a day for nine years."""
PAGE_BYTES: Final = 8192
PARTNERS: Final = 100
CODES: Final = 20
"""The number of currencies, countries, languages."""
RARE: Final = 0.0005
"""The share of rows in a state that a partial index covers: what waits for somebody."""
BACKLOG: Final = 0.1
"""The same share of a queue that people have not kept up with."""
MOST_ITEMS: Final = 25
MOST_SHAPES: Final = 4
"""The most parameter shapes of one statement that are planned separately."""

_TABLES: Final = """
select c.oid, n.nspname as schema, c.relname as name, pg_relation_filepath(c.oid) as file
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
"""
_INDEXES: Final = """
select c.oid, i.indrelid as table, n.nspname as schema, c.relname as name, pg_get_expr(indpred, indrelid) as partial,
       i.indisunique as single, i.indnkeyatts as keys,
       (select attname from pg_attribute where attrelid = i.indrelid and attnum = i.indkey[0]) as first
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
where i.indrelid = any($1)
"""
_COLUMNS: Final = """
select a.attrelid as table, a.attname as name, a.attnotnull as filled, t.typname as type,
       (select (regexp_matches(pg_get_constraintdef(k.oid), 'ARRAY\\[(.*?)\\]'))[1]
        from pg_constraint k
        where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]
          and pg_get_constraintdef(k.oid) ~ 'ANY \\(\\(?ARRAY\\[' limit 1) as listed
from pg_attribute a join pg_type t on t.oid = a.atttypid
where a.attrelid = any($1) and a.attnum > 0 and not a.attisdropped
"""
_EXPRESSIONS: Final = """
select n.nspname, c.relname, a.attname from pg_index i join pg_class c on c.oid = i.indexrelid
join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
where i.indrelid = any($1) and a.attnum <= i.indnkeyatts and i.indkey[a.attnum - 1] = 0 and c.relam = 403
"""
_EXPRESSION: Final = """
select pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', $3::text,
    'inherited', false, 'null_frac', 0::real, 'avg_width', 16, 'n_distinct', (-0.2)::real)
"""
_RELATION: Final = """
select pg_restore_relation_stats('schemaname', $1::text, 'relname', $2::text, 'relpages', $3::int,
                                 'reltuples', $4::real, 'relallvisible', $3::int)
"""
_LITERAL: Final = re.compile(r"'((?:[^']|'')*)'::")


@dataclass(frozen=True, slots=True)
class Plan:
    """PostgreSQL's plan for one statement."""

    cost: float
    nodes: Sequence[dict[str, Any]]


async def seem_large(
    admin: Connection, data: Path, fewer: Mapping[str, int], queues: Collection[str]
) -> dict[str, float]:
    """Give ``admin``'s tables a million rows each, except those in ``fewer``; returns the rows by table and index.

    ``queues``: the tables with a backlog of what waits.
    """
    await admin.execute("checkpoint")
    tables = {row["oid"]: row for row in await admin.fetch(_TABLES)}
    indexes = await admin.fetch(_INDEXES, list(tables))
    rows_of: dict[str, float] = {}
    for table in tables.values():
        rows = fewer.get(table["name"], ROWS)
        pages = max(2, rows // ROWS_OF_PAGE)
        os.truncate(data / table["file"], pages * PAGE_BYTES)
        await admin.fetchval(_RELATION, table["schema"], table["name"], pages, float(rows))
        rows_of[table["name"]] = rows
    rare_of = {table["name"]: BACKLOG if table["name"] in queues else RARE for table in tables.values()}
    for index in indexes:
        name = tables[index["table"]]["name"]
        held = rows_of[name] * (rare_of[name] if _is_for_few(index["partial"]) else 1)
        await admin.fetchval(_RELATION, index["schema"], index["name"], 1 + int(held / 200), float(held))
        rows_of[index["name"]] = held
    await _describe_columns(admin, tables, indexes, rare_of)
    for key in await admin.fetch(_EXPRESSIONS, list(tables)):
        await admin.fetchval(_EXPRESSION, *key)
    return rows_of


def _is_for_few(predicate: str | None) -> bool:
    return predicate is not None and not re.fullmatch(r"\((\w+ IS NOT NULL)\)", predicate)


async def _describe_columns(
    admin: Connection, tables: Any, indexes: Sequence[asyncpg.Record], rare_of: Mapping[str, float]
) -> None:
    predicates: defaultdict[int, list[str]] = defaultdict(list)
    singles = set()
    for index in indexes:
        if index["partial"]:
            predicates[index["table"]].append(index["partial"])
        elif index["single"] and index["keys"] == 1:
            singles.add((index["table"], index["first"]))
    for column in await admin.fetch(_COLUMNS, list(tables)):
        table, name = tables[column["table"]], column["name"]
        about = [p for p in predicates[column["table"]] if re.search(rf"\b{name}\b", p)]
        facts: dict[str, tuple[str, object]] = {"avg_width": ("int", 16)}
        facts["null_frac"] = ("real", _nulls(column, about, rare_of[table["name"]]))
        facts["n_distinct"] = ("real", -1.0 if (column["table"], name) in singles else _distinct(column))
        values = _values(column)
        if values:
            shares = _shares(values, about, name, 1.0 - float(str(facts["null_frac"][1])), rare_of[table["name"]])
            facts["n_distinct"] = ("real", float(len(values)))
            facts["most_common_vals"] = ("text", "{" + ",".join(json.dumps(v) for v in shares) + "}")
            facts["most_common_freqs"] = ("real[]", [*shares.values()])
        given: list[object] = [table["schema"], table["name"], name]
        parts = []
        for fact, (kind, value) in facts.items():
            given.append(value)
            parts.append(f"'{fact}', ${len(given)}::{kind}")
        await admin.fetchval(
            "select pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', $3::text, "
            f"'inherited', false, {', '.join(parts)})",
            *given,
        )


def _nulls(column: asyncpg.Record, about: Sequence[str], few: float) -> float:
    name = column["name"]
    if column["filled"]:
        return 0.0
    waits = any(re.search(rf"\b{name} IS NULL", one) for one in about)
    given = any(re.search(rf"\b{name} IS NOT NULL", one) for one in about)
    if f"({name} IS NULL)" in about:
        given = False
    elif f"({name} IS NOT NULL)" in about:
        waits = False
    if waits == given or column["type"] == "uuid":
        return 0.5
    return few if waits else 1 - few


def _distinct(column: asyncpg.Record) -> float:
    if column["name"] == "partner_id":
        return PARTNERS
    if column["type"] == "bpchar":
        return CODES
    return -0.2 if column["type"] in {"uuid", "bytea", "timestamptz", "int8"} else -0.05


def _values(column: asyncpg.Record) -> list[str]:
    if column["type"] == "bool":
        return ["t", "f"]
    return _LITERAL.findall(column["listed"]) if column["listed"] else []


def _shares(values: list[str], about: Sequence[str], name: str, whole: float, few: float) -> dict[str, float]:
    """The share of rows with each value: small for those that partial indexes cover."""
    rare = set()
    for one in about:
        if found := re.search(rf"\(*{name}\)?(?:::text)? = (?:ANY \()?\(?(?:ARRAY\[)?(.*?)(?:\]|\)|$)", one):
            rare |= set(_LITERAL.findall(found[1]))
        if re.search(rf"NOT {name}\b", one):
            rare.add("f")
        elif re.search(rf"\b{name}\b(?! (?:=|<>|IS|<|>))", one) and values == ["t", "f"]:
            rare.add("t")
    usual = [value for value in values if value not in rare] or values
    rare -= set(usual)
    share = (whole - few * len(rare)) / len(usual)
    return {value: max(few if value in rare else share, 1e-6) for value in values}


_ONE: Final = {
    "uuid": "01930000-0000-7000-8000-{:012d}",
    "bytea": "\\x{:08x}",
    "timestamp with time zone": "2026-11-01 00:00:{:02d}+00",
    "date": "2026-11-{:02d}",
    "time without time zone": "09:00:{:02d}",
    "interval": "{} day",
    "jsonb": "{{}}",
    "json": "{{}}",
    "inet": "10.0.0.{}",
    "boolean": "true",
    "text": "x{}",
    "character varying": "x{}",
    "name": "x{}",
    "regclass": "donation",
}


def literal(type_name: str, shape: Shape) -> str:
    """An SQL literal of this shape."""
    match shape:
        case None:
            return "null"
        case bool():
            return f"'{str(shape).lower()}'"
        case int() if not type_name.endswith("[]"):
            return f"'{shape}'"
    if type_name.endswith("[]"):
        number = min(int(str(shape).rpartition(" ")[2]) if str(shape).startswith("list") else 1, MOST_ITEMS, SMALL)
        items = (json.dumps(_item(type_name[:-2], n)) for n in range(1, number + 1))
        return "'{" + ",".join(items) + "}'"
    return f"'{_item(type_name, 1)}'"


def _item(type_name: str, number: int) -> str:
    return _ONE.get(type_name.partition("(")[0], "{}").format((number - 1) % 28 + 1)


def most_first(shapes: Sequence[Shape]) -> tuple[int, str]:
    """A sort key for the longest lists and the highest limits first, the same in every run."""
    numbers = [int(str(shape).rpartition(" ")[2]) for shape in shapes if re.fullmatch(r"(list of )?\d+", str(shape))]
    return -sum(numbers), repr(shapes)


async def plan(connection: Connection, sql: str, shapes: Sequence[Sequence[Shape]]) -> tuple[Plan, list[Plan]]:
    """(plan for any values, a plan for each parameter shape). Raises asyncpg.PostgresError."""
    await connection.execute(f"prepare asked as {sql}")
    try:
        types: Sequence[str] = await connection.fetchval(
            "select parameter_types::text[] from pg_prepared_statements where name = 'asked'"
        )
        given = [
            "(" + ", ".join(map(literal, types, one or ("one",) * len(types))) + ")" if types else ""
            for one in shapes[:MOST_SHAPES]
        ]
        await connection.execute("set plan_cache_mode = force_generic_plan")
        generic = await _explain(connection, given[0])
        await connection.execute("set plan_cache_mode = force_custom_plan")
        return generic, [await _explain(connection, one) for one in given]
    finally:
        await connection.execute("deallocate asked")


async def _explain(connection: Connection, given: str) -> Plan:
    answer = await connection.fetchval(f"explain (format json) execute asked{given}")
    whole = json.loads(answer)[0]["Plan"]
    return Plan(whole["Total Cost"], [*_walk(whole)])


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)
