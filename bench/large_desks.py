"""What finance officers and reviewers of a large deployment decide: refunds, disputes, accounts, files, verifications.

Written by SQL after ``bench.large_records``. Rules between rows are not checked, and nothing encrypted can be read, so
that files and account numbers cannot be used; their pages show neither.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from bench.large_records import FillStep, fill_tables

REFUNDS: Final = 50_000
PENDING_REFUNDS: Final = 2_000
FAILED_REFUNDS: Final = 500
DISPUTES: Final = 5_000
OPEN_DISPUTES: Final = 500
UNALLOCATED: Final = 20_000
HELD: Final = 2_000
REPLACED_ACCOUNTS: Final = 9
CLAIM_DONATIONS: Final = 10_000
HOLDS: Final = 300
KEYS: Final = 200
DECIDED: Final = 20_000
LOOKS: Final = 1_000
NOTE: Final = (
    f"of all partners also {REFUNDS:,} refunds ({PENDING_REFUNDS:,} pending, {FAILED_REFUNDS} failed), {DISPUTES:,} "
    f"disputes ({OPEN_DISPUTES} open), {UNALLOCATED:,} unallocated payments ({HELD:,} held), {2 + REPLACED_ACCOUNTS} "
    "payee accounts and a verification of each nonprofit, a flag of each fourth, a payment file of each month, a Gift "
    f"Aid claim of each nonprofit (one of {CLAIM_DONATIONS:,} donations), {HOLDS} holds, {KEYS} keys, {DECIDED:,} "
    f"decided reviews and {LOOKS:,} second looks; 2% of the validation requests and 5% of the agents are "
    "undecided, and the applicants of these requests were asked for evidence"
)

_PAYEES: Final = """
insert into payee_bank_account (
    id, organisation_id, currency, scheme, holder, encrypted_number, masked_number, fingerprint, town, country_code,
    name_score, is_change, status, proposed_by, proposed_note, proposed_at, first_by, first_note, first_at, second_by,
    second_note, second_at, status_changed_at
)
select uuidv7(- age * interval '30 days'), of, 'USD', 'us', 'Relief Society ' || place, '\\x00',
       '••••' || lpad((place % 10000)::text, 4, '0'), sha256((place || '-' || age)::bytea), 'Casper', 'USA', 90,
       age < $2,
       case age when 0 then 'proposed' when 1 then 'approved' else 'replaced' end, 'bench', 'A letter',
       now() - age * interval '30 days', case when age > 0 then 'first' end, case when age > 0 then 'A call' end,
       case when age > 0 then now() - age * interval '29 days' end, case when age > 0 then 'second' end,
       case when age > 0 then 'A call' end, case when age > 0 then now() - age * interval '29 days' end,
       now() - age * interval '29 days'
from unnest($1::uuid[]) with ordinality given (of, place), generate_series(0, $2::int) age
where age > 0 or place % 4 = 0
"""
_FILES: Final = """
with made as (
    insert into payment_file (
        id, message_id, currency, payments, amount_minor, single_approval_limit_minor, execution_date, sha256,
        encrypted_content, status, created_by, created_at, released_by, released_at, status_changed_at
    )
    select uuidv7(created_at - now()), 'bench' || row_number() over (order by created_at), 'USD', count(*),
           sum(amount_minor), 0, created_at::date, sha256(created_at::text::bytea), '\\x00',
           case status when 'SENT' then 'created' else 'released' end, 'bench', created_at,
           case status when 'PAID' then 'another' end, case status when 'PAID' then created_at end, created_at
    from disbursement where status in ('SENT', 'PAID') group by created_at, status
    returning id, created_at
)
insert into payment_file_transaction (file_id, disbursement_id, payee_bank_account_id, amount_minor)
select made.id, d.id, a.id, d.amount_minor from made
join disbursement d on d.created_at = made.created_at and d.status in ('SENT', 'PAID')
join payee_bank_account a on a.organisation_id = d.organisation_id and a.status = 'approved'
"""
_REPORTS: Final = """
insert into payment_status_report (id, file_id, message_id, sha256, accepted, paid, rejected, recorded_by, recorded_at)
select uuidv7(), id, message_id, sha256(message_id::bytea), 0, payments, 0, 'bench', created_at
from payment_file where status = 'released'
"""
_PAID: Final = """
    select id, payment_id, amount_minor, created_at, row_number() over (order by id desc) as place
    from donation where payment_id is not null order by id desc
