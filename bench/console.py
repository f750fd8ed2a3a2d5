"""The pages of the operator's console over many open reviews and donations. ``bench.desks`` measures them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import asyncpg
import msgspec
import pyotp

from almoner import wiring
from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.credentials.service import authenticators, build_audit_context_of_person
from almoner.access.operators import service as operators
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATOR_ROLES, OPERATORS, build_profile
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser
from almoner.console import links
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers
from almoner.kit.ids import RecordIdCodec
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ID_TYPES, Kind
from bench.dashboard import Ask, Signed, last_month
from bench.stage import Stage
from tests.support import camt

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "console.md"
STATEMENT_LINES: Final = 200
_LOOKED_AT: Final = 50
_LONG_AGO: Final = timedelta(days=600)
_REDIRECTS: Final = frozenset({"/audit-chains"})
_REVIEWS: Final = """
insert into review (id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, due_at, status,
                    status_changed_at, evidence_requested_at)
select gen_random_uuid(), 'validation_request', id, partner_id, country_code,
       (array['LATIN', 'CYRILLIC', 'ARABIC'])[1 + n % 3], array[(array['name_differs', 'not_in_registry'])[1 + n % 2]],
       now() - n * interval '10 seconds', now() - n * interval '10 seconds' + interval '2 days', 'open', now(),
       case when status = 'pending' then
           now() - n * interval '10 seconds' + (n / 50 % 2 * 2 - 1) * interval '1 hour'
       end
from (select id, partner_id, country_code, status, row_number() over (order by id) as n from validation_request) of
"""
_AGENT_REVIEWS: Final = """
insert into review (id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, due_at, status,
                    status_changed_at)
select gen_random_uuid(), 'agent_verification', id, partner_id, 'USA', 'LATIN', '{free_mail_domain}', created_at,
       created_at + interval '2 days', 'open', now()
from agent_verification where status = 'pending_review'
"""
_DECIDED: Final[Mapping[Kind, str]] = {"validation_request": "pending request", "agent_verification": "agent"}
"""The kinds of cases whose decision pages are measured, and what they are called below."""
_RECORDS: Final[Mapping[str, tuple[str, str]]] = {
    "review": (
        "validationrequest",
        "select subject_id from review where kind = 'validation_request' and status = 'open' order by asked_at",
    ),
    "pending request": ("validationrequest", "select id from validation_request where status = 'pending' order by id"),
    "agent": ("agentverification", "select id from agent_verification where status = 'pending_review' order by id"),
    "second look": ("", "select review_id from review_second_look order by selected_at"),
    "verification": (
        "monetarydonationverification",
        "select id from monetary_donation_verification where status = 'pending' order by id",
    ),
    "flag": ("verificationflag", "select id from monetary_donation_flag where status = 'open' order by id"),
    "pending refund": ("refund", "select id from refund where status = 'pending' order by id"),
    "failed refund": ("refund", "select id from refund where status = 'refused' order by id"),
    "dispute": ("dispute", "select id from dispute where status = 'open' order by id"),
    "payment": ("heldpayment", "select id from unallocated_payment where status = 'held' order by id"),
    "account": ("payeeaccount", "select id from payee_bank_account where status = 'proposed' order by id"),
    "new file": ("bankfile", "select id from payment_file where status = 'created' order by id"),
    "released file": ("bankfile", "select id from payment_file where status = 'released' order by id"),
    "sent disbursement": ("disbursement", "select id from disbursement where status = 'SENT' order by id"),
    "held nonprofit": ("organisation", "select organisation_id from disbursement_hold order by id"),
    "line": ("bankline", "select id from bank_statement_line where status = 'open' order by id desc"),
    "draft": ("giftaidclaim", "select id from gift_aid_claim where status = 'drafted' order by id"),
    "key": ("apikey", "select id from api_key where name like 'Key %' and revoked_at is null order by id"),
    "session": ("signin", "select id from sign_in where realm = '00000000-0000-0000-0000-000000000000'"),
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A signed-in operator. ``name``: the operator's ID as text."""

    signed: Signed
    name: str


