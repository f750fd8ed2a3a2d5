"""The demo of a sandbox: its keys and its people open what they are for, and stay the same from start to start."""

from collections.abc import AsyncIterator
from typing import Any

import pyotp
import pytest

from almoner.access.credentials.service import build_audit_context_of_person, passwords
from almoner.access.keys import service as keys
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Realm, member_realm
from almoner.access.sign_ins.domain import Browser, PendingSecondFactor
from almoner.access.sign_ins.service import sign_in_methods
from almoner.cli.demo import build_sandbox_json
from almoner.platform.database.transactions import Database, Partner, open_database
from tests.support.database import TestDatabase
from tests.support.service import Service

HERE = Browser("127.0.0.1")


@pytest.fixture
async def db(empty_database: TestDatabase, service: Service) -> AsyncIterator[Database]:
    """A new deployment's database."""
    opened = await open_database(empty_database.dsn, service.db.deployment, pool_size=2)
    yield opened
    await opened.close()


async def enters(db: Database, realm: Realm, login: dict[str, Any]) -> bool:
    """Whether the login opens its place, by all that it says."""
    found = await sign_in_methods.sign_in_by_password(db, realm, login["userName"], login["password"], HERE)
    if isinstance(found, PendingSecondFactor):
        code = pyotp.TOTP(login["totpSecret"]).at(db.deployment.clock.real_now())
        found = await sign_in_methods.sign_in_by_second_factor_code(db, realm, found.ticket, code, HERE)
    return found.person.roles == set(login["roles"])


async def test_the_demo_signs_in_and_stays_the_same(db: Database, service: Service) -> None:
    first = await build_sandbox_json(db, {})
    partner_id = db.deployment.ids.decode("partner", first["partnerId"])
    assert partner_id is not None
    realm = member_realm(Partner(partner_id))
    owner, reader = first["logins"]["members"]
    assert (owner["roles"], bool(owner["totpSecret"])) == (["owner"], True)
    assert (reader["roles"], reader["totpSecret"]) == (["read_only"], None)
    assert {login["url"] for login in (owner, reader)} == {first["dashboardUrl"]}
    for login in (owner, reader):
        assert await enters(db, realm, login)
    for login in first["logins"]["operators"]:
        assert await enters(db, OPERATORS, login)
        assert login["url"] == first["consoleUrl"]
    service.clock.advance_wall(minutes=1)
    assert await build_sandbox_json(db, first) == first
    async with db.read() as tx:
        assert (await keys.find_by_secret(tx, first["scimKey"])) is not None


async def test_what_opens_nothing_any_more_is_made_anew_alone(db: Database) -> None:
    first = await build_sandbox_json(db, {})
    partner_id = db.deployment.ids.decode("partner", first["partnerId"])
    assert partner_id is not None
    realm = member_realm(Partner(partner_id))
    owner, reader = first["logins"]["members"]
    async with db.write() as tx:
        person = await people.find_by_user_name(tx, realm, reader["userName"])
    assert person is not None
    hashed = await passwords.hash_new_password(db.deployment.vault, person, "a password of the reader's own")
    async with db.write() as tx:
        await passwords.store_password(tx, person, hashed, build_audit_context_of_person(tx, person, None))
    second = await build_sandbox_json(db, first)
    assert second["logins"]["members"][0] == owner
    assert second["logins"]["members"][1]["password"] != reader["password"]
    assert await enters(db, realm, second["logins"]["members"][1])
    lost = await build_sandbox_json(db, {**first, "logins": None})
    for login in lost["logins"]["members"]:
        assert await enters(db, realm, login)
    secrets = [login[name] for made in (first, lost) for login in made["logins"]["members"] for name in ("password",)]
    assert len(set(secrets)) == 4, "random, never fixed"


async def test_the_audit_log_begins_with_how_somebody_came(db: Database) -> None:
    first = await build_sandbox_json(db, {})
    await build_sandbox_json(db, first)
    async with db.read() as tx:
        rows = await tx.fetch(
            """
            select distinct on (subject) subject, action, actor_kind from audit_entry
            where subject ~ '(member|operator)_' order by subject, position
            """
        )
        started = await tx.fetchval("select count(*) from audit_entry where action ~ '[.]invited$'")
        made = await tx.fetch("select action, count(*) from audit_entry where action ~ '^(partner|key)[.]' group by 1")
    assert {row["actor_kind"] for row in rows} == {"machine"}
    assert sorted(row["action"] for row in rows) == ["member.invited"] * 2 + ["operator.invited"] * 2
    assert started == 4, "once"
    assert {row["action"]: row["count"] for row in made} == {"partner.added": 2, "key.created": 4}
