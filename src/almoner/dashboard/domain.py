"""Permissions of members on the dashboard, and declarations of record lists; pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.access.people.domain import MEMBER_ROLES, Role
from almoner.platform.http.caller import NAMED_ONLY, SUPPORT_REFUNDS
from almoner.platform.pages.record_tables import Column, Filter

PERSONAL: Final = "donations:personal"
"""The scope that shows who donors are (settled 11)."""
_EVERYTHING: Final = "*"

_VIEW: Final = frozenset(
    f"{records}:read"
    for records in (
        "activities",
        "agent_verifications",
        "categories",
        "disbursements",
        "donation_requests",
        "donation_sessions",
        "donation_subscriptions",
        "donations",
        "eligibility_subscriptions",
        "giving_links",
        "monetary_donation_verifications",
        "monitoring_subscriptions",
        "organisations",
        "registries",
        "users",
        "validation_configurations",
        "validation_invites",
        "validation_requests",
        "validation_submissions",
    )
)
"""The read scopes of every role."""

_MORE: Final[Mapping[Role, frozenset[str]]] = {
    "owner": frozenset({_EVERYTHING, PERSONAL}),
    "developer": frozenset({"events:read", "webhooks:read", "webhooks:write", "api_requests:read"}),
    "reviewer": frozenset(
        {
            "agent_verifications:write",
            "eligibility_subscriptions:write",
            "monitoring_subscriptions:write",
            "validation_configurations:write",
            "validation_invites:write",
            "validation_requests:write",
            "validation_submissions:write",
        }
    ),
    "finance": frozenset(
        {
            PERSONAL,
            "donation_sessions:write",
            "donation_subscriptions:write",
            "donations:write",
            "giving_links:write",
        }
    ),
    "support": frozenset({PERSONAL, "events:read", SUPPORT_REFUNDS}),
    "read_only": frozenset(),
}

EXPORTERS: Final[Mapping[str, frozenset[Role]]] = {
    "Donations": frozenset({"owner", "finance"}),
    "Nonprofits": frozenset({"owner", "finance", "reviewer"}),
    "Validations": frozenset({"owner", "reviewer"}),
    "Developers": frozenset({"owner", "developer"}),
}
"""The roles that may export lists, by area."""

EXPORT_RETENTION: Final = timedelta(days=7)
"""How long a file that a job prepared can be downloaded."""

VIEW_RETENTION: Final = timedelta(days=395)
"""How long views of donors' data are recorded: thirteen months."""

REPORT_READERS: Final[frozenset[Role]] = frozenset({"owner", "finance"})
"""The roles that may read financial reports and close months."""

REFUNDERS: Final[frozenset[Role]] = frozenset({"owner", "finance", "support"})
"""The roles that may refund donations; support up to the limit that owners set."""

RECEIPT_SENDERS: Final[frozenset[Role]] = frozenset({"owner", "finance", "support"})
"""The roles that may resend a donor's receipt."""


def scopes_for_roles(roles: Iterable[Role]) -> frozenset[str]:
    """The API scopes of members with these roles (settled 2)."""
    held = [_VIEW | _MORE[role] for role in roles if role in _MORE]
    return frozenset().union(*held)


def has_scope(roles: Iterable[Role], scope: str) -> bool:
    """Whether members with these roles may make calls that need the scope."""
    scopes = scopes_for_roles(roles)
    return scope in scopes or (_EVERYTHING in scopes and scope not in NAMED_ONLY)


def roles_with_scope(scope: str) -> frozenset[Role]:
    """The roles whose members may make calls that need the scope."""
    return frozenset(role for role in MEMBER_ROLES if has_scope([role], scope))


