"""A gallery of all dashboard components in all their states, in the sandbox only."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest
from almoner.access.accounts.page_texts import build_page_texts, mark_as_english
from almoner.access.people.domain import Role
from almoner.dashboard.facts import Label
from almoner.dashboard.record_lists import DONATIONS
from almoner.dashboard.rendering import render_page
from almoner.kit.time import iso_timestamp
from almoner.platform.pages import charts
from almoner.platform.pages.record_tables import (
    ActiveFilter,
    Cell,
    Column,
    ColumnHead,
    Filter,
    LabelledValue,
    Section,
    TimelineStep,
)

PATH: Final = "/gallery"
ROLES: Final = frozenset[Role]({"owner", "developer"})
_ID: Final = "sandbox_donation_01j3sc8phefk1smjrx5rzm0mb2"
_STATUSES: Final = ("RECEIVED_PAYMENT", "PENDING", "CANCELLED", "live", "pending_review", "suspended")
_AMOUNTS: Final = ((123456, "USD"), (5000, "JPY"), (-250, "EUR"), (1234567, "KWD"))
_COLUMNS: Final = (
    Column("amount", "amount"),
    Column("status", "status"),
    Column("email", "donor", "donor"),
    Column("organisationId", "organisation"),
    Column("createdAt", "moment"),
    Column("id", "id"),
)
_FILTERS: Final = (
    Filter("status", "choice", ("RECEIVED_PAYMENT", "DISBURSED")),
    Filter("email", "email", label_member="donorEmail"),
    Filter("startDate", "day"),
)


class ComponentGalleryPages:
    """The page that shows all shared components."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes; none in production."""
        roles = sorted(ROLES)
        return [self._context.route(PATH, self.show_gallery, *roles, methods=["GET"])] if self._in_sandbox else []

    @property
    def _in_sandbox(self) -> bool:
        return self._context.db.deployment.sandbox

    async def show_gallery(self, visitor: SignedInRequest) -> Response:
        """Show every component in every state."""
        texts, home = build_page_texts(self._context, visitor), visitor.portal.home
        now, today = texts.now, texts.now.date()
        earlier = iso_timestamp(now - timedelta(hours=3))
        shown = _facts(texts.field_label, earlier, home)
        counts = {today - timedelta(days=back): (back * 7) % 11 for back in range(40)}
        return render_page(
            self._context,
            visitor,
            "gallery.html",
            statuses=_STATUSES,
            amounts=_AMOUNTS,
            earlier=earlier,
            later=iso_timestamp(now + timedelta(days=2)),
            id=_ID,
            columns=_COLUMNS,
            rows=[_row(amount, currency, status, earlier, home) for (amount, currency), status in _ROWS],
            heads={"createdAt": ColumnHead(f"{home}{PATH}", "descending"), "status": ColumnHead(f"{home}{PATH}", None)},
            filters=_FILTERS,
            typed={"status": "DISBURSED", "email": "nobody", "startDate": ""},
            chips=[
                ActiveFilter("status", texts.value_label("DISBURSED"), f"{home}{PATH}"),
                ActiveFilter("donorEmail", "nobody@example.org", f"{home}{PATH}"),
            ],
            facts=shown,
            section=Section("", shown[:2], [Section("Ada Lovelace", shown[2:4])]),
            steps=_steps(earlier),
            chart=charts.build_daily_chart(counts, today),
            empty_chart=charts.build_daily_chart({}, today),
            declared=DONATIONS,
            examples={
                "wrong": mark_as_english("must be an email address"),
                "chosen": mark_as_english("is not one of these"),
            },
        )


_ROWS: Final = tuple(zip(_AMOUNTS, _STATUSES, strict=False))


def _row(amount: int, currency: str, status: str, moment: str, home: str) -> list[Cell]:
    values: tuple[Any, ...] = (amount, status, "ada@example.org", "جمعية الإغاثة Relief", moment, _ID)
    made = [Cell(column, value, currency) for column, value in zip(_COLUMNS, values, strict=True)]
    made[0] = Cell(_COLUMNS[0], amount, currency, f"{home}{DONATIONS.path}")
    return made


def _facts(label: Label, moment: str, href: str) -> list[LabelledValue]:
    facts = [
        LabelledValue("amount", 2500, "amount", currency="EUR"),
        LabelledValue("status", "DISBURSED", "status"),
        LabelledValue("createdAt", moment, "moment"),
        LabelledValue("cancelledAt", None, "moment"),
        LabelledValue("anonymous", True, "yes_no"),
        LabelledValue("waitingReason", ["verification_pending"], "values"),
        LabelledValue("organisationId", "Capital Area Food Bank", "link", href),
        LabelledValue("website", "https://www.example.org/a-long-address-that-has-no-place-to-break", "address"),
        LabelledValue("reference", None),
    ]
    return [replace(fact, label=label(fact.label)) for fact in facts]


def _steps(moment: str) -> list[TimelineStep]:
    key = "dashboard.timeline."
    return [
        TimelineStep(key + "created", "done", moment),
        TimelineStep(key + "settled", "done", moment, key + "settled.note", 2410, "USD"),
        TimelineStep(key + "payment", "waiting", note=key + "payment.hosted"),
        TimelineStep(key + "disbursed", "next"),
    ]
