-- Validation requests: whether a nonprofit is what is said of it.

create table validation_request (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    status text not null check (status in ('pending', 'accepted', 'rejected')),
    name text not null check (length(name) between 1 and 500),
    registry_id uuid not null references registry (id),
    registry_name text not null check (length(registry_name) between 1 and 255),
    registry_number text not null check (length(registry_number) between 1 and 100),
    number_key text collate "C" not null check (number_key <> ''),
    website text not null check (length(website) between 1 and 255),
    country_code char(3) not null check (country_code ~ '^[A-Z]{3}$'),
    email text check (length(email) between 1 and 255),
    address_line_1 text check (length(address_line_1) between 1 and 255),
    address_line_2 text check (length(address_line_2) between 1 and 255),
    city text check (length(city) between 1 and 255),
    state text check (length(state) between 1 and 255),
    postal text check (length(postal) between 1 and 255),
    usa_group_exempt boolean,
    organisation_id uuid references organisation (id),
    organisation_types text[] not null default '{}'
        check (organisation_types <@ '{nonprofit,social_impact,education}'),
    rejection_reason text check (length(rejection_reason) between 1 and 2000),
    rejection_reason_code text check (rejection_reason_code in
        ('other', 'not_eligible', 'incorrect_documentation', 'not_attributable_to_registry')),
    search_name text collate "C" not null,
    created_at timestamptz not null,
    deleted_at timestamptz,
    accepted_at timestamptz,
    rejected_at timestamptz,
    status_changed_at timestamptz not null,
    corrections smallint not null default 0,
    corrected_at timestamptz,
    unique (partner_id, id),
    constraint validation_request_accepted
        check ((status = 'accepted') = (accepted_at is not null) and (accepted_at is null) = (organisation_id is null)),
    constraint validation_request_rejected check (
        (status = 'rejected') = (rejected_at is not null)
        and (rejected_at is null) = (rejection_reason_code is null)
        and (rejected_at is null) = (rejection_reason is null)
    ),
    constraint validation_request_corrections check (corrections between 0 and 5),
    constraint validation_request_corrected check ((corrections = 0) = (corrected_at is null))
);
create index validation_request_status on validation_request (partner_id, status, id);
create index validation_request_created on validation_request (partner_id, created_at);
create index validation_request_name on validation_request (partner_id, search_name, id);
create index validation_request_words on validation_request
    using gin ((search_name || ' ' || lower(number_key)) gin_trgm_ops);
create index validation_request_pending on validation_request (registry_id, id) where status = 'pending';
create index validation_request_organisation on validation_request (organisation_id) where organisation_id is not null;
-- What was asked about a number before, by whomever.
create index validation_request_of_number on validation_request (registry_id, number_key, id);
-- A number that was accepted before is not checked again.
create index validation_request_number on validation_request (partner_id, registry_id, number_key)
    where status = 'accepted';
comment on column validation_request.registry_name is 'as the partner wrote it: the id, code or name of the registry';
comment on column validation_request.registry_number is 'as the partner wrote it';
comment on column validation_request.number_key is 'the number without differences of spelling';
comment on column validation_request.search_name is 'words of the name: ASCII, lower case, separated by single spaces';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('validation_request', 'pending', 'accepted'),
    ('validation_request', 'pending', 'rejected'),
    ('validation_request', 'rejected', 'accepted');
create trigger validation_request_status
    before update of status on validation_request for each row
    when (old.status is distinct from new.status) execute function guard_status('validation_request');

-- Only an appeal reverses a rejection.
create function guard_reversal() returns trigger language plpgsql as $$
begin
    if not exists (
        select from appeal a join validation_submission s on s.id = a.validation_submission_id
        where a.status = 'reversed' and new.id in (s.validation_request_id, s.agent_verification_id, s.id)
    ) then
        raise exception '% % was refused, and no appeal has reversed that', tg_table_name, new.id
            using errcode = 'check_violation', constraint = 'reversed_by_an_appeal';
    end if;
    return new;
end $$;
create trigger validation_request_reversal before update of status on validation_request for each row
    when (old.status = 'rejected' and new.status <> 'rejected') execute function guard_reversal();

-- Register and number may be corrected while the request is undecided, and the previous ones are kept; everything else
-- that was requested is immutable.
create function guard_number() returns trigger language plpgsql as $$
begin
    if old.status <> 'pending' or new.status <> 'pending' or new.corrections <> old.corrections + 1
        or not exists (
            select from validation_request_correction c
            where c.validation_request_id = old.id and c.position = new.corrections
                and (c.registry_id, c.registry_name, c.registry_number, c.number_key)
                    = (old.registry_id, old.registry_name, old.registry_number, old.number_key)
        )
    then
        raise exception 'register and number of % are corrected while nobody has decided, and kept', old.id
            using errcode = 'check_violation', constraint = 'validation_request_corrected_and_kept';
    end if;
    return new;
end $$;
create trigger validation_request_corrected_and_kept before update on validation_request for each row
    when ((old.registry_id, old.registry_name, old.registry_number, old.number_key, old.corrections, old.corrected_at)
        is distinct from
        (new.registry_id, new.registry_name, new.registry_number, new.number_key, new.corrections, new.corrected_at))
    execute function guard_number();
-- The request itself never changes; nor does a decision, except for a rejection that an appeal reverses.
create trigger validation_request_immutable before update on validation_request for each row
    when (old.status <> 'pending' and not (old.status = 'rejected' and new.status = 'accepted')
              and (old.organisation_id, old.organisation_types, old.accepted_at, old.rejected_at,
                   old.rejection_reason_code)
                  is distinct from
                  (new.organisation_id, new.organisation_types, new.accepted_at, new.rejected_at,
                   new.rejection_reason_code)
          or (old.id, old.partner_id, old.name, old.website, old.country_code, old.created_at)
              is distinct from
             (new.id, new.partner_id, new.name, new.website, new.country_code, new.created_at))
    execute function guard_immutable();
alter table evidence add foreign key (partner_id, validation_request_id) references validation_request (partner_id, id);
grant select, insert, update on validation_request to almoner_app;

-- Registration details before each correction; append-only.
create table validation_request_correction (
    id uuid primary key,
    validation_request_id uuid not null references validation_request (id),
    position smallint not null check (position between 1 and 5),
    registry_id uuid not null references registry (id),
    registry_name text not null check (length(registry_name) between 1 and 255),
    registry_number text not null check (length(registry_number) between 1 and 100),
    number_key text collate "C" not null check (number_key <> ''),
    corrected_at timestamptz not null,
    constraint validation_request_correction_once unique (validation_request_id, position)
);
grant select, insert on validation_request_correction to almoner_app;

-- Documents submitted as evidence.
create table validation_request_document (
    document_id uuid primary key,
    validation_request_id uuid not null,
    partner_id uuid not null,
    foreign key (partner_id, document_id) references document (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id)
);
create index validation_request_document_of on validation_request_document (validation_request_id, document_id);
grant select, insert on validation_request_document to almoner_app;
