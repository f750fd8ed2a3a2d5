"""Appeals on the wire (settled 4 and 8)."""

from typing import Annotated

import msgspec
from pydantic import Field

from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import RequestBody, ResponseRecord
from almoner.validation.applications.submissions.domain import AppealStatus
from almoner.validation.decisions.appeals.domain import MAX_TEXT, Appeal


class AppealBody(RequestBody):
    """A new appeal."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="Why the decision is wrong, for the reviewer.",
            examples=["The register lists us under our former name, see the certificate."],
        ),
    ]


class AppealResponse(ResponseRecord, object_name="appeal"):
    """An appeal as partners see it."""

    id: str
    validation_submission_id: str
    status: AppealStatus
    text: Annotated[
        str | None,
        msgspec.Meta(
            description="The applicant's reasons; null from 30 days after the decision on, when they are deleted."
        ),
    ]
    due_at: Annotated[
        str, msgspec.Meta(description="The date by which it is decided: ten business days after it was made.")
    ]
    created_at: str
    decided_at: str | None


def appeal_response(tx: Tx, appeal: Appeal) -> AppealResponse:
    """The response for one appeal."""
    return AppealResponse(
        id=tx.ids.encode("appeal", appeal.id),
        validation_submission_id=tx.ids.encode("validationsubmission", appeal.submission_id),
        status=appeal.status,
        text=appeal.text,
        due_at=iso_timestamp(appeal.due_at),
        created_at=iso_timestamp(appeal.created_at),
        decided_at=iso_timestamp_or_none(appeal.decided_at),
    )
