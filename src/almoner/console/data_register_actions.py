"""Actions to refresh a register now, and to accept or reject a quarantined import."""

from collections.abc import Mapping
from uuid import UUID

from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.data_register_pages import LOADS, REGISTERS
from almoner.console.links import ADMINISTRATORS
from almoner.kit.errors import NotFound
from almoner.nonprofits.registers import jobs as registers_jobs
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import ImportRefused, RegisterImport, SourceFreshness
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import LabelledValue

_ID = "registerload"
_NOTE = ActionField("note", "Reason", "area", hint="Describe what you compared and whom you contacted.")


class RegisterActions:
    """The actions."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def actions(self) -> list[ConsoleAction]:
        """All actions for registers."""
        return [self._refresh(), self._release(), self._refuse()]

    def _refresh(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            source = await _source(tx, visitor)
            return ActionPage(
                f"Refresh {source.source} now",
                "Refresh now",
                REGISTERS,
                "Registers",
                [
                    (
                        "A background worker downloads the register's files from the publisher and imports them if "
                        "they have changed."
                    ),
                    (
                        "The import of a large register can take an hour. Until the import is complete, the current "
                        "data stays in use."
                    ),
                    "Files that look damaged are quarantined, and administrators get an email.",
                ],
                closed=None
                if source.every
                else "This source has no refresh schedule. To add a schedule, set ALMONER_REGISTER_SCHEDULE.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            source = await _source(tx, visitor)
            if source.every is None:
                raise ImportRefused("This source has no refresh schedule.")
            await registers_jobs.enqueue_refresh(tx, source.source)
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "register.refresh_started", source.source)
            return f"{REGISTERS}?done=started"

        return ConsoleAction(
            f"{REGISTERS}/{{source}}/refresh", ADMINISTRATORS, describe, perform, refusal_errors=(ImportRefused,)
        )

    def _release(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            load = await self._load(tx, visitor)
            closed = await registers.decision_refusal_reason(tx, load)
            if not closed and not load.rows:
                closed = "None of the files of this import could be read, so there is nothing to import."
            if not closed and not await registers.list_fetched_urls_and_hashes(tx, load.id):
                closed = (
                    "The files of this import were not downloaded automatically. Upload them again and select the "
                    "option to import them even if they look damaged."
                )
            return ActionPage(
                "Release the import",
                "Release the import",
                self._path(load),
                load.source,
                [
                    (
                        "A background worker downloads the same files again and imports them, ignoring the failed "
                        "checks below."
                    ),
                    "If the publisher has replaced the files in the meantime, nothing is imported.",
                    (
                        "Nonprofits that are missing from the files become inactive, and partners that monitor them "
                        "are notified."
                    ),
                ],
                fields=[_NOTE],
                facts=_reasons(load),
                closed=closed,
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            load = await self._load(tx, visitor)
            if not load.rows or not await registers.list_fetched_urls_and_hashes(tx, load.id):
                raise ImportRefused("The files of this import cannot be imported again.")
            by = self._context.operator_id(visitor)
            await registers.decide_quarantined_import(tx, load, "released", by, entered_values["note"])
            await registers_jobs.enqueue_quarantine_release(tx, load.id, by)
            await self._record(tx, visitor, load, "register.released", entered_values["note"])
            return self._path(load)

        path = f"{LOADS}/{{id}}/release"
        return ConsoleAction(
            path, ADMINISTRATORS, describe, perform, refusal_errors=(ImportRefused,), requires_reauthentication=True
        )

    def _refuse(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            load = await self._load(tx, visitor)
            return ActionPage(
                "Refuse the import",
                "Refuse the import",
                self._path(load),
                load.source,
                [
                    "The files of this import will never be imported, and the current data stays in use.",
                    "The self-check no longer reports this import.",
                    "The next files from the publisher are imported as usual.",
                ],
                fields=[_NOTE],
                facts=_reasons(load),
                closed=await registers.decision_refusal_reason(tx, load),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            load = await self._load(tx, visitor)
            by = self._context.operator_id(visitor)
            await registers.decide_quarantined_import(tx, load, "refused", by, entered_values["note"])
            await self._record(tx, visitor, load, "register.refused", entered_values["note"])
            return self._path(load)

        path = f"{LOADS}/{{id}}/refuse"
        return ConsoleAction(
            path, ADMINISTRATORS, describe, perform, refusal_errors=(ImportRefused,), requires_reauthentication=True
        )

    async def _record(self, tx: Tx, visitor: SignedInRequest, load: RegisterImport, action: str, note: str) -> None:
        data_of = f"{load.data_as_of:%Y-%m-%d}"
        named = self._context.format_id(_ID, load.id)
        await self._context.record_audit_entry(
            tx, visitor, DEPLOYMENT, action, load.source, data_of=data_of, load=named, note=note
        )

    async def _load(self, tx: Tx, visitor: SignedInRequest) -> RegisterImport:
        load_id: UUID = self._context.parse_id(_ID, visitor.path.split("/")[-2])
        load = await registers.find_import(tx, load_id)
        if load is None:
            raise NotFound
        return load

    def _path(self, load: RegisterImport) -> str:
        return f"{LOADS}/{self._context.format_id(_ID, load.id)}"


async def _source(tx: Tx, visitor: SignedInRequest) -> SourceFreshness:
    name = visitor.path.removeprefix(f"{OPERATORS_HOME}{REGISTERS}/").split("/")[0]
    found = next((one for one in await registers.list_source_freshness(tx) if one.source == name), None)
    if found is None:
        raise NotFound
    return found


def _reasons(load: RegisterImport) -> list[LabelledValue]:
    return [
        LabelledValue("Data of", load.data_as_of.isoformat(), "moment"),
        LabelledValue("Rows read", f"{load.rows:,}"),
        *(LabelledValue("Guard", reason) for reason in load.reasons),
    ]
