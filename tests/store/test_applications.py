"""The database keeps the rules of invites, drafts and documents by itself, and answers from indexes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.platform.http.paging import RequestedPage
from almoner.validation.applications.form import store as form_store
from almoner.validation.applications.invites import store as invites_store
from almoner.validation.applications.invites.domain import INVITE
from almoner.validation.applications.submission_documents import store as submission_documents_store
from tests.support.applications import PERSON, Form, invited
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, PNG
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant, serving


def named(service: Service, made: dict[str, Any]) -> UUID:
    """The id that the database knows."""
    found = service.db.deployment.ids.decode("validationinvite", made["id"])
    assert found is not None
    return found


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_s1_the_moves_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = 'validation_invite'"
        )
    assert {tuple(row) for row in rows} == set(INVITE.transitions())


@pytest.mark.parametrize("target", ["open", "expired"])
async def test_s1_what_was_used_stays_used(service: Service, api: Client, target: str) -> None:
    made = await invited(api)
    async with service.db.write() as tx:
        assert await invites_store.mark_completed(tx, named(service, made))
        assert not await invites_store.mark_completed(tx, named(service, made))
    sql = "update validation_invite set status = $2 where id = $1"
    assert await refuses(service, sql, named(service, made), target) == "lifecycle_validation_invite"


@pytest.mark.parametrize(
    "change",
    [
        "redirect_url = 'https://elsewhere.example'",
        "language = 'de'",
        "expires_at = expires_at + interval '1 day'",
        "partner_id = (select id from partner where id <> partner_id limit 1)",
    ],
)
async def test_what_was_promised_of_an_invite_stays(service: Service, api: Client, other: Client, change: str) -> None:
    made = await invited(api)
    await invited(other)
    assert await refuses(service, f"update validation_invite set {change} where id = $1", named(service, made))


async def test_a_configuration_of_another_partner_is_refused(service: Service, api: Client, tenant: Tenant) -> None:
    made = await invited(api)
    await service.tenant()
    sql = """
        insert into validation_invite
        select gen_random_uuid(), i.partner_id, c.id, null, 'en', null, 'open', now(), now() + interval '1 day', now()
        from validation_invite i join hosted_configuration c on c.partner_id <> i.partner_id where i.id = $1 limit 1
    """
    assert "configuration" in str(await refuses(service, sql, named(service, made)))


async def test_what_is_asked_all_the_time_is_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        tenant = await service.tenant()
        api = service.client(tenant.secret)
        form = Form(service, await invited(api))
        await form.open()
        await form.answer("/person", dict(PERSON))
        await form.upload(HONEST[PNG], PNG)
        await form.browser.open(f"{form.home}/colleague")
        await form.browser.post(f"{form.home}/colleague", {"email": "colleague@relief.example"})
        invite = named(service, form.invite)
        async with service.db.write() as tx:
            await many(tx, invite)
        async with service.db.read() as reading:
            tx_: Any = Explaining(reading)
            later = reading.now + timedelta(days=30)
            assert await invites_store.find(tx_, tenant.partner, invite)
            rows, _ = await invites_store.list_page(tx_, tenant.partner, RequestedPage(25, descending=True))
            assert len(rows) == 25 or rows
            assert await invites_store.next_expiry_at(tx_) is not None
            assert (await form_store.get_draft(tx_, invite)).person is not None
            assert await form_store.list_form_share_send_times(tx_, invite)
            assert await form_store.lock_address_and_list_share_send_times(
                tx_, "Colleague@relief.example", later - timedelta(days=3000)
            )
            assert await form_store.find_submission_id_and_creation_time(tx_, invite) is None
            assert len(await submission_documents_store.list_by_invite(tx_, tenant.partner, invite)) == 1
            assert await submission_documents_store.list_by_submission(tx_, tenant.partner, invite) == []
        assert tx_.scans() <= {"list_counter"}, tx_.scans()
        assert {
            "validation_invite_due",
            "application_draft_pkey",
            "application_handover_of",
            "application_handover_to",
            "validation_submission_of_invite",
            "validation_submission_document_of_invite",
            "validation_submission_document_of",
        } <= tx_.indexes()
        await api.close()


async def many(tx: Any, invite: UUID) -> None:
    """Thousands of other invites, drafts, mails and documents."""
    await tx.execute(
        """
        insert into validation_invite
        select gen_random_uuid(), partner_id, null, null, 'en', null, 'open', created_at, expires_at, created_at
        from validation_invite, generate_series(1, 5000) where id = $1
        """,
        invite,
    )
    await tx.execute(
        """
        insert into application_draft
        select id, partner_id, '{}', created_at, created_at, expires_at from validation_invite where id <> $1
        """,
        invite,
    )
    await tx.execute(
        """
        insert into application_handover
        select gen_random_uuid(), id, id || '@example.org', created_at, expires_at from validation_invite where id <> $1
        """,
        invite,
    )
    await tx.execute(
        """
        insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                              status_changed_at, threat, created_at, next_check_at)
        select gen_random_uuid(), d.partner_id, d.media_type, d.size_bytes, d.sha256,
            lpad(to_hex(n), 34, '0'), d.flags, d.status, d.status_changed_at, d.threat, d.created_at, d.next_check_at
        from (select * from document limit 1) d, generate_series(1, 5000) n
        """
    )
    await tx.execute(
        """
        insert into validation_submission_document
        select gen_random_uuid(), d.partner_id, d.id, null, i.id, 'validation_request', d.created_at
        from (select *, row_number() over () as n from document) d
        join (select id, row_number() over () as n from validation_invite where id <> $1) i using (n)
        where not exists (select from validation_submission_document s where s.document_id = d.id)
        """,
        invite,
    )
    for table in ("validation_invite", "application_draft", "application_handover", "validation_submission_document"):
        await tx.execute(f"analyze {table}")
