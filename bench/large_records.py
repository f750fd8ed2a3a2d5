"""What else a large account has: its logs, regular donations, links, forms, what it follows, and the money's way.

Written by SQL after ``bench.large_partner``: settlements and bank statements of its payments by day, disbursements by
nonprofit, and the operators' audit log. Rules between rows are not checked.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg

from almoner.giving.checkout.giving_links.domain import MAX_LINKS
from almoner.platform.audit.log import DEPLOYMENT
from almoner.validation.applications.configurations.domain import MAX_CONFIGURATIONS

REQUESTS: Final = 1_000_000
AUDIT_ENTRIES: Final = 200_000
PLANS: Final = 50_000
PAID_RUNS: Final = 25
FOLLOWED: Final = 50_000
NOTE: Final = (
    f"of the partner also {REQUESTS:,} requests in the log, {AUDIT_ENTRIES:,} audit log entries, {PLANS:,} regular "
    f"donations, {MAX_LINKS:,} giving links, {MAX_CONFIGURATIONS} application forms, {FOLLOWED:,} each of invites, "
    "agents, monitoring and eligibility subscriptions, "
    f"{PAID_RUNS} disbursements of each nonprofit and one that waits; "
    "a settlement and a bank statement of each day"
)

_API_REQUESTS: Final = """
insert into api_request (partner_id, request_id, key_id, method, route, path, status, duration_ms, error_code, network)
select $1, uuidv7(- n * interval '1.2 seconds'), keys.ids[1 + n % cardinality(keys.ids)],
       (array['GET', 'POST'])[1 + n % 2], (array['/v1/donations', '/v1/donation-sessions', '/v1/events'])[1 + n % 3],
       null, case when n % 50 = 0 then 422 when n % 211 = 0 then 429 else 200 end, 5,
       case when n % 50 = 0 then 'incorrect_params' when n % 211 = 0 then 'rate_limited' end, '192.0.2.0/24'
from generate_series(1, $2::int) n, (select array_agg(id) as ids from api_key where partner_id = $1) keys
"""
_AUDIT: Final = """
insert into audit_entry (id, scope, at, actor_kind, actor_id, action, subject, mac, sequence, hash)
select uuidv7(- n * interval '5 minutes'), $1, now() - n * interval '5 minutes', $2::text, $2 || '_' || n % 40,
       (array['key.created', 'member.changed', 'donation.reassigned', 'review.viewed', 'key.revoked'])[1 + n % 5],
       $2 || '_' || n % 1000, sha256('mac'), 1000000000 - n, sha256('hash')
from generate_series(1, $3::int) n
"""
_PLANS: Final = """
insert into donation_subscription (
    id, partner_id, organisation_id, session_id, status, amount_minor, currency, cover_minor, frequency, first_name,
    last_name, email, consented, anonymous, created_at, updated_at, status_changed_at, started_at, anchor_on,
    charge_time, next_due_on, next_donation_at, past_due_since, first_payment_id, chargeable, donations_count,
    total_minor
)
select d.id, d.partner_id, d.organisation_id, d.session_id, case when n % 20 = 0 then 'past_due' else 'active' end,
       d.amount_minor, d.currency, 0, (array['weekly', 'monthly', 'quarterly', 'yearly'])[1 + n % 4], d.first_name,
       d.last_name, d.email, true, false, d.created_at, d.created_at, d.created_at, d.created_at, d.created_at::date,
       '12:00', current_date + (n % 90)::int, current_date + (n % 90)::int + time '12:00',
       case when n % 20 = 0 then now() end, d.payment_id, false, 1, d.amount_minor
from (
    select *, row_number() over () as n from donation where partner_id = $1 and payment_id is not null limit $2
) d
"""
_LINKS: Final = """
insert into giving_link (
    id, partner_id, slug, title, organisation_ids, currencies, frequencies, suggested_minor, designations,
    shows_progress, offers_dedication, allowed_origins, active, created_at, updated_at
)
select uuidv7(- n * interval '1 hour'), $1, 'appeal-' || n, 'Appeal ' || n, $3::uuid[], '{USD}', '{one_time,monthly}',
       '{1000,2500}', '{}', true, false, '{}', n % 10 > 0, now(), now()
