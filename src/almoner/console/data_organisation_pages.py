"""Pages about organisations: search the registers, view records, and list unpublished organisations."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.partners import service as partners
from almoner.console.actions import ActionLink
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS, DATA_READERS, REVIEWERS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import RecordPage, RecordTable, render_record_page
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.branding.domain import BrandingOverrides
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation, OrganisationChange
from almoner.nonprofits.organisations.service import OrganisationFilters
from almoner.nonprofits.registries.domain import register_page_url
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, humanise_field_name
from almoner.screening.screenings import service as screenings
from almoner.validation.agents import service as agents

ORGANISATIONS: Final = "/organisations"
ID: Final = "organisation"
_CHANGES: Final = 100
_MOST_RANKED: Final = 300
"""The maximum number of search results that a visitor can page through."""
_LINKS: Final = frozenset({"branch_of", "succeeded_by", "same_as"})
_ACTS: Final = (
    ("brand", "Change branding", "b", ADMINISTRATORS),
    ("logo", "Upload a logo", "l", ADMINISTRATORS),
    ("compare", "Merge with another record", "m", ADMINISTRATORS),
)
_CONTACT: Final = ("contact", "Set the contact address", "c", REVIEWERS)
_REFUSE: Final = ("giving-links/refuse", "Stop giving links", "o", REVIEWERS)
_ALLOW: Final = ("giving-links/allow", "Allow giving links", "o", REVIEWERS)
_CLEAR: Final = ("brand/clear", "Remove the branding", "x", ADMINISTRATORS)
_DONE: Final = {
    "branded": "Your changes have been saved. Donors see the changes immediately.",
    "published": "The organisation has been published. All partners can now find the organisation.",
    "contact": "The contact address has been saved.",
    "refused": "The organisation no longer receives donations through giving links.",
    "allowed": "The organisation can receive donations through giving links again.",
}


class OrganisationPages:
    """Pages about organisations."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=ORGANISATIONS,
            title="Organisations",
            about="Nonprofits from all imported registers. Search by name, former name, number or ID.",
            roles=DATA_READERS,
            columns=(
                Column("Organisation"),
                Column("Registry"),
                Column("Number"),
                Column("Country"),
                Column("Status", "status"),
                Column("Donations"),
            ),
            load=self._load,
            filters=(
                Filter("query", label_member="Name, number or ID"),
                Filter("registry", label_member="Registry"),
                Filter("country", label_member="Country"),
                Filter("status", "choice", ("active", "inactive"), label_member="Status"),
            ),
            sort_order_description="best matches first, or newest first if you do not search",
            views=[("All", {}), ("Inactive", {"status": "inactive"})],
            actions=(
                (f"{ORGANISATIONS}/unpublished", "Not published"),
                (f"{ORGANISATIONS}/merges", "Merges to approve"),
            ),
        )
        self._unpublished = ConsoleList(
            path=f"{ORGANISATIONS}/unpublished",
            title="Unpublished organisations",
            about="Nonprofits that are not in any imported register are listed here. Only the partner that added a "
            "nonprofit can find it.",
            roles=DATA_READERS,
            columns=(
                Column("Organisation"),
                Column("Partner"),
                Column("Registry"),
                Column("Number"),
                Column("Country"),
                Column("Added", "age"),
            ),
            load=self._load_unpublished,
            sort_order_description="newest first",
        )

    def routes(self) -> list[Route]:
        """The Starlette routes. Routes with fixed paths come before routes with an ID."""
        return [
            *ListRouteBuilder(self._context).routes(self._unpublished, self._list),
            self._context.route(
                f"{ORGANISATIONS}/{{id}}", self.show_organisation, *sorted(DATA_READERS), methods=["GET"]
            ),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        text = query.filters.get("query", "")
        async with self._context.db.read() as tx:
            if (named := tx.ids.decode(ID, text)) is not None:
                return await _load_by_id(tx, named)
            filters = await _filters(tx, query.filters)
            if text:
                start = _position(query.cursor)
                stop = start + query.limit
                found = await organisations.search_by_text(
                    tx, ALL_PARTNERS, filters, text, start, stop + 1, best_first=True
                )
                following = str(stop)
            else:
                after = self._context.parse_id(ID, query.cursor) if query.cursor else None
                page = RequestedPage(query.limit, descending=True, position=(after.bytes,) if after else None)
                found = await organisations.list_page(tx, ALL_PARTNERS, filters, page)
                following = tx.ids.encode(ID, found.organisations[: query.limit][-1].id) if found.organisations else ""
            shown = found.organisations[: query.limit]
            more = len(found.organisations) > len(shown)
            rows = [_row(tx, one) for one in shown]
            return ListPage(rows, following if more else None, found.total, not found.is_total_exact)

    async def _load_unpublished(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        before = self._context.parse_id(ID, query.cursor) if query.cursor else None
        async with self._context.db.read() as tx:
            found = await organisations.list_unpublished_organisations(tx, before, query.limit + 1)
            shown = found[: query.limit]
            partner_names = await partners.load_partner_names_by_id(tx, [one.partner_id for one in shown])
            rows = [
                ListRow(
                    organisation_path(tx, one.id),
                    (
                        one.name,
                        partner_names[one.partner_id],
                        one.registry_code,
                        one.registry_number,
                        one.country_code,
                        one.created_at,
                    ),
                )
                for one in shown
            ]
            return ListPage(rows, tx.ids.encode(ID, shown[-1].id) if len(found) > query.limit else None)

    async def show_organisation(self, visitor: SignedInRequest) -> Response:
        """Show an organisation. The URL of a merged record redirects to the main record."""
        organisation_id = self._context.parse_id(ID, visitor.path.rpartition("/")[2])
        async with self._context.db.snapshot() as tx:
            found = await organisations.get_for_operators(tx, organisation_id)
            own = organisation_path(tx, found.id)
            if found.id != organisation_id:
                return redirect_to(visitor.portal.home + own)
            page = RecordPage(
                found.effective_display_name,
                tx.ids.encode(ID, found.id),
                _status(found),
                ORGANISATIONS,
                "Organisations",
                await self._facts(tx, visitor, found),
                actions=_offered(
                    visitor,
                    found,
                    own,
                    branded=await branding.load_branding_overrides(tx, found.id) != BrandingOverrides(),
                    opted_out=await giving_links.find_opt_out(tx, found.id) is not None,
                ),
                tables=await _tables(tx, found),
                notices=await _notices(tx, found),
            )
        return await render_record_page(self._context, visitor, page, _DONE.get(visitor.query.get("done", ""), ""))

    async def _facts(self, tx: Tx, visitor: SignedInRequest, one: Organisation) -> list[LabelledValue]:
        home = visitor.portal.home
        former = await organisations.list_former_names(tx, one.id)
        own = await branding.load_branding_overrides(tx, one.id)
        contact = await agents.find_official_contact(tx, one.id)
        opt_out = await giving_links.find_opt_out(tx, one.id)
        related = [
            LabelledValue(label, name, href=home + organisation_path(tx, other))
            for label, other in (("Branch of", one.branch_of), ("Succeeded by", one.succeeded_by))
            if other
            for name in (await organisations.load_display_names_by_id(tx, ALL_PARTNERS, [other])).values()
        ]
        currencies = ", ".join(one.donation_currencies)
        return [
            LabelledValue("Registered name", one.name),
            LabelledValue("Second line of the organisation's name", one.secondary_name),
            LabelledValue("Other names", "; ".join(one.other_names)),
            LabelledValue("Former names", "; ".join(f"{name.name} (until {name.until.date()})" for name in former)),
            LabelledValue("Registry", f"{one.registry_name} ({one.registry_code})"),
            LabelledValue(
                "Registry number",
                one.registry_number,
                href=register_page_url(one.registry_code, one.registry_number) or None,
            ),
            LabelledValue("Country", one.country_code),
            LabelledValue("Address", one.address),
            LabelledValue("Websites", " ".join(one.websites)),
            LabelledValue("Contact address", f"{contact.email} ({contact.source})" if contact else None),
            LabelledValue("Types", ", ".join(humanise_field_name(kind) for kind in one.types)),
            LabelledValue(
                "Activities", ", ".join(SUB_TAGS[code].name for code in one.activities or () if code in SUB_TAGS)
            ),
            LabelledValue("Registered", str(one.registration_date.date()) if one.registration_date else None),
            LabelledValue("Data as of", str(one.data_as_of.date()) if one.data_as_of else None),
            LabelledValue(
                "Donations",
                f"Accepted in {currencies}" if one.accepts_donations else f"Refused: {one.donation_refusal_reason}",
            ),
            LabelledValue("Giving links", f"Stopped: {opt_out.reason}" if opt_out else None),
            *related,
            LabelledValue("Description", one.description),
            LabelledValue("Custom display name", own.display_name),
            LabelledValue("Custom description", own.description),
            LabelledValue("Brand colour", own.primary_color),
            LabelledValue("Logo and images", ", ".join([*(["logo"] if own.logo else []), *_counted(len(own.images))])),
        ]


def _counted(images: int) -> list[str]:
    return [f"{images} image{'s' if images > 1 else ''}"] if images else []


def organisation_path(tx: Tx, organisation_id: UUID) -> str:
    """The path of an organisation's page, below ``/operator``."""
    return f"{ORGANISATIONS}/{tx.ids.encode(ID, organisation_id)}"


async def _load_by_id(tx: Tx, organisation_id: UUID) -> ListPage:
    """The organisation with this ID."""
    try:
        return ListPage([_row(tx, await organisations.get_for_operators(tx, organisation_id))], total=1)
    except NotFound:
        return ListPage([], total=0)


def _position(cursor: str | None) -> int:
    """The offset of the first search result on the page. Raises IncorrectParams."""
    if cursor is None:
        return 0
    if not cursor.isdecimal() or not cursor.isascii() or len(cursor) > 4 or int(cursor) > _MOST_RANKED:
        raise IncorrectParams("cursor: this page address is not valid; start from the first page")
    return int(cursor)


async def _filters(tx: Tx, given: Mapping[str, str]) -> OrganisationFilters:
    country, status = given.get("country"), given.get("status")
    if country and not (len(country) == 3 and country.isascii() and country.isalpha()):
        raise IncorrectParams("country: enter a three-letter country code, such as GBR")
    if status not in (None, "active", "inactive"):
        raise IncorrectParams("status: choose a status from the list")
    wanted = OrganisationFilters(
        country_code=country.upper() if country else None, active=None if status is None else status == "active"
    )
    try:
        return await organisations.resolve_filters(
            tx, wanted, registry_name=given.get("registry"), registry_number=None
        )
    except IncorrectParams:
        raise IncorrectParams("registry: enter the code or the name of a registry, such as IRS") from None


def _status(one: Organisation) -> str:
    return "unpublished" if one.partner_id else one.inactive_reason or "active"


def _row(tx: Tx, one: Organisation) -> ListRow:
    donations = "Accepted" if one.accepts_donations else "Refused"
    values = (
        one.effective_display_name,
        one.registry_code,
        one.registry_number,
        one.country_code,
        _status(one),
        donations,
    )
    return ListRow(organisation_path(tx, one.id), values)


def _offered(
    visitor: SignedInRequest, one: Organisation, own: str, *, branded: bool, opted_out: bool
) -> list[ActionLink]:
    roles = visitor.person.roles
    if one.partner_id:
        return [ActionLink(f"{own}/publish", "Publish", "p")] if roles & REVIEWERS else []
    shown = (*_ACTS, _CONTACT, _ALLOW if opted_out else _REFUSE, *([_CLEAR] if branded else []))
    return [ActionLink(f"{own}/{path}", words, key) for path, words, key, allowed in shown if roles & allowed]


async def _notices(tx: Tx, one: Organisation) -> list[str]:
    if one.partner_id is None:
        return []
    names = await partners.load_partner_names_by_id(tx, [one.partner_id])
    return [
        (
            "No register lists this organisation. Only the partner that added this record can find it: "
            f"{names[one.partner_id]}."
        )
    ]


async def _tables(tx: Tx, one: Organisation) -> list[RecordTable]:
    scope = Partner(one.partner_id) if one.partner_id else ALL_PARTNERS
    merged = await organisations.list_merged_records(tx, one.id)
    changes, total = await organisations.list_changes(tx, scope, one.id, RequestedPage(_CHANGES, descending=True))
    shown = changes[:_CHANGES]
    return [
        _sources(one),
        *([_records(tx, one, merged)] if merged else []),
        await _screening(tx, [one, *merged]),
        RecordTable(
            "History",
            [Column("Data as of"), Column("Change"), Column("Before"), Column("After"), Column("Source")],
            [ListRow("", _change_values(tx, change)) for change in shown],
            "No register has changed this record since it was first imported.",
            f"The newest {_CHANGES} of {total:,} changes." if total > len(shown) else "",
        ),
    ]


def _sources(one: Organisation) -> RecordTable:
    rows = [
        ListRow(
            "",
            (
                source.source_code or "Entered by a partner",
                source.registry_name,
                source.registry_number,
                str(source.data_as_of.date()) if source.data_as_of else None,
                "Import format never tested on a real file" if source.is_format_unverified else "Verified",
            ),
        )
        for source in one.sources
    ]
    return RecordTable(
        "Sources",
        [Column("Source"), Column("Registry"), Column("Number"), Column("Data as of"), Column("Format")],
        rows,
        "No source.",
    )


def _records(tx: Tx, primary: Organisation, merged: Sequence[Organisation]) -> RecordTable:
    """A table of merged records, each with a link that compares it with the primary record."""
    compare = f"{organisation_path(tx, primary.id)}/compare?other="
    return RecordTable(
        "Other records of this organisation",
        [Column("Name"), Column("Registry"), Column("Number"), Column("Status", "status")],
        [
            ListRow(
                f"{compare}{tx.ids.encode(ID, one.id)}",
                (one.full_name, one.registry_code, one.registry_number, _status(one)),
            )
            for one in merged
        ],
    )


async def _screening(tx: Tx, records: Sequence[Organisation]) -> RecordTable:
    """A table of the watchlist screening of each record: its result, and the number of matches by decision."""
    rows = []
    for one in records:
        subject = await screenings.find_screened_subject(tx, "organisation", one.id)
        if subject is None:
            continue
        matches = await screenings.list_matches(tx, subject.id)
        counts = [
            sum(match.current and match.decision == decision for match in matches)
            for decision in ("open", "confirmed", "cleared")
        ]
        obstacle = humanise_field_name(subject.obstacle) if subject.obstacle else None
        rows.append(
            ListRow(
                "",
                (
                    f"{one.registry_code} {one.registry_number}",
                    _result(subject.manual_result, *counts[:2]),
                    subject.screened_at,
                    "Yes" if subject.is_monitored else "No",
                    *counts,
                    obstacle,
                ),
            )
        )
    return RecordTable(
        "Watchlist screening",
        [
            Column("Record"),
            Column("Result", "status"),
            Column("Screened", "moment"),
            Column("Monitored"),
            Column("Open matches"),
            Column("Confirmed"),
            Column("Cleared"),
            Column("Why it cannot be compared"),
        ],
        rows,
        "This organisation has never been screened against watchlists, because no partner has validated, monitored "
        "or verified it.",
    )


def _result(manual: str | None, waiting: int, confirmed: int) -> Literal["in_review", "flagged", "clear"]:
    if confirmed or manual not in (None, "clear"):
        return "flagged"
    return "in_review" if waiting else "clear"


def _change_values(tx: Tx, change: OrganisationChange) -> tuple[object, ...]:
    words = f"{humanise_field_name(change.kind)}: {humanise_field_name(change.field)}"
    values = (_value_text(tx, change.field, value) for value in (change.before, change.after))
    return str(change.at.date()), words, *values, change.source


def _value_text(tx: Tx, field: str, value: object) -> str | None:
    if value is None or value == [] or value == "":
        return None
    if field in _LINKS and isinstance(value, str):
        return tx.ids.encode(ID, UUID(value))
    if isinstance(value, list):
        return "; ".join(str(one) for one in value)
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(value)
