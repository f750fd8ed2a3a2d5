"""Pages about payment files for the bank: create, release and download a file, and import the bank's status report."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.operators import service as operators
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_downloads import DownloadDeclaration, DownloadedFile, DownloadPages
from almoner.console.money_records import (
    NOTE,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    RecordTable,
    build_fixed_explanation,
    build_list_page,
    build_operator_name_lookup,
    label_amount,
    load_organisation_names_by_id,
    parse_cursor,
    parse_filter_choice,
    render_record_page,
)
from almoner.console.money_uploads import BANK_FILE, upload_problem_message, uploaded_bytes
from almoner.giving.banking.payment_files import flows as payment_files_flows
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import BankOutcome, PaymentFile, PaymentFileError, PaymentFileStatus
from almoner.giving.banking.payment_files.flows import StatusReportResult
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import Disbursement, DisbursementError, OperatorDisbursementFilters
from almoner.kit.errors import IncorrectParams
from almoner.kit.money import format_amount
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT, AuditEntry
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = payment_files.ID_TYPE
_PATH: Final = "/payment-files"
_STATUSES: Final[tuple[PaymentFileStatus, ...]] = ("created", "released", "withdrawn")
_SHOWN: Final = 100
_AGAIN: Final = ActionField("note", "Why you need the file again", "area", maxlength=500)


async def _facts(_tx: Tx, file: PaymentFile) -> Sequence[LabelledValue]:
    return [
        label_amount("Amount", file.total),
        LabelledValue("Payments", f"{file.payment_count:,}"),
        LabelledValue("Execution date", file.execution_date.isoformat()),
        label_amount("Limit for one person", file.single_operator_release_limit),
        LabelledValue("Two people required", file.requires_second_approval, "yes_no"),
        LabelledValue("Message ID", file.message_id),
        LabelledValue("SHA-256", file.sha256.hex()),
    ]


async def _audit(tx: Tx, officer: ActingOperator, action: str, file: PaymentFile, **details: str) -> None:
    facts = {
        **details,
        "amount": format_amount(file.total),
        "payments": str(file.payment_count),
        "sha256": file.sha256.hex(),
    }
    await officer.record_audit_entry(tx, DEPLOYMENT, action, tx.ids.encode(_TYPE, file.id), **facts)


def _created(file: PaymentFile) -> str:
    return "" if file.status == "created" else f"This file is {file.status}."


def _note(entry: AuditEntry) -> str:
    return str((entry.details or {}).get("note", ""))


def _after_colon(note: str) -> str:
    return f": {note}" if note else ""


async def _about_release(tx: Tx, file: PaymentFile) -> Sequence[str]:
    by = await build_operator_name_lookup(tx, [file.created_by])
    who = f"{by(file.created_by)} created the file."
    two = "Because of the amount, a different person must release this file."
    return [
        (
            "After the release, download the file and upload it to the bank. The bank then pays the nonprofits "
            f"{format_amount(file.total)}."
        ),
        f"{who} {two if file.requires_second_approval else 'One person may release the file.'}",
        "A released payment file cannot be withdrawn. To stop the payments, contact the bank.",
    ]


async def _release(tx: Tx, officer: ActingOperator, file: PaymentFile, _entered_values: Mapping[str, str]) -> None:
    if file.requires_second_approval:
        await operators.ensure_independent_operator(tx, officer.person, [file.created_by])
    released = await payment_files.release_file(tx, file.id, released_by=officer.id)
    await _audit(tx, officer, "payment_file.released", released)


async def _withdraw(tx: Tx, officer: ActingOperator, file: PaymentFile, entered_values: Mapping[str, str]) -> None:
    withdrawn = await payment_files.withdraw_file(tx, file.id, note=entered_values["note"], withdrawn_by=officer.id)
    await _audit(tx, officer, "payment_file.withdrawn", withdrawn)


_ANSWERS: Final = {
    "answered": "The bank's status report has been imported.",
    "known": "This status report has already been imported. Nothing has changed.",
}


def _message(visitor: SignedInRequest) -> str:
    """The message after the import of a status report, or about disbursements that a new payment file leaves out."""
    homeless, _, held = visitor.query.get("left", "")[:19].partition(".")
    if not (homeless.isdecimal() and held.isdecimal()):
        return _ANSWERS.get(visitor.query.get("done", ""), "")
    left = f" Left out: {homeless} without an approved account, {held} on hold or flagged."
    return "Payment file created." + (left if int(homeless) or int(held) else "")


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Payment file",
    get=payment_files.get,
    get_record_id=lambda file: file.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "release",
            "Release file",
            _about_release,
            _release,
            (),
            _created,
            "The file is released. Download the file now.",
            "r",
            lambda file: [file.created_by] if file.requires_second_approval else [],
        ),
        RecordAction(
            "withdraw",
            "Withdraw file",
            build_fixed_explanation(
                "The file can no longer be sent to the bank. The disbursements of the file can be added to another "
                "file."
            ),
            _withdraw,
            (NOTE,),
            _created,
            "Withdrawn.",
            "w",
        ),
    ),
    refusal_errors=(PaymentFileError,),
)


class PaymentFilePages:
    """Pages about payment files."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Payment files",
            about="A payment file instructs the bank to pay disbursements with the status SENT. Create a file for "
            "each currency.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Payments"),
                Column("Execution date"),
                Column("Status", "status"),
                Column("Created by"),
                Column("Created", "age"),
                Column("Released by"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(Filter("status", "choice", _STATUSES, label_member="Status"),),
            views=(("To release", {"status": "created"}), ("Released", {"status": "released"}), ("All", {})),
            actions=(
                (f"{_PATH}/new", "Create payment file"),
                (f"{_PATH}/bank-answer", "Import the bank's status report"),
            ),
            sort_order_description="newest first",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        download = DownloadDeclaration(
            f"{_PATH}/{{id}}/download", self._about_download, self._write, (PaymentFileError,)
        )
        return [
            *ListRouteBuilder(context).routes(self._list),
            context.route(
                f"{_PATH}/bank-answer",
                self.import_status_report,
                *FINANCE,
                requires_reauthentication=True,
                upload=BANK_FILE,
            ),
            *DownloadPages(context).routes(download),
            *ActionPages(context).routes(self._new(), *_KIND.declare_actions(context)),
            context.route(f"{_PATH}/{{id}}", self.show_payment_file, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        status = parse_filter_choice(query, "status", _STATUSES)
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await payment_files.list_for_operators(tx, status, after, query.limit + 1)
            total = await payment_files.count_for_operators(tx, status, MOST_COUNTED)
            by = await build_operator_name_lookup(
                tx, [who for one in found for who in (one.created_by, one.released_by)]
            )
            rows = [
                (
                    one.id,
                    ListRow(
                        _KIND.page_path(tx, one),
                        (
                            one.total,
                            one.payment_count,
                            one.execution_date.isoformat(),
                            one.status,
                            by(one.created_by),
                            one.created_at,
                            by(one.released_by),
                            tx.ids.encode(_TYPE, one.id),
                        ),
                    ),
                )
                for one in found
            ]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def show_payment_file(self, visitor: SignedInRequest) -> Response:
        """Show a payment file: its payments, the transliterated names, and the bank's status reports."""
        async with self._context.db.read() as tx:
            file, me = await _KIND.get_from_url(self._context, tx, visitor), self._context.operator_id(visitor)
            page = RecordPage(
                title=f"Payment file of {format_amount(file.total)}",
                id=tx.ids.encode(_TYPE, file.id),
                status=file.status,
                back=_PATH,
                back_label="Payment files",
                facts=await _facts(tx, file),
                steps=await self._steps(tx, file),
                actions=_KIND.list_available_actions(tx, file, me),
                tables=[await self._payments(tx, file), await self._changed(tx, file)],
                notices=await _KIND.describe_actions_reserved_for_others(tx, file, me),
                downloads=[(f"{_KIND.page_path(tx, file)}/download", "Download file")]
                if file.status == "released"
                else [],
            )
        return await render_record_page(
            self._context, visitor, page, _KIND.success_message(visitor) or _message(visitor)
        )

    async def _steps(self, tx: Tx, file: PaymentFile) -> list[TimelineStep]:
        reports = await payment_files.list_status_reports(tx, file.id)
        people = [file.created_by, file.released_by, file.withdrawn_by, *(one.recorded_by for one in reports)]
        by = await build_operator_name_lookup(tx, people)
        steps = [TimelineStep("Created", "done", iso_timestamp(file.created_at), by(file.created_by) or "")]
        if file.status == "withdrawn":
            return [*steps, TimelineStep("Withdrawn", "done", None, f"{by(file.withdrawn_by)}: {file.note}")]
        if file.released_at is None:
            who = "somebody else" if file.requires_second_approval else "a finance operator"
            return [*steps, TimelineStep("Released", "waiting", None, f"{who} releases it")]
        steps.append(TimelineStep("Released", "done", iso_timestamp(file.released_at), by(file.released_by) or ""))
        steps += await self._download_steps(tx, file)
        for one in reports:
            counts = f"{one.paid_count:,} paid, {one.accepted_count:,} accepted, {one.rejected_count:,} rejected"
            reasons = f"{counts} ({by(one.recorded_by)})"
            steps.append(TimelineStep("Bank's status report received", "done", iso_timestamp(one.recorded_at), reasons))
        if left := await payment_files.count_unconfirmed_disbursements(tx, file.id):
            steps.append(TimelineStep("Paid", "waiting", None, f"{left:,} payments that the bank has not confirmed"))
        return steps

    async def _download_steps(self, tx: Tx, file: PaymentFile) -> list[TimelineStep]:
        """Who has downloaded the file and when, or that nobody has."""
        found = await payment_files.list_downloads(tx, file)
        if not found:
            return [TimelineStep("Downloaded", "waiting", None, "nobody has downloaded the file yet")]
        by = await build_operator_name_lookup(tx, [one.actor.id for one in found])
        return [
            TimelineStep("Downloaded", "done", iso_timestamp(one.at), f"{by(one.actor.id)}{_after_colon(_note(one))}")
            for one in found
        ]

    async def _payments(self, tx: Tx, file: PaymentFile) -> RecordTable:
        rows = [
            ListRow(
                f"/disbursements/{tx.ids.encode('disbursement', payout)}",
                (tx.ids.encode("disbursement", payout), holder, money, masked, end_to_end),
            )
            for payout, end_to_end, _, masked, money, holder in await payment_files.list_transfers_of_file(
                tx, file.id, _SHOWN
            )
        ]
        columns = (
            Column("Disbursement", "id"),
            Column("Account holder"),
            Column("Amount", "amount"),
            Column("Account"),
            Column("End-to-end ID"),
        )
        more = f"The first {_SHOWN} of {file.payment_count:,} are shown." if file.payment_count > _SHOWN else ""
        return RecordTable("Payments", columns, rows, more=more)

    async def _changed(self, tx: Tx, file: PaymentFile) -> RecordTable:
        changed = await payment_files.list_transliterated_texts(tx, file.id, _SHOWN + 1)
        rows = [
            ListRow(
                f"/payee-accounts/{tx.ids.encode('payeeaccount', one.account_id)}",
                (tx.ids.encode("payeeaccount", one.account_id), one.field_name, one.entered_text, one.sent_text),
            )
            for one in changed[:_SHOWN]
        ]
        columns = (Column("Account", "id"), Column("Field"), Column("Entered"), Column("Sent to the bank"))
        return RecordTable(
            "Transliterated for the bank",
            columns,
            rows,
            "The file contains all names and addresses unchanged.",
            f"Only the first {_SHOWN} are shown. The command almoner payment-files show lists all of them."
            if len(changed) > _SHOWN
            else "",
        )

    def _new(self) -> ConsoleAction:
        return ConsoleAction(
            f"{_PATH}/new",
            FINANCE,
            self._describe_new,
            self._create,
            (PaymentFileError,),
            requires_reauthentication=True,
        )

    async def _describe_new(self, tx: Tx, _visitor: SignedInRequest) -> ActionPage:
        own = self._context.services.own_accounts or {}
        sent = await disbursements.count_for_operators(tx, OperatorDisbursementFilters(status="SENT"), MOST_COUNTED)
        counted = f"More than {MOST_COUNTED:,}" if sent > MOST_COUNTED else f"{sent:,}"
        return ActionPage(
            "Create payment file",
            "Create payment file",
            _PATH,
            "Payment files",
            (
                (
                    f"{counted} disbursements are SENT. The file includes up to 10,000 SENT disbursements in the "
                    "chosen currency that are not in another file. The format of the file is pain.001.001.09."
                ),
                (
                    "The file leaves out disbursements to nonprofits that have no approved bank account, are on hold "
                    "or are flagged."
                ),
                "Nothing is sent to the bank until the file is released.",
            ),
            (
                ActionField("currency", "Currency", "choice", choices=[(one, one) for one in own]),
                ActionField(
                    "date",
                    "Execution date",
                    hint="For example, 2026-11-30. Leave empty for today.",
                    required=False,
                    value=tx.deployment.date_in_issuer_time_zone(tx.now).isoformat(),
                    maxlength=10,
                ),
            ),
            closed=None
            if own
            else "No bank accounts are configured for payments. Ask an administrator to set ALMONER_BANK_ACCOUNTS.",
        )

    async def _create(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        own = (self._context.services.own_accounts or {})[entered_values["currency"]]
        try:
            today = tx.deployment.date_in_issuer_time_zone(tx.now)
            day = date.fromisoformat(entered_values["date"]) if entered_values["date"] else today
        except ValueError:
            raise IncorrectParams("date: enter a date such as 2026-11-30") from None
        officer = ActingOperator(self._context, visitor)
        created = await payment_files.create_file(tx, own, day, created_by=officer.id)
        if created.file is None:
            raise PaymentFileError(
                await self._nothing(
                    tx, entered_values["currency"], created.disbursements_without_account, created.disbursements_on_hold
                )
            )
        await _audit(tx, officer, "payment_file.created", created.file)
        left = f"{len(created.disbursements_without_account)}.{len(created.disbursements_on_hold)}"
        return f"{_KIND.page_path(tx, created.file)}?left={left}"

    async def _nothing(
        self, tx: Tx, currency: str, homeless: Sequence[Disbursement], held: Sequence[Disbursement]
    ) -> str:
        some = [*homeless, *held][:20]
        names = await load_organisation_names_by_id(tx, [(one.partner_id, one.organisation_id) for one in some])
        reasons = [f"No disbursements are due in {currency}."]
        for found, why in ((homeless, "has no approved payee account"), (held, "is on hold")):
            reasons += [f"{names.get(one.organisation_id)} {why}." for one in found[:20]]
        return " ".join(reasons)

    async def _about_download(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        file = await _KIND.get_from_url(self._context, tx, visitor)
        earlier = await payment_files.list_downloads(tx, file)
        by = await build_operator_name_lookup(tx, [one.actor.id for one in earlier])
        moment = self._context.texts(visitor).timestamp_text
        warned = [
            (
                f"This file was already downloaded, by {by(one.actor.id)} on {moment(one.at)}. Make sure that nobody "
                "has uploaded it to the bank yet."
            )
            for one in earlier[-1:]
        ]
        return ActionPage(
            "Download payment file",
            "Download file" if not earlier else "Download again",
            _KIND.page_path(tx, file),
            "Payment file",
            (
                *warned,
                "Upload the file to the bank only once. The bank rejects a second file with the same message ID.",
                (
                    "The file contains account numbers. Delete the file from your computer after you have uploaded "
                    "it to the bank. Each download is recorded. To download the file again, you must give a reason."
                ),
            ),
            fields=[_AGAIN] if earlier else [],
            facts=await _facts(tx, file),
            closed=None if file.status == "released" else f"The file is {file.status}: it must be released first.",
        )

    async def _write(self, visitor: SignedInRequest, values: Mapping[str, str]) -> DownloadedFile:
        async with self._context.db.write() as tx:
            found = await _KIND.get_from_url(self._context, tx, visitor)
            file, content = await payment_files.read_released_file(tx, found.id, values.get("note"))
            await _audit(tx, ActingOperator(self._context, visitor), "payment_file.downloaded", file, **values)
        return DownloadedFile(f"{file.message_id}.xml", "application/xml", content)

    async def import_status_report(self, visitor: SignedInRequest) -> Response:
        """Import the bank's status report (pain.002), and show how it changed the payments."""
        reported: StatusReportResult | None = None
        problems: dict[str, str] = {}
        refused = ""
        if visitor.form:
            officer = ActingOperator(self._context, visitor)

            async def record(tx: Tx, file: PaymentFile, counts: dict[BankOutcome, int]) -> None:
                facts = {verdict.value: count for verdict, count in counts.items()}
                await officer.record_audit_entry(
                    tx, DEPLOYMENT, "payment_file.answered", tx.ids.encode(_TYPE, file.id), **facts
                )

            if (content := uploaded_bytes(visitor)) is None:
                problems = {"file": upload_problem_message(visitor)}
            else:
                try:
                    reported = await payment_files_flows.import_status_report(
                        self._context.db, content, imported_by=officer.id, on_finished=record
                    )
                except (PaymentFileError, DisbursementError) as error:
                    refused = str(error)
        if reported is not None and not (reported.contradicted_disbursement_ids or reported.refused_disbursements):
            name = self._context.format_id(_TYPE, reported.file.id)
            done = "answered" if reported.outcome_counts else "known"
            return redirect_to(f"{visitor.portal.home}{_PATH}/{name}?done={done}")
        ids = self._context.db.deployment.ids
        return await self._context.render_console_page(
            visitor,
            "money_bank_answer.html",
            status=422 if problems else 409 if refused else 200,
            problems=problems,
            refused=refused,
            reported=reported,
            contradicted=[ids.encode("disbursement", one) for one in reported.contradicted_disbursement_ids]
            if reported
            else [],
            failed=[(ids.encode("disbursement", one), why) for one, why in reported.refused_disbursements]
            if reported
            else [],
        )
