-- The search over a partner's records.

-- What a record is found by. personal: who may not see donors does not find it by that.
create view searchable_record as
select 'donation' as record_type, d.id, d.partner_id,
       array[d.first_name, d.last_name, d.email] as personal,
       array(select value from jsonb_each_text(d.metadata)) || array(
           select concat_ws('-', nullif(prefix, ''), lpad(number::text, greatest(6, length(number::text)), '0'))
           from receipt where donation_id = d.id
       ) as texts
from donation d
union all
select 'donationsubscription', id, partner_id, array[first_name, last_name, email],
       array(select value from jsonb_each_text(metadata))
from donation_subscription
union all
select 'givinglink', id, partner_id, '{}', array[title, slug] || array(select value from jsonb_each_text(metadata))
from giving_link
union all
select 'donationsession', id, partner_id, '{}'::text[], array(select value from jsonb_each_text(metadata))
from donation_session where metadata is not null
union all
select 'donationrequest', id, partner_id, '{}', array[reference] from donation_request
union all
select 'disbursement', id, partner_id, '{}', array[end_to_end_id] from disbursement
union all
select 'validationsubmission', s.id, s.partner_id, '{}',
       array[s.organisation_name, coalesce(a.first_name, s.first_name), coalesce(a.last_name, s.last_name),
             coalesce(a.email, s.email), r.registry_number]
       || array(select value from jsonb_each_text(s.metadata))
from validation_submission s
left join agent_verification a on a.id = s.agent_verification_id
left join validation_request r on r.id = s.validation_request_id
union all
select 'validationrequest', id, partner_id, '{}', array[name, registry_number, email]
from validation_request where deleted_at is null
union all
select 'validationinvite', id, partner_id, '{}', array(select value from jsonb_each_text(metadata))
from validation_invite where metadata is not null
union all
select 'agentverification', id, partner_id, '{}',
       array[first_name, last_name, email] || array(select value from jsonb_each_text(metadata))
from agent_verification
union all
select 'monitoringsubscription', id, partner_id, '{}', array[search_name] from monitoring_subscription
union all
select 'eligibilitysubscription', id, partner_id, '{}',
       array[search_name] || array(select value from jsonb_each_text(metadata))
from eligibility_subscription;
grant select on searchable_record to almoner_app;

