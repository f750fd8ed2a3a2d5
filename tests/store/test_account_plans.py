"""What account pages ask is answered from indexes."""

from uuid import UUID

import asyncpg
import pytest

from almoner.access.people import service as all_people
from almoner.access.people.domain import member_realm
from almoner.platform.audit import log as audit
from tests.support import people
from tests.support.service import Service

MANY_ENTRIES = """
insert into audit_entry (id, scope, at, actor_kind, actor_id, action, subject, mac)
select gen_random_uuid(), '00000000-0000-0000-0000-000000000001', now(), 'member', 'member_' || n % 97,
    'action.' || n % 89, 'member_' || n % 101, sha256('x')
from generate_series(1, 5000) n
"""


async def plan(service: Service, sql: str, *values: object, among: str = "select") -> str:
    """How PostgreSQL would answer on tables too large to be read or sorted; ``among`` makes rows, which do not stay."""
    connection = await asyncpg.connect(service.database.owner_dsn)
    trial = connection.transaction()
    await trial.start()
    try:
        await connection.execute(
            f"set local enable_seqscan = off; set local enable_sort = off; {among}; analyze audit_entry"
        )
        return "\n".join(row[0] for row in await connection.fetch(f"explain {sql}", *values))
    finally:
        await trial.rollback()
        await connection.close()


async def test_v8_what_was_done_to_one_person(service: Service) -> None:
    text = await plan(service, audit.ABOUT_PERSON, UUID(int=1), "member_1", 8, among=MANY_ENTRIES)
    assert "Index Scan Backward using audit_entry_about_person" in text
    assert "Sort" not in text


@pytest.mark.parametrize(
    ("by_actor", "by_action", "index"),
    [
        (False, False, "audit_entry_pkey"),
        (True, False, "audit_entry_of_actor"),
        (False, True, "audit_entry_of_action"),
        (True, True, "audit_entry_of_a"),
    ],
)
async def test_v8_the_audit_page_reads_an_index_whatever_is_looked_for(
    by_actor: bool, by_action: bool, index: str, service: Service
) -> None:
    given = [value for value, wanted in (("member_1", by_actor), ("key.created", by_action)) if wanted]
    sql = audit.list_entries_sql(filter_by_actor=by_actor, filter_by_action=by_action)
    text = await plan(service, sql, UUID(int=1), UUID(int=2**128 - 1), 51, UUID(int=0), *given, among=MANY_ENTRIES)
    assert f"Index Scan Backward using {index}" in text
    assert "Sort" not in text


@pytest.mark.parametrize(("sql", "index"), [(audit.DISTINCT_ACTIONS, "of_action"), (audit.DISTINCT_ACTORS, "of_actor")])
async def test_v8_the_filters_of_the_audit_page_probe_an_index_for_each_choice(
    sql: str, index: str, service: Service
) -> None:
    text = await plan(service, sql, UUID(int=1), 500, among=MANY_ENTRIES)
    assert text.count(f"using audit_entry_{index}") == 2
    assert "Sort" not in text
    assert "Seq Scan" not in text


async def test_an_email_is_the_primary_one_else_the_first(service: Service) -> None:
    found = []
    for emails in (
        [{"value": "a@x.example"}, {"value": "Mail@Y.example", "primary": True}],
        [{"value": "mail@y.example"}, {"value": "b@x.example"}],
        [{"value": "", "primary": True}, {"value": "mail@y.example"}],
        [{"value": "a@x.example", "primary": True}, {"value": "mail@y.example"}],
        [{"type": "work"}],
        [],
    ):
        realm = member_realm((await service.tenant()).partner)
        person = await people.person(service, realm, "amina", password=None)
        async with service.db.write() as tx:
            locked = await all_people.get_for_update(tx, realm, person.id)
            changed = await all_people.update_profile(tx, locked, {**locked.profile, "emails": emails})
            column = await tx.fetchval("select email from person where id = $1", person.id)
        assert column == (changed.email.lower() if changed.email else None), emails
        async with service.db.read() as tx:
            found.append(realm.partner in await all_people.list_partners_with_email(tx, "MAIL@y.example"))
    assert found == [True, True, True, False, False, False]