from generate_series(1, $2::int) n
"""
_FORMS: Final = """
insert into hosted_configuration (
    id, partner_id, name, display_name, is_default, checks, allowed_organisation_types, compliance_flags,
    email_verification, created_at, updated_at
)
select uuidv7(), partner_id, 'Form ' || n, 'Form ' || n, false, checks, allowed_organisation_types, compliance_flags,
       email_verification, now(), now()
from hosted_configuration, generate_series(2, $2::int) n where partner_id = $1 and is_default
"""
_INVITES: Final = """
insert into validation_invite (id, partner_id, language, status, created_at, expires_at, status_changed_at)
select uuidv7(- n * interval '10 minutes'), $1, 'en', (array['open', 'complete', 'expired'])[1 + n % 3],
       now() - n * interval '10 minutes', now() - n * interval '10 minutes' + interval '14 days', now()
from generate_series(1, $2::int) n
"""
_AGENTS: Final = """
insert into agent_verification (
    id, partner_id, validation_request_id, first_name, last_name, email, title, language, email_check, status,
    created_at, confirmed_at, processed_at, status_changed_at
)
select uuidv7(- n * interval '10 minutes'), $1, id, 'Ada', 'Byron ' || n, 'agent' || n || '@charity.example',
       'Treasurer', 'en', true, case when n % 20 = 0 then 'pending_review' else 'approved' end, created_at, created_at,
       case when n % 20 > 0 then created_at end, created_at
from (select *, row_number() over (order by id desc) as n from validation_request where partner_id = $1 limit $2) r
"""
_MONITORING: Final = """
insert into monitoring_subscription (
    id, partner_id, organisation_id, status, search_name, compliance_status, registration_active, sources,
    screened_at, created_at, status_changed_at
)
select uuidv7(- n * interval '10 minutes'), $1, ($3::uuid[])[1 + n % cardinality($3::uuid[])], 'live',
       ' relief society ' || lpad(n::text, 6, '0') || ' ', case when n % 20 = 0 then 'fail' else 'pass' end,
       case when n % 20 = 0 then 'no' else 'yes' end, '[]', now(), now() - n * interval '10 minutes', now()
from generate_series(1, $2::int) n
"""
_ELIGIBILITY: Final = """
insert into eligibility_subscription (
    id, partner_id, organisation_id, suggested, search_name, status, eligibility_status, created_at, updated_at,
    status_changed_at
)
select uuidv7(- n * interval '10 minutes'), $1, ($3::uuid[])[1 + n % cardinality($3::uuid[])], '{}',
       ' relief society ' || lpad(n::text, 6, '0') || ' ', 'live', case when n % 20 = 0 then 'fail' else 'pass' end,
       now() - n * interval '10 minutes', now(), now()
from generate_series(1, $2::int) n
"""
_DISBURSEMENTS: Final = """
insert into disbursement (
    id, partner_id, organisation_id, currency, amount_minor, donations, status, waiting_reason, end_to_end_id,
    created_at, ready_at, sent_at, paid_at, status_changed_at
)
select uuidv7(- run * interval '30 days'), $1, of, 'USD', 90000, 20,
       case when run = 0 then 'PENDING' when run = 1 then 'SENT' else 'PAID' end,
       case when run = 0 then (array['below_threshold', 'on_hold', 'verification_missing'])[1 + place % 3] end,
       replace(gen_random_uuid()::text, '-', ''), now() - run * interval '30 days', now() - run * interval '30 days',
       case when run > 0 then now() - run * interval '30 days' end,
       case when run > 1 then now() - run * interval '30 days' end, now() - run * interval '30 days'
from generate_series(0, $3::int) run, unnest($2::uuid[]) with ordinality given (of, place)
"""
_SETTLEMENTS: Final = """
with made as (
    insert into settlement (id, provider, reference, currency, settled_on, sha256, lines, imported_at)
    select uuidv7(imported_at - now()), 'bench', 'payout-' || day::date, 'USD', day, sha256('report'), count,
           imported_at
    from (
        select date_trunc('day', created_at) as day, count(*),
               least(date_trunc('day', created_at) + interval '3 days', now()) as imported_at
        from payment where provider = 'bench' group by 1
    ) days returning id, settled_on, imported_at
)
insert into settlement_line (
    id, settlement_id, provider, currency, kind, provider_payment, gross_minor, fee_minor, net_minor, status,
    payment_id, created_at, checked_at, status_changed_at
)
select uuidv7(made.imported_at - now()), made.id, 'bench', 'USD', 'payment', p.provider_payment, p.amount_minor,
       p.amount_minor / 25, p.amount_minor - p.amount_minor / 25, 'matched', p.id, made.imported_at, made.imported_at,
       made.imported_at