FieldKind = Literal[
    "text",
    "long_text",
    "language",
    "choice",
    "choices",
    "codes",
    "lines",
    "amount",
    "amounts",
    "tick",
    "day",
    "last_day",
    "nonprofits",
    "category",
    "configuration",
]
"""``codes``: several codes, separated by commas. ``lines``, ``amounts``: one per line.

``day``: from its start; ``last_day``: to its end. ``nonprofits``: selected by a search within the form.
"""
Area = Literal["Donations", "Nonprofits", "Validations", "Developers"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form. ``member``: the member of the request body; ``hint``: the end of its hint's key.

    ``choices``: the values of a kind with few. ``label_member``: the member whose label it uses, if not its own.
    ``initial_value``: the value in a form for a new record. ``advanced``: it is below the others, behind "More
    options".
    """

    member: str
    hint: str = ""
    kind: FieldKind = "text"
    required: bool = False
    label_member: str = ""
    choices: tuple[str, ...] = ()
    initial_value: str | tuple[str, ...] = ""
    advanced: bool = False

    @property
    def label_field_name(self) -> str:
        """The member whose label the field shows."""
        return self.label_member or self.member


@dataclass(frozen=True, slots=True)
class RecordForm:
    """The form that creates a record. Its title and explanations are texts of the list."""

    scope: str
    fields: tuple[FormField, ...]


@dataclass(frozen=True, slots=True)
class RecordAction:
    """An action on a record after confirmation: ``POST`` to its ``path``, or ``PATCH`` of the record.

    Its label, effects and success message are texts of the list. ``allowed_statuses``: the values of ``status_field``
    for which it is offered; none: always. ``requires_reauthentication``: requires a recent reauthentication.
    ``fields``: what the form asks for. ``fixed_values``: further members that it changes.
    """

    path: str
    scope: str
    allowed_statuses: frozenset[object] = frozenset()
    requires_reauthentication: bool = False
    fields: tuple[FormField, ...] = ()
    method: Literal["POST", "PATCH"] = "POST"
    fixed_values: Mapping[str, object] = field(default_factory=dict, hash=False)
    status_field: str = "status"

    def is_offered(self, record: Mapping[str, object]) -> bool:
        """Whether the action is available for the record."""
        return not self.allowed_statuses or record.get(self.status_field) in self.allowed_statuses


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order of a list. ``column``: may be one that the list does not show; empty: newest first."""

    column: Column | None = None
    ascending: bool = False

    @property
    def page_parameters(self) -> list[tuple[str, str]]:
        """The query parameters of the list page for this order; none for the default order."""
        if self.column is None or (self.column.sort == "id" and not self.ascending):
            return []
        return [("sort", self.column.member), ("direction", self.direction)]

    @property
    def api_parameters(self) -> list[tuple[str, str]]:
        """The API parameters for this order."""
        by = None if self.column is None or self.column.sort == "id" else self.column.sort
        return [*([("sort", by)] if by else []), ("direction", self.direction)] if self.page_parameters else []

    @property
    def direction(self) -> str:
        """The direction as an API parameter."""
        return "ASC" if self.ascending else "DESC"

    @property
    def caption_key(self) -> str:
        """The key of the text that describes the order."""
        if self.column is not None and self.column.sort != "id":
            return f"dashboard.list.by_{self.column.sort}"
        return "dashboard.list.oldest" if self.ascending else "dashboard.list.newest"

    def toggle_column(self, column: Column) -> "SortOrder":
        """The order that the column's head links to: A to Z, first status or day, newest or largest first.

        If the list has that order already, the reverse.
        """
        if column == self.column:
            return SortOrder(column, not self.ascending)
        return SortOrder(column, ascending=column.sort not in ("id", "amount"))


@dataclass(frozen=True, slots=True)
class RecordList:
    """A list of records, and the page of each record.

    ``path``: below the account's path. ``api_path``: the API's list, whose scope and filters apply; empty if the
    dashboard has a source of its own. ``id_type``: of its records (settled 1); its texts are named after it.
    ``has_note``: it has a text above it for everybody. ``form``: for a new record.
    """

    area: Area
    path: str
    api_path: str
    scope: str
    id_type: str
    columns: tuple[Column, ...]
    filters: tuple[Filter, ...] = ()
    form: RecordForm | None = None
    actions: tuple[RecordAction, ...] = ()
    has_note: bool = False
    has_total_count: bool = True
    """Whether the number of matching records is known."""
    is_paged: bool = True
    """Whether the API call returns it in pages."""
    template: str = "record.html"
    """The template of a record's page."""
    image: str = ""
    """The name of the records' image in the API call that uploads it and in the path of the upload page."""
    preview: bool = False
    """Whether the forms have a preview, which is at ``preview`` below the record's path."""

    def label_field_name(self, field: str) -> str:
        """The name of the field whose label is shown for a field of a record."""
        return next((column.label for column in self.columns if column.member == field), field)

    @property
    def contains_donor_data(self) -> bool:
        """Whether its records contain donors' personal data."""
        return any(column.kind == "donor" for column in self.columns)

    def translation_key(self, suffix: str) -> str:
        """The key of one of its texts: ``title``, ``singular``, ``about``, ``new.label``, ``cancel.done``."""
        return f"dashboard.list.{self.id_type}.{suffix}"

    @property
    def query_parameter_names(self) -> tuple[str, ...]:
        """The names of its query parameters."""
        return (*(one.parameter for one in self.filters), "sort", "direction")

    @property
    def statuses(self) -> tuple[str, ...]:
        """The statuses it can be filtered by, in the order of the lifecycle."""
        return next((one.choices for one in self.filters if one.parameter == "status"), ())

    def sortable_columns(self, filters: Collection[str]) -> list[Column]:
        """The columns by which the list can be sorted with these filters."""
        by_status = self.statuses and "status" not in filters
        return [
            one
            for one in self.columns
            if one.sort and (one.sort == "id" or (by_status if one.sort == "status" else not filters))
        ]

    def parse_sort_order(self, column_name: str, direction: str, filters: Collection[str]) -> SortOrder:
        """The requested order; the default order if it is not offered."""
        columns = self.sortable_columns(filters)
        usual = next((one for one in columns if one.sort == "id"), None)
        chosen = next((one for one in columns if one.member == column_name), None)
        return SortOrder(chosen, direction == "ASC") if chosen else SortOrder(usual)


@dataclass(frozen=True, slots=True)
class SavedView:
    """A member's saved view of a list. ``list``: its path; ``query``: the filters as in the list's URL."""

    id: UUID
    list: str
    name: str
    query: str


@dataclass(frozen=True, slots=True)
class CsvExport:
    """A list as a CSV file that a job prepares for one person.

    ``list``, ``query``: like a saved view's, with the order.

    ``contains_donor_data``: whether it names donors. ``storage_key``: the file's key in the storage, once it is ready.
    """

    id: UUID
    person_id: UUID
    list: str
    query: str
    contains_donor_data: bool
    status: Literal["pending", "ready", "failed"]
    storage_key: str | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DonorDataAccess:
    """A record that a member viewed one donor's data."""

    person_id: UUID
    viewed_at: datetime