"""
_REFUNDS: Final = f"""
insert into refund (
    id, donation_id, payment_id, provider, amount_minor, currency, deducted_minor, restored_minor, status, started_at,
    started_by, note, ended_at, ended_note, provider_refund, status_changed_at
)
select uuidv7(created_at - now()), id, payment_id, 'bench', amount_minor, 'USD', amount_minor,
       case outcome when 'refused' then amount_minor end, outcome, created_at, 'bench', 'The donor asked for it',
       case when outcome <> 'pending' then now() end, case outcome when 'refused' then 'The card has expired' end,
       case outcome when 'sent' then 'refund-' || id end, now()
from (
    select *, case when place <= $2 then 'pending' when place <= $2 + $3 then 'refused' else 'sent' end as outcome
    from ({_PAID} limit $1) paid
) given
"""
_DISPUTES: Final = f"""
insert into dispute (
    id, provider, provider_payment, provider_dispute, donation_id, amount_minor, currency, status, reason, opened_at,
    received_at, checked_at, decided_at, absorbed_minor, evidence_due_at, status_changed_at
)
select uuidv7(created_at - now()), 'bench', payment_id::text, 'dispute-' || id, id, amount_minor, 'USD', outcome,
       'fraudulent', created_at, created_at, now(), case when outcome <> 'open' then now() end,
       case outcome when 'lost' then 0 end, case outcome when 'open' then now() + interval '7 days' end, now()
from (
    select *, case when place <= $2 then 'open' when place % 3 = 0 then 'won' else 'lost' end as outcome
    from ({_PAID} limit $1) paid
) given
"""
_EVIDENCE: Final = """
with drafted as (
    insert into dispute_evidence (id, status, product_description, explanation, status_changed_at)
    select id, 'draft', 'A donation of ' || amount_minor, repeat('The donor confirmed it by email. ', 40), now()
    from dispute where status = 'open' returning id
)
insert into dispute_evidence_file (
    dispute_id, kind, file_name, media_type, size_bytes, sha256, storage_key, uploaded_by, uploaded_at
)
select id, 'receipt', 'receipt.pdf', 'application/pdf', 20000, sha256(id::text::bytea), md5(id::text) || '00', 'bench',
       now()
from drafted
"""
_UNALLOCATED: Final = f"""
insert into unallocated_payment (
    id, provider, provider_payment, payment_id, donation_id, reason, amount_minor, currency, reference, received_at,
    status, status_changed_at, auto_decide_at, decided_at, decided_by, provider_refund
)
select uuidv7(created_at - now()), 'bench', 'again-' || id, payment_id, id, 'paid_twice', amount_minor, 'USD',
       'A donation', created_at, case when place <= $2 then 'held' else 'refunded' end, now(),
       now() + interval '14 days', case when place > $2 then now() end, case when place > $2 then 'rule' end,
       case when place > $2 then 'again-refund-' || id end
from ({_PAID} limit $1) paid
"""
_CLAIMS: Final = """
insert into gift_aid_claim (
    id, organisation_id, cutoff_at, status, donations, lines, amount_minor, deducted_minor, drafted_at, drafted_by,
    reference, paid_minor, decided_by, status_changed_at
)
select uuidv7(- place * interval '1 hour'), of, now(), case place when 1 then 'drafted' else 'paid' end,
       case place when 1 then $2 else 20 end, 1000, 100000, 0, now() - place * interval '1 hour', 'bench',
       case when place > 1 then 'HMRC-' || place end, case when place > 1 then 25000 end,
       case when place > 1 then 'bench' end, now()