async def sign_in(stage: Stage) -> Operator:
    """An operator with all roles, signed in."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            profile = build_profile("ada@example.org", email="ada@example.org", name="Ada")
            person = await people.create(tx, OPERATORS, profile, list(OPERATOR_ROLES))
            set_up = await authenticators.begin_setup(tx, person, "Almoner")
            secret = set_up.secret.replace(" ", "")
            code = pyotp.TOTP(secret).at(tx.real_now)
            await authenticators.confirm_setup(tx, person, code, build_audit_context_of_person(tx, person, None))
            begun = await sign_ins.begin_sign_in(tx, person, "password_totp", Browser("127.0.0.1"))
            name = tx.ids.encode(operators.ID, person.id)
        return Operator(Signed(OPERATORS_HOME, f"__Host-operator={begun.session_secret}", secret), name)
    finally:
        await services.close()


async def open_reviews(stage: Stage) -> None:
    """Open a review of every validation request and of every agent who waits for one."""
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    try:
        for sql in (_REVIEWS, _AGENT_REVIEWS):
            await connection.execute(sql, timeout=1200)
        await connection.execute("vacuum analyze review", timeout=600)
    finally:
        await connection.close()


async def claim(stage: Stage, operator: str, records: Mapping[str, list[str]]) -> None:
    """Claim the cases whose decision pages are measured, for as long as that takes, and ask their applicants."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            for kind, named in _DECIDED.items():
                for name in records[named]:
                    subject = tx.ids.decode(ID_TYPES[kind], name)
                    assert subject is not None
                    await reviews.claim_for_review(tx, REVIEW_HANDLERS[kind], subject, operator)
            await tx.execute(
                "update review set claimed_until = claimed_until + interval '1 day' where claimed_by = $1", operator
            )
    finally:
        await services.close()


async def number_accounts(stage: Stage) -> None:
    """Give the proposed accounts numbers, encrypted as the service does, since their pages check them."""
    services = await wiring.build_services(stage.settings)
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    try:
        async with services.db.read() as tx:
            vault = tx.vault
        plain = msgspec.json.encode(AccountNumbers("us", "1234567", "011000015"))
        rows = await connection.fetch("select id from payee_bank_account where status = 'proposed'")
        sealed = [
            (row[0], vault.encrypt(plain, context="payee_bank_account", associated_data=row[0].bytes)) for row in rows
        ]
        await connection.execute("alter table payee_bank_account disable trigger user")
        await connection.executemany("update payee_bank_account set encrypted_number = $2 where id = $1", sealed)
        await connection.execute("alter table payee_bank_account enable trigger user")
    finally:
        await connection.close()
        await services.close()


async def upload_statement(stage: Stage, operator: str) -> str:
    """Upload a long bank statement, which nobody books; the ID of the upload."""
    lines = (camt.entry(f"R{number}", 1000 + number, words=f"Donation {number}") for number in range(STATEMENT_LINES))
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            kept = await bank_statements.store_upload(tx, "s.xml", camt.statement(*lines), None, uploaded_by=operator)
            return tx.ids.encode("bankupload", kept.id)
    finally:
        await services.close()


async def looked_at(stage: Stage) -> dict[str, list[str]]:
    """The IDs of some records to decide, by what they are."""
    ids, found = RecordIdCodec(sandbox=stage.settings.sandbox), {}
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    for what, (id_type, sql) in _RECORDS.items():
        rows = await connection.fetch(f"{sql} limit {_LOOKED_AT}")
        found[what] = [ids.encode(id_type, row[0]) if id_type else str(row[0]) for row in rows]
    await connection.close()
    if missing := [what for what, of in found.items() if not of]:
        raise RuntimeError(f"there is no {', '.join(missing)} to look at")
    return found


def pages(records: Mapping[str, list[str]], organisations: list[str], partner: str) -> dict[str, Ask]:
    """Every page of the navigation, and those that have much to read."""
    navigation = [link.path for link in (*links.LINKS, *links.LAST_LINKS) if link.path not in _REDIRECTS]
    made: dict[str, Ask] = {path: _fixed(path) for path in navigation}
    for path in (
        "/reviews?kind=validation_request",
        "/reviews?due=overdue",
        "/reviews?script=ARABIC&country=USA",
        "/reviews?reason=not_in_registry",
        f"/reviews?partner={partner}",
        "/organisations?query=relief",
        "/disbursements?status=PENDING",
        "/disbursements?status=PENDING&waiting=on_hold",
        "/disbursements?status=PAID",
        "/bank-statement-lines?status=open",
        "/settlements/unmatched",
        "/settlements/provider-payouts",
        "/bank-statements/gaps",
        "/refunds/failed",
        "/disbursements/holds",
        "/ledger/account?key=bank:USD",
        f"/ledger/account?key=bank:USD&month={last_month():%Y-%m}",
        f"/ledger/account?key=bank:USD&month={last_month() - _LONG_AGO:%Y-%m}",
        "/audit-log?action=review.viewed",
        f"/partners/{partner}",
    ):
        made[path.replace(partner, "…")] = _fixed(path)
    for path, table in (
        ("/reviews/{id}", "review"),
        ("/disbursements/{id}", "disbursement"),
        ("/ledger/transfers?q={id}", "donation"),
    ):
        made[path] = _of_record(path, records[table])
    made["/organisations/{id}"] = lambda pick: f"/organisations/{pick.choice(organisations)}"
    return made


def _fixed(path: str) -> Ask:
    return lambda _pick: path


def _of_record(path: str, ids: list[str]) -> Ask:
    return lambda pick: path.replace("{id}", pick.choice(ids))
