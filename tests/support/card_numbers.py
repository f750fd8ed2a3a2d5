"""Search everything that a service stored and wrote for card numbers (H5)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import asyncpg

from tests.support.database import TestDatabase

# Separate digits: not part of a word, a hash or a longer number. Groups of four may have spaces.
_RUN = re.compile(r"(?<![\w.\-])(?:\d{13,19}|\d{4}(?: \d{4}){3}(?: \d{1,3})?)(?![\w\-])", re.ASCII)
_PREFIX = re.compile(r"4|5[1-5]|2[2-7]|3[47]|6")
_TEXTS = """
    select t.oid::regclass::text as name, columns
    from pg_class t cross join lateral (
        select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
        where attrelid = t.oid and attnum > 0 and not attisdropped
            and atttypid = any ('{text,jsonb,bytea,character varying}'::regtype[])
    ) as texts
    where t.relnamespace in ('public'::regnamespace, 'provider_test'::regnamespace) and t.relkind in ('r', 'm')
        and columns is not null
"""
"""Every column of texts."""
_FILLED = """
    and (pg_stat_file(format('base/%s/%s', $1::oid, t.relfilenode), true)).size > 0 order by 1
"""
"""Of non-empty tables; the file sizes are asked without opening the tables."""


def found_in(text: str) -> list[str]:
    """Possible card numbers in a text: 13 to 19 digits, a card's prefix, a valid check digit."""
    runs = (match[0].replace(" ", "") for match in _RUN.finditer(text))
    return [run for run in runs if _PREFIX.match(run) and _luhn(run)]


async def in_database(database: TestDatabase) -> list[str]:
    """``table: number`` for each card number in a text column."""
    superuser = await asyncpg.connect(database.server.superuser_url(database.name))
    try:
        return await seen_by(superuser)
    finally:
        await superuser.close()


async def seen_by(superuser: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """The same, over an open connection."""
    number = await superuser.fetchval("select oid from pg_database where datname = current_database()")
    filled = await superuser.fetch(_TEXTS + _FILLED, number)
    return await in_tables(superuser, {row["name"]: row["columns"] for row in filled})


async def text_columns(superuser: "asyncpg.Connection[asyncpg.Record]") -> dict[str, str]:
    """The columns of texts of each table that has any, as SQL names them."""
    return {row["name"]: row["columns"] for row in await superuser.fetch(_TEXTS)}


async def in_tables(superuser: "asyncpg.Connection[asyncpg.Record]", columns: Mapping[str, str]) -> list[str]:
    """``table: number`` for each card number in these columns."""
    found = []
    for table, texts in columns.items():
        for row in await superuser.fetch(f"select {texts} from {table}"):
            name = table.rpartition(".")[2]
            found += [f"{name}: {one}" for one in found_in(" | ".join(_texts(row.values())))]
    return found


def in_lines(lines: Iterable[bytes]) -> list[str]:
    """Card numbers in log lines."""
    return [number for line in lines for number in found_in(line.decode(errors="replace"))]


def _texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, bytes):
            with suppress(UnicodeDecodeError):  # not text: an image, a document or encrypted data
                yield value.decode()
        elif isinstance(value, list):
            yield from map(str, value)
        elif value is not None:
            yield str(value)


def _luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0
