"""Users: opaque records without personal data; they link donations to a person in the partner's product (settled 4)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from almoner.kit.errors import BadRequest


class OrganisationNotFound(BadRequest):
    code = "user/organisation_not_found"
    message = "There is no organisation with this ID"


@dataclass(frozen=True, slots=True)
class User:
    """One user of the partner's product. ``organisation_id``: default organisation of the user's donations."""

    id: UUID
    organisation_id: UUID | None
    created_at: datetime
    deleted_at: datetime | None
