-- The sandbox's mailbox.

create table sandbox_mail (
    id uuid primary key,
    partner_id uuid references partner (id),
    sender text not null,
    recipient text not null,
    subject text not null,
    text text not null,
    html text not null,
    links text[] not null,
    created_at timestamptz not null
);
create index sandbox_mail_partner on sandbox_mail (partner_id, id);
grant select, insert, delete on sandbox_mail to almoner_app;

-- Attachments of emails in the sandbox mailbox.
create table sandbox_attachment (
    mail_id uuid not null references sandbox_mail (id) on delete cascade,
    name text not null check (length(name) between 1 and 255),
    media_type text not null,
    content bytea not null,
    primary key (mail_id, name)
);
grant select, insert, delete on sandbox_attachment to almoner_app;
