"""Validation invites: their states and their expiry (spec 2.6, 4.6; settled 4 and 5)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.records import statically_frozen_dataclass
from almoner.kit.states import Lifecycle

INVITE: Final = Lifecycle("validation_invite", {"open": frozenset({"complete", "expired"})})  # settled 5
COMPLETED: Final = "validation_invite.completed"
EXPIRED: Final = "validation_invite.expired"
InviteStatus = Literal["open", "complete", "expired"]
LIFETIME: Final = timedelta(days=7)  # settled 4
LANGUAGE: Final = "en-GB"  # settled 4
PAGE: Final = "apply"
"""Purpose of the token in ``url``."""


class InviteExpired(BadRequest):
    code = "validation_invite/validation_invite_expired"
    message = "The validation invite has expired; create a new one"


class InviteNotFound(BadRequest):
    code = "validation_submission/validation_invite_not_found"
    message = "There is no validation invite with this ID"


class InviteInvalidState(BadRequest):
    code = "validation_submission/validation_invite_invalid_state"
    message = "The validation invite has already been used; each invite is for one submission"


class InvalidConfiguration(BadRequest):
    code = "validation_invite/invalid_configuration_id"
    message = "There is no submission configuration with this ID"


@statically_frozen_dataclass
class Invite:
    """One invite. ``stored_status`` may be out of date; ``status_at`` never is."""

    id: UUID
    partner_id: UUID
    configuration_id: UUID | None
    redirect_url: str | None
    language: str
    metadata: Mapping[str, str] | None
    stored_status: InviteStatus
    created_at: datetime
    expires_at: datetime

    def status_at(self, now: datetime) -> InviteStatus:
        """``open``, ``complete`` or ``expired``, at the time ``now``."""
        return "expired" if self.stored_status == "open" and now >= self.expires_at else self.stored_status

    def ensure_open(self, now: datetime) -> None:
        """Raises InviteExpired or InviteInvalidState unless a submission may be created from it."""
        status = self.status_at(now)
        if status == "expired":
            raise InviteExpired
        if status == "complete":
            raise InviteInvalidState