from unnest($1::uuid[]) with ordinality given (of, place)
"""
_CLAIMED: Final = """
with declared as (
    insert into gift_aid_declaration (
        id, partner_id, title, first_name, last_name, building_name_number, road_name, city, country, postcode,
        covers_from, created_at
    ) values (uuidv7(), $2, 'Dr', 'Ada', 'Byron', '1', 'High Street', 'London', 'GBR', 'EC1A 1BB', now(), now())
    returning id
)
insert into gift_aid_claim_donation (claim_id, organisation_id, donation_id, declaration_id, line, amount_minor)
select c.id, c.organisation_id, d.id, declared.id, 1 + d.place % 1000, d.amount_minor
from gift_aid_claim c, declared, (
    select id, amount_minor, row_number() over () as place from donation where payment_id is not null limit $1
) d
where c.status = 'drafted'
"""
_HOLDS: Final = """
insert into disbursement_hold (organisation_id, held, note, decided_by, decided_at)
select of, true, 'We ask the nonprofit for its statutes', 'bench', now() - place * interval '1 hour'
from unnest($1::uuid[]) with ordinality given (of, place) where place <= $2
"""
_KEYS: Final = """
insert into api_key (id, partner_id, kind, hash, name, hint, scopes, created_at, revoked_at)
select uuidv7(- n * interval '1 day'), $1, 'secret', sha256(('bench ' || n)::bytea), 'Key ' || n, 'abcd', scopes,
       now() - n * interval '1 day', case when n > 20 then now() end
from (select scopes from api_key where partner_id = $1 limit 1) one, generate_series(1, $2::int) n
"""
_VERIFICATIONS: Final = """
insert into monetary_donation_verification (
    id, partner_id, organisation_id, status, created_at, updated_at, expires_at, processed_at, status_changed_at,
    requested
)
select uuidv7(- place * interval '1 hour'), $1, of, case place % 2 when 0 then 'pending' else 'approved' end,
       now() - place * interval '1 hour', now(), case place % 2 when 0 then now() + interval '60 days' end,
       case place % 2 when 1 then now() end, now(), true
from unnest($2::uuid[]) with ordinality given (of, place)
"""
_CHECKS: Final = """
insert into monetary_donation_check (id, verification_id, type, status, status_changed_at)
select gen_random_uuid(), v.id, type,
       case when v.status = 'pending' and type = 'bank_details' then 'pending' else 'succeeded' end, now()
from monetary_donation_verification v,
    unnest(array['registration', 'compliance', 'bank_details', 'organisation_confirmation']) type
"""
_FINDINGS: Final = """
insert into evidence (id, kind, record_id, partner_id, reasons, facts, steps, recorded_at)
select uuidv7(), 'monetary_donation_verification', v.id, v.partner_id, '{}', '{"expiresAt": null}',
       jsonb_build_array(jsonb_build_object(
           'name', c.type, 'verdict', 'pass', 'code', 'succeeded', 'source', 'bench', 'facts', '{}'::jsonb
       )), now()
from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
where c.status = 'succeeded'
"""
_FLAGS: Final = """
insert into monetary_donation_flag (id, verification_id, finding_id, kind, status, raised_at, status_changed_at)
select uuidv7(v.created_at - now()), v.id, e.id, 'register_renamed', 'open', v.created_at, now()
from (
    select *, row_number() over (order by id) as place from monetary_donation_verification where status = 'approved'
) v join evidence e on e.record_id = v.id and e.steps -> 0 ->> 'name' = 'registration'
where v.place % 2 = 0
"""
_EVALUATIONS: Final = """
insert into evidence (id, kind, record_id, partner_id, occasion, outcome, reasons, facts, steps, recorded_at)
select uuidv7(), 'validation_request', r.id, r.partner_id, 'created', 'review', '{other_number_fits_better}',
       '{"corrections": 0, "agreement": 0.8, "threshold": 0.95}', jsonb_build_array(
           jsonb_build_object('name', 'register', 'verdict', 'pass', 'code', 'listed', 'facts', '{}'::jsonb),
           jsonb_build_object(
               'name', 'namesakes', 'verdict', 'fail', 'code', 'other_number_fits_better',
               'facts', jsonb_build_object('others', 3, 'candidates', others.candidates)
           )
       ), r.created_at
