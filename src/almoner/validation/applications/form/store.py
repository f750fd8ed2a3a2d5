"""SQL for drafts of the hosted form, and of the emails that share it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.applications.form.drafts import ApplicationDraft, FormShare
from almoner.validation.applications.invites.domain import Invite


@across_partners("link")
async def get_draft(tx: Tx, invite_id: UUID) -> ApplicationDraft:
    """The answers so far; empty if there is no draft."""
    answers = await tx.fetchval("select answers from application_draft where invite_id = $1", invite_id)
    return ApplicationDraft() if answers is None else msgspec.convert(answers, ApplicationDraft)


async def save_draft(tx: Tx, partner: Partner, invite: Invite, draft: ApplicationDraft) -> None:
    """Store the draft of an invite."""
    await tx.execute(
        """
        insert into application_draft (invite_id, partner_id, answers, created_at, updated_at, expires_at)
        values ($1, $2, $3, $4, $4, $5)
        on conflict (invite_id) do update set answers = excluded.answers, updated_at = excluded.updated_at
        """,
        invite.id,
        partner.id,
        msgspec.to_builtins(draft),
        tx.now,
        invite.expires_at,
    )


@across_partners("held")
async def delete_draft(tx: Tx, invite_id: UUID) -> None:
    """Delete the draft of an invite."""
    await tx.execute("delete from application_draft where invite_id = $1", invite_id)


@across_partners("sweep")
async def delete_expired_form_data(tx: Tx, limit: int) -> int:
    """Delete up to ``limit`` drafts and handover emails of expired invites; returns how many of both."""
    drafts = await tx.fetchval(
        """
        with due as (
            select invite_id from application_draft where expires_at <= $1 order by expires_at limit $2
            for update skip locked
        ), gone as (
            delete from application_draft d using due where d.invite_id = due.invite_id returning 1
        ) select count(*) from gone
        """,
        tx.now,
        limit,
    )
    mails = await tx.fetchval(
        """
        with due as (
            select id from application_handover where expires_at <= $1 order by expires_at limit $2
        ), gone as (
            delete from application_handover h using due where h.id = due.id returning 1
        ) select count(*) from gone
        """,
        tx.now,
        limit,
    )
    return int(drafts) + int(mails)


_UNUSED_DOCUMENTS: Final = """
    validation_invite i
    join validation_submission_document s on s.validation_invite_id = i.id
    join document d on d.id = s.document_id
    where i.status <> 'complete' and i.expires_at > $1::timestamptz - interval '30 days'
        and s.validation_submission_id is null and d.deleted_at is null
"""
"""Documents of invites without a submission."""


@across_partners("sweep")
async def next_form_data_deletion_at(tx: Tx) -> datetime | None:
    """When the next draft, email or document is due to be deleted."""
    found: datetime | None = await tx.fetchval(
        f"""
        select least(
            (select min(expires_at) from application_draft), (select min(expires_at) from application_handover),
            (select min(i.expires_at) from {_UNUSED_DOCUMENTS})
        )
        """,
        tx.now,
    )
    return found


async def insert_form_share(tx: Tx, form_share: FormShare, expires_at: datetime) -> None:
    """Store a handover email to send."""
    await tx.execute(
        "insert into application_handover (id, invite_id, email, sent_at, expires_at) values ($1, $2, $3, $4, $5)",
        form_share.id,
        form_share.invite_id,
        form_share.email,
        form_share.shared_at,
        expires_at,
    )


async def find_form_share(tx: Tx, share_id: UUID) -> FormShare | None:
    """Find one handover; None if it does not exist."""
    row = await tx.fetchrow("select id, invite_id, email, sent_at from application_handover where id = $1", share_id)
    return FormShare(*row) if row else None


async def list_form_share_send_times(tx: Tx, invite_id: UUID) -> list[datetime]:
    """When handover emails of an invite were sent."""
    rows = await tx.fetch("select sent_at from application_handover where invite_id = $1", invite_id)
    return [row["sent_at"] for row in rows]


_ADDRESS_SEND_TIMES: Final = "select sent_at from application_handover where lower(email) = lower($1) and sent_at > $2"


async def lock_address_and_list_share_send_times(tx: Tx, email: str, since: datetime) -> list[datetime]:
    """When emails of any invite were sent to an address since a time. Locks the address until the transaction ends."""
    await tx.fetchval("select pg_advisory_xact_lock(hashtextextended('application_handover ' || lower($1), 0))", email)
    rows = await tx.fetch(_ADDRESS_SEND_TIMES, email, since)
    return [row["sent_at"] for row in rows]


@across_partners("held")
async def find_submission_id_and_creation_time(tx: Tx, invite_id: UUID) -> tuple[UUID, datetime] | None:
    """The submission created from an invite, and when; None if there is none."""
    row = await tx.fetchrow(
        "select id, created_at from validation_submission where validation_invite_id = $1", invite_id
    )
    return (row["id"], row["created_at"]) if row else None


LANGUAGE: Final = """
select coalesce(l.language, s.language) from validation_submission s
left join application_language l on l.validation_submission_id = s.id where s.id = $1
"""


@across_partners("link")
async def find_application_language(tx: Tx, submission_id: UUID) -> str | None:
    """The language of an application's page and emails; None if there is no such application."""
    found: str | None = await tx.fetchval(LANGUAGE, submission_id)
    return found


async def save_application_language(tx: Tx, partner: Partner, submission_id: UUID, language: str) -> None:
    """Store the chosen language of an application."""
    await tx.execute(
        """
        insert into application_language (validation_submission_id, partner_id, language, updated_at)
        values ($1, $2, $3, $4)
        on conflict (validation_submission_id) do update
            set language = excluded.language, updated_at = excluded.updated_at
        """,
        submission_id,
        partner.id,
        language,
        tx.now,
    )


@across_partners("held")
async def list_application_link_send_times(tx: Tx, submission_id: UUID) -> list[datetime]:
    """When new links to an application were emailed recently."""
    found = await tx.fetchval(
        "select mailed_at from application_link where validation_submission_id = $1", submission_id
    )
    return list(found or ())


async def save_application_link_send_times(
    tx: Tx, partner: Partner, submission_id: UUID, send_times: Sequence[datetime]
) -> None:
    """Store when links to an application were emailed."""
    await tx.execute(
        """
        insert into application_link (validation_submission_id, partner_id, mailed_at) values ($1, $2, $3)
        on conflict (validation_submission_id) do update set mailed_at = excluded.mailed_at
        """,
        submission_id,
        partner.id,
        list(send_times),
    )


@across_partners("sweep")
async def list_expired_invite_ids_with_documents(tx: Tx, limit: int) -> list[UUID]:
    """Expired invites with documents that nothing needs any more."""
    rows = await tx.fetch(
        f"select distinct i.id from {_UNUSED_DOCUMENTS} and i.expires_at <= $1 limit $2", tx.now, limit
    )
    return [row["id"] for row in rows]
