"""SCIM's storage over thousands of rows, without HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from scim2_models import SearchRequest
from scim2_server.utils import load_default_provider, parametrize

from almoner.access.partners import service as partners
from almoner.kit.ids import RecordIdCodec
from almoner.platform.audit.log import Actor
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Database, Partner, Tx, open_database
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.scim.storage import PostgresStorage
from tests.support.clock import TestClock
from tests.support.database import TestDatabase

LINKS = BaseUrls("http://api.test", "http://pages.test")
ACTOR = Actor("key", "apikey_of_the_directory")
PROVIDER = load_default_provider()
TYPES = {str(one.name): one for one in PROVIDER.resource_types}


def deployment() -> Deployment:
    """A sandbox with its own clocks."""
    return Deployment("sandbox", TestClock(), RecordIdCodec(sandbox=True), LINKS, Vault(bytes(32)))


@asynccontextmanager
async def opened(database: TestDatabase) -> AsyncIterator[Database]:
    """The database until the block ends."""
    db = await open_database(database.dsn, deployment(), pool_size=2)
    try:
        yield db
    finally:
        await db.close()


async def counted(database: TestDatabase) -> None:
    """Update PostgreSQL's statistics, as autovacuum does after a while."""
    owner = await asyncpg.connect(database.owner_dsn)
    await owner.execute("vacuum analyze person, member_group, member_group_member")
    await owner.close()


def storage(tx: Tx, partner: Partner) -> PostgresStorage:
    """A partner's storage over a transaction."""
    return PostgresStorage(tx, partner, PROVIDER, ACTOR, "127.0.0.1")


def model(kind: str) -> Any:
    """The model of a resource type."""
    return PROVIDER.model_for(TYPES[kind])


def asking(*kinds: str, **parameters: Any) -> SearchRequest[Any]:
    """A search request as the protocol layer passes it."""
    union = model(kinds[0])
    for kind in kinds[1:]:
        union = union | model(kind)
    return parametrize(SearchRequest, union)(**parameters)


async def partner(tx: Tx, name: str, users: int = 0) -> Partner:
    """A partner with users, every fifth of them in one group of a hundred, every fiftieth deactivated."""
    made = Partner((await partners.create(tx, name)).id)
    await tx.execute(
        """
        insert into person (id, realm, profile, created_at, updated_at)
        select overlay(gen_random_uuid()::text placing ms || '-7' from 1 for 15)::uuid, $1, jsonb_build_object(
            'userName', 'Person' || n || '@example.org', 'externalId', 'external-' || n, 'active', n % 50 <> 0,
            'name', jsonb_build_object('familyName', 'Name ' || n % 997, 'givenName', 'Ada ' || n),
            'emails', jsonb_build_array(jsonb_build_object('value', 'person' || n || '@work.example', 'type', 'work'))
          ), came, came
        from generate_series(1, $2) n,
          lateral (select $3::timestamptz + n * interval '1 second' as came) moment,
          lateral (select to_hex((extract(epoch from came) * 1000)::bigint) as digits) hex,
          lateral (select overlay(lpad(digits, 12, '0') placing '-' from 9 for 0) as ms) id
        """,
        made.id,
        users,
        tx.now,
    )
    await tx.execute(
        """
        insert into member_group (id, partner_id, profile, created_at, updated_at)
        select gen_random_uuid(), $1, jsonb_build_object('displayName', 'Group ' || n), $3, $3
        from generate_series(1, $2::int / 100) n
        """,
        made.id,
        users,
        tx.now,
    )
    await tx.execute(
        """
        insert into member_group_member (partner_id, group_id, person_id, added_at)
        select $1, g.id, p.id, $2 from
          (select id, row_number() over (order by id) - 1 as n from member_group where partner_id = $1) g
          join (select id, row_number() over (order by id) as n from person where realm = $1) p
          on p.n % 5 = 0 and p.n / 5 % (select count(*) from member_group where partner_id = $1) = g.n
        """,
        made.id,
        tx.now,
    )
    return made