from validation_request r, (
    select jsonb_agg(jsonb_build_array(registry_number, name, city)) as candidates from (
        select registry_number, name, city from organisation where partner_id is null and active order by id limit 8
    ) found
) others
where r.status = 'pending'
"""
_DECIDED: Final = """
with made as (
    insert into review (
        id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, due_at, status, status_changed_at,
        ended_at
    )
    select uuidv7(- place * interval '1 hour'), 'validation_request', id, partner_id, country_code, 'LATIN',
           '{name_disagrees}', created_at, created_at + interval '2 days', 'decided', now(),
           created_at + interval '1 day'
    from (
        select *, row_number() over (order by id desc) as place from validation_request where status = 'accepted'
        order by id desc limit $1
    ) r
    returning id, subject_id, partner_id
), decided as (
    insert into review_decision (id, review_id, kind, subject_id, partner_id, verdict, note, decided_by, decided_at)
    select gen_random_uuid(), id, 'validation_request', subject_id, partner_id, 'accepted', 'Seen in the register',
           'bench', now()
    from made
)
insert into review_second_look (review_id, kind, subject_id, partner_id, first_by, first_verdict, selected_at)
select id, 'validation_request', subject_id, partner_id, 'bench', 'accepted', now() from made limit $2
"""
_WITHOUT_RULES: Final = (
    "payee_bank_account", "payment_file", "refund", "dispute", "dispute_evidence", "dispute_evidence_file",
    "unallocated_payment", "gift_aid_claim", "gift_aid_claim_donation", "disbursement_hold",
    "monetary_donation_verification", "monetary_donation_check", "monetary_donation_flag", "review", "review_decision",
    "review_second_look",
)  # fmt: skip


async def fill_desks(dsn: str, partner: UUID, organisations: list[UUID], say: Callable[[str], None] = print) -> None:
    """Fill what finance officers and reviewers decide. ``dsn``: of the owner of the tables."""
    steps: tuple[FillStep, ...] = (
        ("payee accounts", _PAYEES, (organisations, 1 + REPLACED_ACCOUNTS)),
        ("payment files", _FILES, ()),
        ("the bank's status reports", _REPORTS, ()),
        ("refunds", _REFUNDS, (REFUNDS, PENDING_REFUNDS, FAILED_REFUNDS)),
        ("disputes", _DISPUTES, (DISPUTES, OPEN_DISPUTES)),
        ("evidence", _EVIDENCE, ()),
        ("unallocated payments", _UNALLOCATED, (UNALLOCATED, HELD)),
        ("Gift Aid claims", _CLAIMS, (organisations, CLAIM_DONATIONS)),
        ("claimed donations", _CLAIMED, (CLAIM_DONATIONS, partner)),
        ("holds", _HOLDS, (organisations, HOLDS)),
        ("keys", _KEYS, (partner, KEYS)),
        ("verifications", _VERIFICATIONS, (partner, organisations)),
        ("checks", _CHECKS, ()),
        ("findings", _FINDINGS, ()),
        ("flags", _FLAGS, ()),
        ("evaluations", _EVALUATIONS, ()),
        ("decided reviews", _DECIDED, (DECIDED, LOOKS)),
    )
    await fill_tables(dsn, _WITHOUT_RULES, steps, say)
