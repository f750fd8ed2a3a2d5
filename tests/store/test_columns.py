"""Every column says what it holds and how long (V1), and the two database roles are what the house says."""

import tomllib
from collections import Counter
from pathlib import Path

import asyncpg

from almoner import migrations
from tests.support.database import TestDatabase

CLASSES = {"public", "account", "personal", "secret"}
FILE = Path(migrations.__file__).with_name("columns.toml")
COLUMNS = """
select case when table_schema = 'public' then table_name else table_schema || '.' || table_name end, column_name
from information_schema.columns join information_schema.tables using (table_schema, table_name)
where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'
"""
APPEND_ONLY = {
    "audit_entry",
    "audit_head",
    "event",
    "state_change",
    "provider_event",
    "unallocated_payment",
    "unallocated_payment_decision",
    "monetary_donation_decision",
    "reassignment",
    "receipt",
    "register_load",
    "register_file",
    "returned_disbursement_donation",
    "review_decision",
    "settlement",
    "webhook_attempt",
}
DECIDED = ("status", "status_changed_at", "decided_at", "decided_by", "note", "provider_refund", "applied_payment_id")


def classified() -> Counter[tuple[str, str]]:
    """(table, column) for every line of the file, counted."""
    tables = tomllib.loads(FILE.read_text())
    return Counter(
        (table, column)
        for table, classes in tables.items()
        for name in classes.keys() & CLASSES
        for column in classes[name]
    )


async def test_v1_every_column_is_classified_once(session_database: TestDatabase) -> None:
    connection = await asyncpg.connect(session_database.owner_dsn)
    real = {tuple(row) for row in await connection.fetch(COLUMNS)}
    await connection.close()
    listed = classified()
    assert real - listed.keys() == set(), "say in columns.toml what these hold"
    assert listed.keys() - real == set(), "columns.toml names what is not there"
    assert [column for column, times in listed.items() if times > 1] == []


def test_v1_every_table_says_how_long_it_is_kept() -> None:
    tables = tomllib.loads(FILE.read_text())
    assert [table for table, about in tables.items() if not about.get("keep")] == []
    assert [table for table, about in tables.items() if about.keys() - CLASSES - {"keep"}] == []


async def test_the_service_cannot_change_what_is_only_added_to(session_database: TestDatabase) -> None:
    connection = await asyncpg.connect(session_database.owner_dsn)
    tables = await connection.fetch(
        """
        select table_name, '*' as column_name, privilege_type from information_schema.role_table_grants
        where grantee = 'almoner_app' and privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE')
        """
    )
    columns = await connection.fetch(
        """
        select table_name, column_name, privilege_type from information_schema.column_privileges
        where grantee = 'almoner_app' and privilege_type = 'UPDATE'
        """
    )
    owners = await connection.fetch("select tablename from pg_tables where tableowner = 'almoner_app'")
    await connection.close()
    changeable = {tuple(row) for row in [*tables, *columns]}
    assert {change for change in changeable if change[0] in APPEND_ONLY} == {
        *(("audit_entry", column, "UPDATE") for column in ("sequence", "hash", "address")),  # once, by a trigger
        ("audit_head", "exported_at", "UPDATE"),
        ("event", "sequence", "UPDATE"),
        ("event", "*", "DELETE"),  # after the days that columns.toml gives
        ("webhook_attempt", "*", "DELETE"),
        *(("settlement", column, "UPDATE") for column in ("fee_minor", "net_minor")),  # once, by a trigger
        ("register_load", "status", "UPDATE"),  # taken back by another load, never what it brought
        # what becomes of held money, never what was held
        *(("unallocated_payment", column, "UPDATE") for column in DECIDED),
    }
    assert owners == []