from payment p join made on made.settled_on = date_trunc('day', p.created_at)::date where p.provider = 'bench'
"""
_STATEMENTS: Final = """
with made as (
    insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256, lines,
                                imported_by, imported_at, part, begins_on, ends_on, form)
    select uuidv7(imported_at - now()), 'DE00BENCH', 'S-' || settled_on, 'USD', 0, 0, sha256('file'), 2, 'bench',
           imported_at, 1, settled_on, settled_on, 'camt.053'
    from settlement where provider = 'bench' and settled_on < current_date - 3
    returning id, reference, imported_at, begins_on
)
insert into bank_statement_line (
    id, statement_id, position, account, booked_on, amount_minor, currency, bank_reference, status, reason, matched_as,
    settlement_id, decided_by, created_at, status_changed_at
)
select uuidv7(made.imported_at - now()), made.id, position, 'DE00BENCH', begins_on, 1000 + position, 'USD',
       made.reference || '-' || position, case position when 1 then 'matched' else 'open' end,
       case position when 2 then 'unknown' end, case position when 1 then 'settlement' end,
       case position when 1 then s.id end, case position when 1 then 'rule' end, made.imported_at, made.imported_at
from made join settlement s on s.provider = 'bench' and s.settled_on = made.begins_on, generate_series(1, 2) position
"""
_WITHOUT_RULES: Final = (
    "donation_subscription", "disbursement", "giving_link", "validation_invite", "agent_verification",
    "monitoring_subscription", "eligibility_subscription",
)  # fmt: skip


FillStep: TypeAlias = tuple[str, str, tuple[object, ...]]
"""What is filled, the statement and its values."""


async def fill_tables(
    dsn: str, tables: Sequence[str], steps: Sequence[FillStep], say: Callable[[str], None] = print
) -> None:
    """Run each step while the triggers of the tables are off, then update the statistics."""
    connection = await asyncpg.connect(dsn)
    try:
        for table in tables:
            await connection.execute(f"alter table {table} disable trigger user")
        for what, sql, values in steps:
            say(what)
            await connection.execute(sql, *values, timeout=1800)
        for table in tables:
            await connection.execute(f"alter table {table} enable trigger user")
        await connection.execute("vacuum analyze", timeout=3600)
    finally:
        await connection.close()


async def fill_more(dsn: str, partner: UUID, organisations: list[UUID], say: Callable[[str], None] = print) -> None:
    """Fill the rest of a partner's account, and of the deployment. ``dsn``: of the owner of the tables."""
    steps: tuple[FillStep, ...] = (
        ("request log", _API_REQUESTS, (partner, REQUESTS)),
        ("audit log", _AUDIT, (partner, "member", AUDIT_ENTRIES)),
        ("audit log of operators", _AUDIT, (DEPLOYMENT, "operator", AUDIT_ENTRIES)),
        ("regular donations", _PLANS, (partner, PLANS)),
        ("giving links", _LINKS, (partner, MAX_LINKS, organisations[:5])),
        ("application forms", _FORMS, (partner, MAX_CONFIGURATIONS)),
        ("invites", _INVITES, (partner, FOLLOWED)),
        ("agents", _AGENTS, (partner, FOLLOWED)),
        ("monitoring", _MONITORING, (partner, FOLLOWED, organisations)),
        ("eligibility", _ELIGIBILITY, (partner, FOLLOWED, organisations)),
        ("disbursements", _DISBURSEMENTS, (partner, organisations, PAID_RUNS)),
        ("settlements", _SETTLEMENTS, ()),
        ("bank statements", _STATEMENTS, ()),
    )
    await fill_tables(dsn, _WITHOUT_RULES, steps, say)
