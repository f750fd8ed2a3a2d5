"""The page of a disbursement: its donations with their amounts, as a page and as a file."""

from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest
from almoner.dashboard.domain import EXPORTERS, roles_with_scope
from almoner.dashboard.record_lists import DISBURSEMENTS
from almoner.dashboard.record_pages import RecordPages
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.kit.time import iso_timestamp
from almoner.platform.pages.csv_files import csv_line, stream_file_download

_SHOWN: Final = 100
_BATCH: Final = 1000
_COLUMNS: Final = ("id", "createdAt", "amount", "currencyCode", "paidAmount")


class DisbursementPages:
    """Pages about disbursements."""

    def __init__(self, context: PageContext, records: RecordPages) -> None:
        self._context = context
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context, path = self._context, f"{DISBURSEMENTS.path}/{{id}}"
        exporters = sorted(EXPORTERS[DISBURSEMENTS.area])
        return [
            context.route(f"{path}/donations.csv", self.download, *exporters, methods=["GET"]),
            context.route(
                path, self.show_disbursement, *sorted(roles_with_scope(DISBURSEMENTS.scope)), methods=["GET"]
            ),
        ]

    async def show_disbursement(self, visitor: SignedInRequest) -> Response:
        """Show a disbursement and the first of its donations."""
        record = await self._records.get_record(visitor, DISBURSEMENTS)
        async with self._context.db.read() as tx:
            disbursement_id = self._context.parse_id("disbursement", record["id"])
            found = await donations.list_donations_of_disbursement(tx, disbursement_id, None, _SHOWN + 1)
        shown = [
            {
                "id": self._context.format_id("donation", donation.id),
                "created_at": iso_timestamp(donation.created_at),
                "given": donation.money,
                "paid": donation.net_amount_for_nonprofit,
            }
            for donation in found[:_SHOWN]
        ]
        export = f"{visitor.portal.home}{DISBURSEMENTS.path}/{record['id']}/donations.csv"
        return await self._records.render_record(
            visitor,
            DISBURSEMENTS,
            record,
            "disbursement.html",
            donations=shown,
            more=len(found) > _SHOWN,
            export=export if visitor.person.has_role(*EXPORTERS[DISBURSEMENTS.area]) else None,
        )

    async def download(self, visitor: SignedInRequest) -> Response:
        """Download all donations of the disbursement; the last column sums to its amount."""
        record = await self._records.get_record(visitor, DISBURSEMENTS)
        return await stream_file_download(self._lines(record["id"]), f"{record['id']}.csv")

    async def _lines(self, name: str) -> AsyncIterator[bytes]:
        """The lines of the file, read in batches, so that a slow download holds no connection."""
        yield csv_line(_COLUMNS)
        disbursement_id, after = self._context.parse_id("disbursement", name), None
        while True:
            async with self._context.db.read() as tx:
                found = await donations.list_donations_of_disbursement(tx, disbursement_id, after, _BATCH)
            yield b"".join(self._line(donation) for donation in found)
            if len(found) < _BATCH:
                return
            after = found[-1].id

    def _line(self, donation: Donation) -> bytes:
        return csv_line(
            (
                self._context.format_id("donation", donation.id),
                iso_timestamp(donation.created_at),
                str(donation.money.minor),
                donation.money.currency,
                str(donation.net_amount_for_nonprofit.minor),
            )
        )
