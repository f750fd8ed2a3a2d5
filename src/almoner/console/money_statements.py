"""Pages about bank statements: upload a statement, preview its effects, and book or discard it.

One page lists missing statements.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    SignedAmount,
    build_success_message_lookup,
    build_time_sorted_page,
    parse_number_cursor,
    parse_time_cursor,
)
from almoner.console.money_records import NOTE, ActingOperator, build_operator_name_lookup, parse_cursor
from almoner.console.money_uploads import BANK_FILE, upload_problem_message, uploaded_bytes
from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import (
    BankStatement,
    BankStatementError,
    ImportedStatement,
    StatementGap,
    StatementPreview,
    StatementUpload,
)
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, LabelledValue

_UPLOAD: Final = "bankupload"
_STATEMENT: Final = "bankstatement"
_PATH: Final = "/bank-statements"
_PREVIEWED: Final = 50
"""New lines on a page of the preview: each is matched as if the file were booked (decision 0112)."""
_WAITING: Final = 50


class BankStatementPages:
    """Pages about bank statements."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Bank statements",
            about=(
                "Statements of our bank accounts are listed here. When you upload a statement, you see a preview "
                "before anything is booked."
            ),
            roles=FINANCE,
            columns=(
                Column("Statement"),
                Column("Account"),
                Column("From"),
                Column("To"),
                Column("Opening", "amount"),
                Column("Closing", "amount"),
                Column("Lines"),
                Column("Imported", "age"),
                Column("By"),
            ),
            load=self._load,
            actions=((f"{_PATH}/upload", "Upload a statement"), (f"{_PATH}/gaps", "Missing statements")),
            sort_order_description="newest first",
        )
        self._gap_list = ConsoleList(
            path=f"{_PATH}/gaps",
            title="Missing and incomplete statements",
            message=build_success_message_lookup({"explained": "Explanation recorded."}),
            about="No bank statements are missing, and all lines could be read.",
            roles=FINANCE,
            columns=(
                Column("Statement"),
                Column("Account"),
                Column("Day"),
                Column("Opening", "amount"),
                Column("Since", "age"),
                Column("Reason"),
            ),
            load=self._load_gaps,
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        explain = ConsoleAction(
            f"{_PATH}/{{id}}/explain",
            FINANCE,
            self._describe_gap,
            self._explain,
            (BankStatementError,),
            requires_reauthentication=True,
        )
        return [
            *ListRouteBuilder(context).routes(self._gap_list, self._list),
            context.route(
                f"{_PATH}/upload", self.upload_statement, *FINANCE, requires_reauthentication=True, upload=BANK_FILE
            ),
            context.route(
                f"{_PATH}/uploads/{{id}}", self.preview_statement_upload, *FINANCE, requires_reauthentication=True
            ),
            *ActionPages(context).routes(explain),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            after = parse_cursor(self._context, query, _STATEMENT)
            found = await bank_statements.list_statements(tx, after, query.limit + 1)
            by = await build_operator_name_lookup(tx, [one.imported_by for one in found])
            rows = [_statement_row(one, by(one.imported_by)) for one in found[: query.limit]]
            more = len(found) > query.limit
            return ListPage(rows, tx.ids.encode(_STATEMENT, found[query.limit - 1].id) if more else None)

    async def _load_gaps(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            found = await bank_statements.list_statement_gaps(tx, query.limit + 1, parse_time_cursor(query.cursor))
            return build_time_sorted_page([(one.imported_at, one.id, _gap_row(tx, one)) for one in found], query.limit)

    async def upload_statement(self, visitor: SignedInRequest) -> Response:
        """Upload a bank statement. Nothing is booked yet."""
        problems: dict[str, str] = {}
        mapping = visitor.form_value("mapping").strip()
        if visitor.form:
            content = uploaded_bytes(visitor)
            name = visitor.upload.uploaded_file.filename if visitor.upload and visitor.upload.uploaded_file else ""
            if content is None:
                problems = {"file": upload_problem_message(visitor)}
            else:
                try:
                    if mapping:
                        bank_statements.parse_mapping(mapping, "The mapping")
                    async with self._context.db.write() as tx:
                        store = partial(self._store_upload, tx, visitor, name, content, mapping)
                        upload_id = await visitor.apply_form_once(tx, store, str)
                    return redirect_to(f"{visitor.portal.home}{_PATH}/uploads/{upload_id}")
                except BankStatementError as error:
                    problems = {"mapping": str(error)}
        async with self._context.db.read() as tx:
            waiting = [
                (tx.ids.encode(_UPLOAD, one.id), one) for one in await bank_statements.list_uploads(tx, _WAITING)
            ]
        return await self._context.render_console_page(
            visitor,
            "money_upload.html",
            status=422 if problems else 200,
            problems=problems,
            mapping=mapping,
            waiting=waiting,
        )

    async def _store_upload(self, tx: Tx, visitor: SignedInRequest, name: str, content: bytes, mapping: str) -> str:
        """Store the file; returns the ID of the upload."""
        officer = ActingOperator(self._context, visitor)
        kept = await bank_statements.store_upload(tx, name, content, mapping or None, uploaded_by=officer.id)
        upload_id = tx.ids.encode(_UPLOAD, kept.id)
        await officer.record_audit_entry(tx, DEPLOYMENT, "bank_statement.uploaded", upload_id, sha256=kept.sha256.hex())
        return upload_id

    async def preview_statement_upload(self, visitor: SignedInRequest) -> Response:
        """Preview the effects of an uploaded bank statement.

        On this page, an operator books or discards the statement.
        """
        upload_id = self._context.parse_id(_UPLOAD, visitor.path.rpartition("/")[2])
        async with self._context.db.read() as tx:
            kept, content = await bank_statements.get_upload(tx, upload_id)
        refused = ""
        if visitor.form:
            officer = ActingOperator(self._context, visitor)
            match visitor.form_value("do"):
                case "book":
                    try:
                        return redirect_to(_path_after_booking(visitor, await self._book(officer, kept, content)))
                    except BankStatementError as error:
                        refused = str(error)
                case "discard":
                    async with self._context.db.write() as tx:
                        await bank_statements.delete_upload(tx, kept.id)
                        await officer.record_audit_entry(
                            tx, DEPLOYMENT, "bank_statement.discarded", tx.ids.encode(_UPLOAD, kept.id)
                        )
                    return redirect_to(f"{visitor.portal.home}{_PATH}/upload")
                case _:
                    raise NotFound
        return await self._show_preview(visitor, kept, content, refused)

    async def _show_preview(
        self, visitor: SignedInRequest, kept: StatementUpload, content: bytes, refused: str
    ) -> Response:
        try:
            skipped = parse_number_cursor(visitor.query.get("cursor")) or 0
        except IncorrectParams:
            raise NotFound from None
        previews: Sequence[StatementPreview] = ()
        wrong: Sequence[str] = ()
        try:
            previews, wrong = await bank_statements_flows.preview_statements(
                self._context.db,
                content,
                _mapping_of(kept),
                own_accounts=self._context.services.own_accounts,
                skipped_line_count=skipped,
                max_lines=_PREVIEWED,
            )
        except BankStatementError as error:
            wrong = str(error).splitlines()
        bookable = any(one.refusal_reason is None for one in previews)
        total, end = sum(one.new_line_count for one in previews), skipped + _PREVIEWED
        return await self._context.render_console_page(
            visitor,
            "money_preview.html",
            status=409 if refused else 200,
            upload=kept,
            previews=previews,
            wrong=wrong,
            bookable=bookable,
            first_line=skipped + 1,
            last_line=min(end, total),
            line_count=total,
            previous=max(skipped - _PREVIEWED, 0) if skipped else None,
            following=end if end < total else None,
            refused=refused,
            page_keys=(),
        )

    async def _book(self, officer: ActingOperator, kept: StatementUpload, content: bytes) -> StatementImportProgress:
        """Import the file in the same way as the CLI command.

        The transaction that completes the import also deletes the upload.
        """

        async def record(tx: Tx, statements: Sequence[BankStatement], looked: StatementImportProgress) -> None:
            named = ", ".join(one.reference for one in statements)[:200] or "empty"
            await officer.record_audit_entry(
                tx,
                DEPLOYMENT,
                "bank_statement.imported",
                named,
                kept=looked.new_statement_count,
                matched=looked.matched_line_count,
            )
            await bank_statements.delete_upload(tx, kept.id)

        return await bank_statements_flows.import_statements(
            self._context.db,
            content,
            _mapping_of(kept),
            own_accounts=self._context.services.own_accounts,
            imported_by=officer.id,
            on_finished=record,
        )

    async def _describe_gap(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        statement_id = self._context.parse_id(_STATEMENT, visitor.path.split("/")[-2])
        if (gap := await bank_statements.find_statement_gap(tx, statement_id)) is None:
            raise NotFound
        return ActionPage(
            "Explain what is missing",
            "Explain",
            f"{_PATH}/gaps",
            "Missing statements",
            (
                f"{gap.explanation[:1].upper()}{gap.explanation[1:]}.",
                (
                    "First, look for the missing statement and import it. Explain the gap only if the bank has no such "
                    "statement and you have checked all transactions of the period."
                ),
            ),
            (NOTE,),
            (
                LabelledValue("Account", gap.account),
                LabelledValue("Statement", gap.statement_reference),
                LabelledValue("Day", gap.statement_date.isoformat()),
            ),
        )

    async def _explain(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer, name = ActingOperator(self._context, visitor), visitor.path.split("/")[-2]
        statement_id = self._context.parse_id(_STATEMENT, name)
        await bank_statements.record_gap_explanation(
            tx, statement_id, note=entered_values["note"], explained_by=officer.id
        )
        await officer.record_audit_entry(tx, DEPLOYMENT, "bank_statement.explained", name)
        return f"{_PATH}/gaps?done=explained"


def _path_after_booking(visitor: SignedInRequest, booked: StatementImportProgress) -> str:
    """The open lines, with what was booked as query parameters."""
    still_open = booked.checked_line_count - booked.matched_line_count
    counts = f"new={booked.new_statement_count}&matched={booked.matched_line_count}&open={still_open}"
    return f"{visitor.portal.home}/bank-statement-lines?status=open&{counts}"


def _mapping_of(kept: StatementUpload) -> bank_statements.CsvStatementMapping | None:
    return bank_statements.parse_mapping(kept.mapping, "The mapping") if kept.mapping else None


def _gap_row(tx: Tx, one: StatementGap) -> ListRow:
    opening = SignedAmount(one.opening_minor, one.currency)
    return ListRow(
        f"{_PATH}/{tx.ids.encode(_STATEMENT, one.id)}/explain",
        (
            one.statement_reference,
            one.account,
            one.statement_date.isoformat(),
            opening,
            one.imported_at,
            one.explanation,
        ),
    )


def _statement_row(one: ImportedStatement, by: str | None) -> ListRow:
    opening, closing = (
        None if minor is None else SignedAmount(minor, one.currency) for minor in (one.opening_minor, one.closing_minor)
    )
    days = (one.begins_on.isoformat() if one.begins_on else None, one.ends_on.isoformat() if one.ends_on else None)
    return ListRow(
        f"/bank-statement-lines?{urlencode({'account': one.account})}",
        (one.reference, one.account, *days, opening, closing, one.line_count, one.imported_at, by),
    )
