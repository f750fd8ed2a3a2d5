"""Pages about the evidence for a dispute: edit its texts and files, and submit it to the payment provider."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import PureWindowsPath
from typing import BinaryIO, Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import LONG_FORM_LIMITS
from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.console.actions import ActionField, ActionLink, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ListRow
from almoner.console.money_records import ActingOperator, RecordTable, label_timestamp
from almoner.console.rejected_files import rejected_file_text
from almoner.giving.accounting.dispute_evidence import service as evidence_service
from almoner.giving.accounting.dispute_evidence.domain import EVIDENCE_KINDS, MAX_TEXT, Evidence
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import Dispute, DisputeError
from almoner.giving.checkout.payments.domain import DisputeEvidenceKind
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.files import images
from almoner.platform.files.storage import BlobMissing
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.files.uploads.problems import FileTooLarge, FiletypeNotSupported
from almoner.platform.http.uploads import UploadDeclaration, UploadedFile
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.record_tables import Column, LabelledValue
from almoner.validation.applications.documents.ports import MalwareScannerUnavailable

_TYPE: Final = "dispute"
_PATH: Final = "/disputes"
_HERE: Final = f"{_PATH}/{{id}}/evidence"
_FILE: Final = UploadDeclaration("file", 25 * 1024 * 1024, (*images.MEDIA_TYPES, "application/pdf"), stores_file=True)
_WRONG_TYPE: Final = "The file cannot be read. Use a PDF, JPEG, PNG or HEIC."
_LONGEST_NAME: Final = 255
_PART_BYTES: Final = 65536
_KIND_WORDS: Final[Mapping[DisputeEvidenceKind, str]] = {
    "receipt": "Receipt sent to the donor",
    "customer_communication": "Communication with the donor",
    "service_documentation": "Proof that the nonprofit received the donation",
    "refund_policy": "Refund policy",
    "other": "Another document",
}
_DONE: Final = {
    "clear": "The evidence texts have been deleted.",
    "edit": "The evidence texts have been saved.",
    "upload": "The file has been added to the evidence.",
    "remove": "The file has been removed from the evidence.",
    "submit": "A background worker is submitting the evidence to the payment provider.",
}
_STATUS_WORDS: Final = {
    "draft": "Draft: not submitted yet",
    "submitting": "Being submitted",
    "submitted": "Accepted by the provider",
    "rejected": "Rejected: see the reason",
}


def evidence_success_message(visitor: SignedInRequest) -> str:
    """The message about the last action on the evidence."""
    return _DONE.get(visitor.query.get("evidence", ""), "")


def list_evidence_actions(tx: Tx, dispute: Dispute, evidence: Evidence) -> list[ActionLink]:
    """The actions on the evidence that are available now.

    Evidence that was never submitted can still be removed after the deadline.
    """
    here = f"{_PATH}/{tx.ids.encode(_TYPE, dispute.id)}/evidence"
    is_open, is_kept = (
        not evidence_service.edit_blocked_reason(tx, dispute, evidence),
        bool(evidence_service.removal_blocked_reason(evidence)),
    )
    offered = (
        (is_open, "edit", "Edit evidence", "e"),
        (is_open, "upload", "Upload evidence", "u"),
        (bool(evidence.files) and not is_kept, "remove", "Remove file", ""),
        (evidence.has_texts and not is_kept, "clear", "Clear texts", ""),
        (is_open and not evidence.is_empty, "submit", "Submit evidence", "s"),
    )
    return [ActionLink(f"{here}/{name}", label, key) for offers, name, label, key in offered if offers]


def build_evidence_facts(dispute: Dispute, evidence: Evidence) -> list[LabelledValue]:
    """The deadline, the status and the texts of the evidence."""
    facts = [label_timestamp("Evidence due", dispute.evidence_due_at)]
    if evidence.is_empty:
        return facts
    return [
        *facts,
        LabelledValue("Evidence", _STATUS_WORDS[evidence.status]),
        LabelledValue("Reason given", evidence.reason),
        LabelledValue("What the donor paid for", evidence.product_description),
        LabelledValue("Explanation", evidence.explanation),
    ]


def build_evidence_table(tx: Tx, evidence: Evidence, operator_names: Mapping[str, str]) -> RecordTable:
    """A table of the files of the evidence. ``operator_names``: the display names of operators, by ID."""
    dispute = tx.ids.encode(_TYPE, evidence.id)
    columns = (Column("File"), Column("Kind"), Column("Size"), Column("Uploaded by"), Column("Uploaded", "moment"))
    rows = [
        ListRow(
            _file_path(dispute, one.kind),
            (
                one.file_name,
                _KIND_WORDS[one.kind],
                f"{one.size_bytes:,} bytes",
                operator_names.get(one.uploaded_by, one.uploaded_by),
                one.uploaded_at,
            ),
        )
        for one in evidence.files
    ]
    return RecordTable("Evidence files", columns, rows, "No files yet.")


def _file_path(dispute: str, kind: DisputeEvidenceKind) -> str:
    return f"{_PATH}/{dispute}/evidence/files/{kind}"


def _version(evidence: Evidence) -> ActionField:
    """A hidden form field with the version of the evidence on the page.

    The action fails if the evidence has changed since.
    """
    return ActionField("version", "", "hidden", value=evidence.version)


class DisputeEvidencePages:
    """Pages that edit and submit the evidence for a dispute."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        actions = (
            ConsoleAction(
                f"{_HERE}/clear",
                FINANCE,
                self._describe_clear,
                self._clear,
                (DisputeError,),
                requires_reauthentication=True,
            ),
            ConsoleAction(
                f"{_HERE}/edit",
                FINANCE,
                self._describe_edit,
                self._edit,
                (DisputeError,),
                requires_reauthentication=True,
                limits=LONG_FORM_LIMITS,
            ),
            ConsoleAction(
                f"{_HERE}/remove",
                FINANCE,
                self._describe_remove,
                self._remove,
                (DisputeError,),
                requires_reauthentication=True,
            ),
            ConsoleAction(
                f"{_HERE}/submit",
                FINANCE,
                self._describe_submit,
                self._submit,
                (DisputeError,),
                requires_reauthentication=True,
            ),
        )
        upload = self._context.route(
            f"{_HERE}/upload", self.upload, *sorted(FINANCE), requires_reauthentication=True, upload=_FILE
        )
        download = self._context.route(f"{_HERE}/files/{{kind}}", self.download, *sorted(FINANCE), methods=["GET"])
        return [*ActionPages(self._context).routes(*actions), upload, download]

    async def _find(self, tx: Tx, visitor: SignedInRequest) -> tuple[Dispute, Evidence]:
        """The dispute in the URL and its evidence. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{_PATH}/").split("/")[0]
        try:
            dispute = await disputes.get(tx, self._context.parse_id(_TYPE, name))
        except DisputeError:
            raise NotFound from None
        return dispute, await evidence_service.get(tx, dispute.id)

    def _back(self, dispute_id: UUID, done: str = "") -> str:
        return f"{_PATH}/{self._context.format_id(_TYPE, dispute_id)}" + (f"?evidence={done}" if done else "")

    async def _record(self, tx: Tx, visitor: SignedInRequest, dispute: Dispute, action: str, **details: str) -> str:
        """Record the action in the audit log; returns the operator's ID."""
        officer = ActingOperator(self._context, visitor)
        await officer.record_audit_entry(tx, DEPLOYMENT, action, tx.ids.encode(_TYPE, dispute.id), **details)
        return officer.id

    async def _page(
        self,
        tx: Tx,
        visitor: SignedInRequest,
        button: str,
        sentences: Sequence[str],
        fields: Sequence[ActionField],
        *,
        shows_all: bool = False,
        removes: bool = False,
    ) -> ActionPage:
        dispute, evidence = await self._find(tx, visitor)
        facts = (
            build_evidence_facts(dispute, evidence)
            if shows_all
            else [label_timestamp("Evidence due", dispute.evidence_due_at)]
        )
        if shows_all:
            home, name = visitor.portal.home, tx.ids.encode(_TYPE, dispute.id)
            facts += [
                LabelledValue(_KIND_WORDS[one.kind], one.file_name, href=home + _file_path(name, one.kind))
                for one in evidence.files
            ]
        closed = (
            evidence_service.removal_blocked_reason(evidence)
            if removes
            else evidence_service.edit_blocked_reason(tx, dispute, evidence)
        )
        return ActionPage(
            button, button, self._back(dispute.id), "Dispute", sentences, fields, facts, closed=closed or ""
        )

    async def _describe_edit(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        _, evidence = await self._find(tx, visitor)
        fields = (
            _version(evidence),
            ActionField(
                "product_description",
                "What the donor paid for",
                "area",
                required=False,
                value=evidence.product_description or "",
                maxlength=MAX_TEXT,
            ),
            ActionField(
                "explanation",
                "Why the payment is genuine",
                "area",
                required=False,
                value=evidence.explanation or "",
                maxlength=MAX_TEXT,
            ),
        )
        about = (
            (
                "The donor's bank will read these texts. Nothing is sent to the payment provider until you submit the "
                "evidence."
            ),
        )
        return await self._page(tx, visitor, "Edit evidence", about, fields)

    async def _edit(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        dispute, _ = await self._find(tx, visitor)
        await evidence_service.update_texts(
            tx,
            dispute.id,
            entered_values["version"],
            entered_values["product_description"],
            entered_values["explanation"],
        )
        await self._record(tx, visitor, dispute, "dispute.evidence_changed")
        return self._back(dispute.id, "edit")

    async def _describe_clear(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        _, evidence = await self._find(tx, visitor)
        about = ("Both evidence texts will be deleted and not submitted.",)
        return await self._page(tx, visitor, "Clear texts", about, (_version(evidence),), removes=True)

    async def _clear(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        dispute, _ = await self._find(tx, visitor)
        await evidence_service.clear_texts(tx, dispute.id, entered_values["version"])
        await self._record(tx, visitor, dispute, "dispute.evidence_changed")
        return self._back(dispute.id, "clear")

    async def _describe_remove(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        _, evidence = await self._find(tx, visitor)
        choices = [(one.kind, f"{_KIND_WORDS[one.kind]}: {one.file_name}") for one in evidence.files]
        field = ActionField("kind", "File", "choice", choices=choices)
        return await self._page(
            tx, visitor, "Remove file", ("The file will be removed and not submitted.",), (field,), removes=True
        )

    async def _remove(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        dispute, _ = await self._find(tx, visitor)
        kind = next(one for one in EVIDENCE_KINDS if one == entered_values["kind"])
        await evidence_service.remove_file(tx, dispute.id, kind)
        await self._record(tx, visitor, dispute, "dispute.evidence_file_removed", kind=kind)
        return self._back(dispute.id, "remove")

    async def _describe_submit(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        _, evidence = await self._find(tx, visitor)
        about = (
            (
                "A background worker submits the texts and files to the payment provider, which forwards them to the "
                "donor's bank."
            ),
            "You can submit evidence only once. You cannot change the evidence after you submit it.",
        )
        return await self._page(tx, visitor, "Submit evidence", about, (_version(evidence),), shows_all=True)

    async def _submit(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        dispute, _ = await self._find(tx, visitor)
        by = await self._record(tx, visitor, dispute, "dispute.evidence_submitted")
        await evidence_service.request_submission(tx, dispute.id, entered_values["version"], by)
        return self._back(dispute.id, "submit")

    async def download(self, visitor: SignedInRequest) -> Response:
        """Download a file of the evidence as an attachment. Raises NotFound."""
        async with self._context.db.read() as tx:
            dispute, evidence = await self._find(tx, visitor)
        kind = visitor.path.rpartition("/")[2]
        file = next((one for one in evidence.files if one.kind == kind), None)
        if file is None:
            raise NotFound
        try:
            content = b"".join([part async for part in self._context.services.blobs.read(file.storage_key)])
        except BlobMissing:
            await self._context.services.blobs.ensure_mounted(dispute.id)
            raise NotFound from None
        async with self._context.db.write() as tx:
            audited = "dispute.evidence_file_downloaded"
            await self._record(tx, visitor, dispute, audited, kind=file.kind, sha256=file.sha256.hex())
        name = f"{self._context.format_id(_TYPE, dispute.id)}-{kind}.{file.media_type.rpartition('/')[2]}"
        headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=file.media_type, headers=headers)

    async def upload(self, visitor: SignedInRequest) -> Response:
        """Add a file to the evidence. A sandboxed process checks the file first."""
        async with self._context.db.read() as tx:
            dispute, evidence = await self._find(tx, visitor)
            closed = evidence_service.edit_blocked_reason(tx, dispute, evidence)
        problems: dict[str, str] = {}
        if visitor.form and not closed:
            kind = next((one for one in EVIDENCE_KINDS if one == visitor.form_value("kind")), None)
            problems = _upload_problems(visitor, kind)
            uploaded = visitor.upload.uploaded_file if visitor.upload else None
            if not problems and kind is not None and uploaded is not None:
                try:
                    await self._add_file(visitor, dispute, kind, uploaded)
                    return redirect_to(visitor.portal.home + self._back(dispute.id, "upload"))
                except FiletypeNotSupported as rejected:
                    problems = {"file": rejected_file_text(rejected, _WRONG_TYPE)}
                except DisputeError as error:
                    problems = {"file": str(error)}
        return await self._context.render_console_page(
            visitor,
            "evidence_upload.html",
            status=422 if problems else 200,
            problems=problems,
            back=self._back(dispute.id),
            closed=closed,
            kinds=[("", "Choose"), *_KIND_WORDS.items()],
            kind=visitor.form_value("kind"),
        )

    async def _add_file(
        self, visitor: SignedInRequest, dispute: Dispute, kind: DisputeEvidenceKind, uploaded: UploadedFile
    ) -> None:
        """Scan, check and store the file. Raises FiletypeNotSupported or DisputeError."""
        async with self._context.db.read() as tx:
            await evidence_service.ensure_can_add_file(tx, dispute.id, kind)
        await self._scan(uploaded)
        async with self._context.services.upload_intake.receive_file(None, uploaded, _FILE) as stored:
            assert isinstance(stored, StoredFile), "it is declared as stored"
            async with self._context.db.write() as tx:
                name, sha256 = _file_name(uploaded), stored.sha256.hex()
                by = await self._record(tx, visitor, dispute, "dispute.evidence_file_added", kind=kind, sha256=sha256)
                await evidence_service.add_file(tx, dispute.id, kind, name, stored, by)

    async def _scan(self, uploaded: UploadedFile) -> None:
        """Scan the file for malware, before it is stored. Raises DisputeError if it is not clean."""
        scanner = self._context.services.scanner
        if scanner is None:
            raise DisputeError("No virus scanner is set up. Set ALMONER_SCANNER_URL, then upload the file again.")
        try:
            threat = await scanner.find_malware_name(_parts(uploaded.content))
        except MalwareScannerUnavailable:
            raise DisputeError("The virus scanner did not respond. Upload the file again in a few minutes.") from None
        if threat is not None:
            raise DisputeError(f"The virus scanner rejected the file: {threat}. The file has not been added.")


async def _parts(content: BinaryIO) -> AsyncIterator[bytes]:
    """The content of the file in chunks, from the start."""
    content.seek(0)
    while part := content.read(_PART_BYTES):
        yield part
    content.seek(0)


def _upload_problems(visitor: SignedInRequest, kind: DisputeEvidenceKind | None) -> dict[str, str]:
    found = {} if kind else {"kind": "Choose the type of the file."}
    received = visitor.upload
    if received is not None and isinstance(received.problem, FileTooLarge):
        found["file"] = "The file is too large. The limit is 25 MB."
    elif received is None or received.uploaded_file is None:
        found["file"] = "Choose a file."
    return found


def _file_name(uploaded: UploadedFile) -> str:
    """The file name without folders, and without invisible characters."""
    name = PureWindowsPath(uploaded.filename).name
    return "".join(sign for sign in name if sign.isprintable())[-_LONGEST_NAME:] or "file"
