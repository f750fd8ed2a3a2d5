"""Rows as servers of revision 0061 write them, into a database of that revision or of a later one."""

import asyncpg

NAMED = """
create function pg_temp.i(k integer) returns uuid language sql as $$
    select ('00000000-0000-7000-8000-' || current_setting('rows.of') || lpad(k::text, 8, '0'))::uuid
$$;
create function pg_temp.at(days integer default 0) returns timestamptz language sql as $$
    select '2026-03-01T10:00:00Z'::timestamptz + days * interval '1 day'
$$;
"""
ROWS = """
insert into partner (id, name, created_at) values (pg_temp.i(1), 'Old Partner', pg_temp.at());
insert into organisation (id, registry_id, registry_number, number_key, name, country_code, types, active, search_name,
                          created_at, updated_at)
select pg_temp.i(k), (select id from registry where country_code = 'GBR' order by code limit 1),
       current_setting('rows.of') || k, current_setting('rows.of') || k, 'Old Choir ' || k, 'GBR', '{nonprofit}', true,
       'old choir ' || k, pg_temp.at(), pg_temp.at()
from unnest(array[2, 3]) k;

-- Submissions: one that waits, one that failed, one that an appeal has taken back since.
insert into hosted_configuration (id, partner_id, display_name, is_default, checks, allowed_organisation_types,
                                  compliance_flags, email_verification, created_at, updated_at)
values (pg_temp.i(10), pg_temp.i(1), 'Old Partner', true, '{compliance,agent_verification}', '{nonprofit}', '{}', true,
        pg_temp.at(), pg_temp.at());
insert into validation_request (id, partner_id, status, name, registry_id, registry_name, registry_number, number_key,
                                website, country_code, search_name, created_at, status_changed_at)
select pg_temp.i(11), pg_temp.i(1), 'pending', 'Old Choir', registry_id, 'Old Register', '1', '1',
       'https://choir.example', 'GBR', 'old choir', pg_temp.at(), pg_temp.at()
from organisation where id = pg_temp.i(2);
insert into validation_request_evaluation (id, validation_request_id, occasion, outcome, reasons, threshold,
                                           evaluated_at)
values (pg_temp.i(12), pg_temp.i(11), 'created', 'review', '{unknown_number}', 0.9, pg_temp.at());
insert into monitoring_subscription (id, partner_id, validation_request_id, status, search_name, created_at,
                                     status_changed_at)
select pg_temp.i(k), pg_temp.i(1), pg_temp.i(11), 'pending_validation_request', 'old choir', pg_temp.at(), pg_temp.at()
from generate_series(21, 23) k;
insert into agent_verification (id, partner_id, validation_request_id, first_name, last_name, email, language,
                                email_check, status, created_at, expires_at, status_changed_at)
select pg_temp.i(k), pg_temp.i(1), pg_temp.i(11), 'Ada', 'Byron', 'ada' || k || '@choir.example', 'en', true, 'pending',
       pg_temp.at(), pg_temp.at(7), pg_temp.at()
from generate_series(24, 26) k;
insert into validation_submission (id, partner_id, configuration_id, status, checks, validation_request_id,
                                   monitoring_subscription_id, agent_verification_id, organisation_name, country_code,
                                   search_name, language, failure_reasons, created_at, processed_at, status_changed_at)
select pg_temp.i(k), pg_temp.i(1), pg_temp.i(10), status, '{compliance,agent_verification}', pg_temp.i(11),
       pg_temp.i(k + 6), pg_temp.i(k + 9), 'Old Choir', 'GBR', 'old choir', 'en',
       case status when 'failed' then '{"compliance": {}}'::jsonb end, pg_temp.at(),
       case status when 'failed' then pg_temp.at(1) end, pg_temp.at()
from (values (15, 'pending'), (16, 'failed'), (17, 'failed')) given (k, status);
insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, overruled, status,
                    created_at, due_at, decided_at, decided_by, status_changed_at)
values (pg_temp.i(18), pg_temp.i(1), pg_temp.i(17), 'Another choir', 'partner', '{system}', '{compliance}', 'reversed',
        pg_temp.at(2), pg_temp.at(9), pg_temp.at(3), 'operator_1', pg_temp.at(3));
update validation_submission set status = 'processed', failure_reasons = null where id = pg_temp.i(17);
insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status, status_changed_at,
                      created_at)
values (pg_temp.i(19), pg_temp.i(1), 'image/png', 10, decode(repeat('ab', 32), 'hex'),
        lpad(current_setting('rows.of'), 26, '0'), '{}', 'clean', pg_temp.at(), pg_temp.at());
insert into validation_invite (id, partner_id, language, status, created_at, expires_at, status_changed_at)
values (pg_temp.i(20), pg_temp.i(1), 'en', 'open', pg_temp.at(), pg_temp.at(7), pg_temp.at());
insert into application_draft (invite_id, partner_id, answers, created_at, updated_at, expires_at)
values (pg_temp.i(20), pg_temp.i(1), jsonb_build_object('name', repeat('x', 150000)), pg_temp.at(), pg_temp.at(),
        pg_temp.at(7));

-- Gifts: two with a declaration, of which one is passed on.
insert into gift_aid_declaration (id, partner_id, title, last_name, building_name_number, road_name, city, country,
                                  postcode, covers_from, created_at)
values (pg_temp.i(30), pg_temp.i(1), 'Ms', 'Byron', '1', 'Hill Road', 'London', 'GBR', 'N1 1AA', pg_temp.at(-1),
        pg_temp.at(-1));
insert into donation_session (id, partner_id, organisation_id, status, created_at, expires_at, status_changed_at)
select pg_temp.i(k), pg_temp.i(1), pg_temp.i(2), 'open', pg_temp.at(), pg_temp.at(1), pg_temp.at()
from unnest(array[31, 32]) k;
insert into donation (id, partner_id, organisation_id, type, session_id, status, amount_minor, currency, first_name,
                      last_name, email, consented, anonymous, metadata, created_at, status_changed_at, gift_aid_id)
select pg_temp.i(k + 2), pg_temp.i(1), pg_temp.i(2), 'hosted', pg_temp.i(k), 'REQUESTED_PAYMENT', 1000, 'GBP', 'Ada',
       'Byron', 'ada@choir.example', true, false, '{}', pg_temp.at(), pg_temp.at(), pg_temp.i(30)
from unnest(array[31, 32]) k;
insert into payment (id, donation_id, provider, provider_payment, status, amount_minor, currency, description, language,
                     pages_url, api_url, tries, created_at, status_changed_at)
select pg_temp.i(k + 2), pg_temp.i(k), 'sandbox', pg_temp.i(k)::text, 'succeeded', 1000, 'GBP', 'A gift', 'en',
       'https://pay.example', 'https://pay.example', 1, pg_temp.at(), pg_temp.at()
from unnest(array[33, 34]) k;
update donation set status = 'RECEIVED_PAYMENT', payment_id = pg_temp.i(36), status_changed_at = pg_temp.at()
where id = pg_temp.i(34);
update donation set reassigned_from = organisation_id, organisation_id = pg_temp.i(3), reassigned_at = pg_temp.at(1)
where id = pg_temp.i(34);

-- A statement with a line that waits and one that a person took off the list; a verification; a partner's events.
insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256, lines, imported_by,
                            imported_at)
values (pg_temp.i(40), 'GB00OLD', current_setting('rows.of'), 'GBP', 0, 300, repeat('ab', 32), 2, 'somebody',
        pg_temp.at());
insert into bank_line (id, statement_id, position, account, booked_on, amount_minor, currency, bank_reference, status,
                       reason, decided_by, note, created_at, status_changed_at)
values (pg_temp.i(41), pg_temp.i(40), 1, 'GB00OLD', '2026-02-27', 100, 'GBP', 'r1', 'open', 'unknown', null, null,
        pg_temp.at(), pg_temp.at()),
       (pg_temp.i(42), pg_temp.i(40), 2, 'GB00OLD', '2026-02-27', 200, 'GBP', 'r1', 'dismissed', null, 'somebody',
        'interest', pg_temp.at(), pg_temp.at());
insert into monetary_donation_verification (id, partner_id, organisation_id, status, created_at, updated_at, expires_at,
                                            status_changed_at)
values (pg_temp.i(50), pg_temp.i(1), pg_temp.i(2), 'pending', pg_temp.at(), pg_temp.at(), pg_temp.at(30), pg_temp.at());
insert into event_counter (partner_id, last_sequence) values (pg_temp.i(1), 7);
"""


async def write(connection: "asyncpg.Connection[asyncpg.Record]", number: int) -> str:
    """All of them once; ``number`` is theirs. The first of their identifiers but for its last two digits."""
    await connection.execute("select set_config('rows.of', $1, false)", f"{number:04d}")
    if not await connection.fetchval("select to_regprocedure('pg_temp.i(integer)') is not null"):
        await connection.execute(NAMED)
    async with connection.transaction():
        await connection.execute(ROWS)
    return f"00000000-0000-7000-8000-{number:04d}000000"
