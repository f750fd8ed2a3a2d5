"""Sends security emails.

``send`` enqueues an email in the transaction of the change; a job composes and sends it. Tokens are never stored: the
link is derived from its record's ID when the email is sent.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.notifications.service import Email
from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.access.people.domain import NoSuchPerson, Person, Realm
from almoner.access.security_emails import domain
from almoner.access.security_emails.domain import KINDS_WITH_LINK, Kind
from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import DecodedJob, JobKind
from almoner.platform.outbound.mail_rendering import MailRenderer


class SendSecurityEmailJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """The recipient, kind and values of a security email.

    ``to``, ``user_name`` and ``name``: values before the change.
    """

    realm: UUID
    person: UUID
    kind: Kind
    link: UUID | None
    values: Mapping[str, str]
    facts: Mapping[str, str]
    to: str | None = None
    user_name: str | None = None
    name: str | None = None


SEND_JOB: Final = JobKind("security_emails.send", SendSecurityEmailJob)


def account_path(ids: RecordIdCodec, realm: Realm) -> str:
    """The path of the account pages of a realm's people."""
    return f"/account/{ids.encode('partner', realm.id)}" if realm.partner else "/operator"


async def enqueue_email(
    tx: Tx,
    person: Person,
    kind: Kind,
    *,
    link_id: UUID | None = None,
    placeholder_values: Mapping[str, str] | None = None,
    detail_lines: Mapping[str, str] | None = None,
    to_old_address: bool = False,
) -> None:
    """Enqueue an email to a person; does nothing if the person has no email address.

    ``link_id``: the record behind an invitation or a password reset. ``placeholder_values``: placeholders of this kind
    besides place and user name. ``detail_lines``: lines such as ``Device`` and ``Network address``. ``to_old_address``:
    send to the address before the change, without new details.
    """
    if person.email is None:
        return
    before = (person.email, person.user_name, person.display_name) if to_old_address else ()
    email = SendSecurityEmailJob(
        person.realm.id, person.id, kind, link_id, dict(placeholder_values or {}), dict(detail_lines or {}), *before
    )
    await SEND_JOB.enqueue(tx, email)


async def notify_of_account_changes(tx: Tx, before: Person, after: Person) -> None:
    """Notify a person of changes to their account: email address (sent to the old one), roles, deactivation."""
    if before.email != after.email:
        await enqueue_email(tx, before, "email_changed", to_old_address=True)
    if before.active and not after.active:
        await enqueue_email(tx, after, "deactivated")
    if before.roles != after.roles:
        roles = ", ".join(sorted(role.replace("_", " ") for role in after.roles))
        await enqueue_email(tx, after, "roles_changed", placeholder_values={"roles": roles or "none"})


async def compose_email(tx: Tx, _mails: MailRenderer, job: DecodedJob[SendSecurityEmailJob]) -> Email | None:
    """The email of a job; None if the person was deleted, has no email address or may not sign in."""
    email = job.details
    realm = Realm(email.realm)
    try:
        person = await people.get(tx, realm, email.person)
    except NoSuchPerson:
        return None
    to = email.to or person.email
    if to is None or (email.kind in KINDS_WITH_LINK and not person.active):
        return None
    place = (await partners.get(tx, realm.partner)).name if realm.partner else "Almoner"
    values = {**email.values, "place": place, "user_name": email.user_name or person.user_name}
    facts = {
        "letter": domain.build_security_email(email.kind, values, email.facts),
        "name": domain.shorten_name(email.name or person.display_name),
        "place": place,
        "url": _link_url(tx, realm, email),
    }
    return Email(to, f"letter:{job.id}", facts, partner_id=realm.id if realm.partner else None)


def _link_url(tx: Tx, realm: Realm, email: SendSecurityEmailJob) -> str:
    """The URL of an invitation or reset link (``.../invitation?token=``, ``.../reset?token=``), else of the account."""
    start = tx.base_urls.pages + account_path(tx.ids, realm)
    if email.link is None:
        return start
    return f"{start}/{email.kind}?token={tx.vault.create_page_token(email.kind, email.link)}"
