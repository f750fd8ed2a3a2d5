"""Who reviews an agent finds what was handed in, and submissions that have ended are found by their organisation.

Revision ID: 0097
Revises: 0096
"""

from alembic import op

revision = "0097"
down_revision = "0096"

UPGRADE = """
create table agent_verification_document (
    agent_verification_id uuid not null,
    document_id uuid not null,
    partner_id uuid not null,
    primary key (agent_verification_id, document_id),
    foreign key (partner_id, document_id) references document (partner_id, id),
    foreign key (partner_id, agent_verification_id) references agent_verification (partner_id, id)
);
grant select, insert on agent_verification_document to almoner_app;
insert into agent_verification_document (agent_verification_id, document_id, partner_id)
select s.agent_verification_id, d.document_id, d.partner_id
from validation_submission_document d join validation_submission s on s.id = d.validation_submission_id
where d.type = 'agent_verification' and s.agent_verification_id is not null;

-- A submission that had ended has the organisation that its request was accepted as later, by another one's appeal.
update validation_submission s set organisation_id = r.organisation_id from validation_request r
where r.id = s.validation_request_id and s.organisation_id is null and r.organisation_id is not null;
"""


def upgrade() -> None:
    """One table more."""
    op.execute(UPGRADE)
