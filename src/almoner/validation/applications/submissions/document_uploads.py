"""Documents uploaded by API: to a submission, or to an invite before there is one."""

from almoner.kit.errors import Forbidden, NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.http.caller import KeyKind
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import (
    EvidenceTargets,
    InviteNotFound,
    Kind,
    SubmissionDocument,
    SubmissionNotFound,
)
from almoner.validation.applications.submissions import service
from almoner.validation.applications.submissions.domain import InvalidState


def ensure_key_may_upload(key_kind: KeyKind, invite_id_text: str | None) -> None:
    """Raises Forbidden if a publishable key uploads other than to an invite (settled 2)."""
    if key_kind is KeyKind.PUBLISHABLE and invite_id_text is None:
        raise Forbidden("a publishable key uploads documents of an open validation invite alone")


async def upload_to_invite(
    tx: Tx, partner: Partner, invite_id_text: str, kind: Kind, upload: StoredFile
) -> SubmissionDocument:
    """Upload a document to an open invite. Raises InviteNotFound, InviteExpired, InviteInvalidState."""
    named = tx.ids.decode("validationinvite", invite_id_text)
    invite = None if named is None else await invites.find(tx, partner, named)
    if invite is None:
        raise InviteNotFound(f"body.validationInviteId '{invite_id_text[:100]}' names no validation invite")
    locked = await invites.get_for_update(tx, ALL_PARTNERS, invite.id)
    locked.ensure_open(tx.now)
    return await submission_documents.add_to_invite(tx, locked, kind, upload)


async def upload_to_submission(
    tx: Tx, partner: Partner, submission_id_text: str, kind: Kind, upload: StoredFile
) -> SubmissionDocument:
    """Upload a document to a submission. Raises SubmissionNotFound; InvalidState if it is not needed any more."""
    named = tx.ids.decode("validationsubmission", submission_id_text)
    try:
        found = None if named is None else await service.get_for_update(tx, partner, named)
    except NotFound:
        found = None
    if found is None:
        raise SubmissionNotFound(
            f"body.validationSubmissionId '{submission_id_text[:100]}' names no validation submission"
        )
    if not found.accepts_documents:
        raise InvalidState(f"the validation submission is {found.status}: documents are for open ones, and for appeals")
    return await submission_documents.add_to_submission(
        tx, partner, found.id, EvidenceTargets(found.validation_request_id, found.agent_verification_id), kind, upload
    )