-- The terms by which a record is found: words and their beginnings, each as the keyed hash of a partner, a type of
-- record and whether it is personal. A record without any has no row.
create table search_record (
    partner_id uuid not null,
    record_type text not null,
    record_id uuid not null,
    terms bigint[] not null check (cardinality(terms) > 0),
    primary key (partner_id, record_type, record_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
create index search_record_terms on search_record using gin (terms) with (gin_pending_list_limit = 512);
grant select, insert, update, delete on search_record to almoner_app;

-- Records whose texts have changed, until a worker has read them.
create table search_change (
    id bigint generated always as identity primary key,
    partner_id uuid not null,
    record_type text not null,
    record_id uuid not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
grant select, insert, delete on search_change to almoner_app;

create function note_search_inserts() returns trigger language plpgsql as $$
begin
    insert into search_change (partner_id, record_type, record_id) select partner_id, tg_argv[0], id from made;
    return null;
end $$;
create function note_search_update() returns trigger language plpgsql as $$
begin
    insert into search_change (partner_id, record_type, record_id) values (new.partner_id, tg_argv[0], new.id);
    return null;
end $$;
-- A receipt is found as its donation.
create function note_search_receipt() returns trigger language plpgsql as $$
begin
    insert into search_change (partner_id, record_type, record_id) values (new.partner_id, 'donation', new.donation_id);
    return null;
end $$;
-- A submission is found by its applicant.
create function note_search_applicant() returns trigger language plpgsql as $$
begin
    insert into search_change (partner_id, record_type, record_id)
    select new.partner_id, 'agentverification', new.id
    union all
    select partner_id, 'validationsubmission', id from validation_submission where agent_verification_id = new.id;
    return null;
end $$;

create trigger donation_search_inserts after insert on donation referencing new table as made
    for each statement execute function note_search_inserts('donation');
create trigger donation_search_update after update on donation for each row
    when ((old.first_name, old.last_name, old.email, old.metadata) is distinct from
          (new.first_name, new.last_name, new.email, new.metadata))
    execute function note_search_update('donation');
create trigger receipt_search_insert after insert on receipt for each row execute function note_search_receipt();
create trigger donation_subscription_search_insert after insert on donation_subscription for each row
    execute function note_search_update('donationsubscription');
create trigger donation_subscription_search_update after update on donation_subscription for each row
    when ((old.first_name, old.last_name, old.email, old.metadata) is distinct from
          (new.first_name, new.last_name, new.email, new.metadata))
    execute function note_search_update('donationsubscription');
create trigger giving_link_search_insert after insert on giving_link for each row
    execute function note_search_update('givinglink');
create trigger giving_link_search_update after update on giving_link for each row
    when ((old.title, old.metadata) is distinct from (new.title, new.metadata))
    execute function note_search_update('givinglink');
create trigger donation_session_search_insert after insert on donation_session for each row
    when (new.metadata <> '{}') execute function note_search_update('donationsession');
create trigger donation_session_search_update after update on donation_session for each row
    when (old.metadata is distinct from new.metadata) execute function note_search_update('donationsession');
create trigger donation_request_search_insert after insert on donation_request for each row
    execute function note_search_update('donationrequest');
create trigger disbursement_search_insert after insert on disbursement for each row
    execute function note_search_update('disbursement');
create trigger validation_submission_search_insert after insert on validation_submission for each row
    execute function note_search_update('validationsubmission');
create trigger validation_submission_search_update after update on validation_submission for each row
    when ((old.organisation_name, old.first_name, old.last_name, old.email, old.metadata, old.validation_request_id,
           old.agent_verification_id) is distinct from
          (new.organisation_name, new.first_name, new.last_name, new.email, new.metadata, new.validation_request_id,
           new.agent_verification_id))
    execute function note_search_update('validationsubmission');
create trigger validation_request_search_insert after insert on validation_request for each row
    execute function note_search_update('validationrequest');
create trigger validation_request_search_update after update on validation_request for each row
    when ((old.name, old.registry_number, old.email, old.deleted_at) is distinct from
          (new.name, new.registry_number, new.email, new.deleted_at))
    execute function note_search_update('validationrequest');
create trigger validation_invite_search_insert after insert on validation_invite for each row
    when (new.metadata <> '{}') execute function note_search_update('validationinvite');
create trigger validation_invite_search_update after update on validation_invite for each row
    when (old.metadata is distinct from new.metadata) execute function note_search_update('validationinvite');
create trigger agent_verification_search_insert after insert on agent_verification for each row
    execute function note_search_update('agentverification');
create trigger agent_verification_search_update after update on agent_verification for each row
    when ((old.first_name, old.last_name, old.email, old.metadata) is distinct from
          (new.first_name, new.last_name, new.email, new.metadata))
    execute function note_search_applicant();
create trigger monitoring_subscription_search_insert after insert on monitoring_subscription for each row
    execute function note_search_update('monitoringsubscription');
create trigger monitoring_subscription_search_update after update on monitoring_subscription for each row
    when (old.search_name is distinct from new.search_name)
    execute function note_search_update('monitoringsubscription');
create trigger eligibility_subscription_search_insert after insert on eligibility_subscription for each row
    execute function note_search_update('eligibilitysubscription');
create trigger eligibility_subscription_search_update after update on eligibility_subscription for each row
    when ((old.search_name, old.metadata) is distinct from (new.search_name, new.metadata))
    execute function note_search_update('eligibilitysubscription');

-- A person's own view of a list of the dashboard, by name. query: the filters, as the list's address has them.
create table saved_view (
    id uuid primary key,
    partner_id uuid not null,
    person_id uuid not null,
    list text not null check (list ~ '^/[a-z-]{1,50}$'),
    name text not null check (length(name) between 1 and 80),
    query text not null check (length(query) between 1 and 4000),
    created_at timestamptz not null,
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
create unique index saved_view_name on saved_view (partner_id, person_id, list, lower(name));
grant select, insert, update (name), delete on saved_view to almoner_app;

-- A list of the dashboard as a CSV file that a job prepares for one person. list, query: as of a saved view, with the
-- order. shows_donors: whether it says who donors are. storage_key: where the file lies in the document storage.
create table csv_export (
    id uuid primary key,
    partner_id uuid not null,
    person_id uuid not null,
    list text not null check (list ~ '^/[a-z-]{1,50}$'),
    query text not null check (length(query) <= 4000),
    shows_donors boolean not null,
    status text not null check (status in ('pending', 'ready', 'failed')),
    storage_key text unique check (storage_key ~ '^[0-9a-z]{34}$'),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    constraint csv_export_file check ((status = 'ready') = (storage_key is not null)),
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
create index csv_export_of_person on csv_export (partner_id, person_id, id);
create index csv_export_expiry on csv_export (expires_at);
grant select, insert, update (status, storage_key, expires_at), delete on csv_export to almoner_app;
