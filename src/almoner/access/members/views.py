"""What the members' pages have in common: who is at the door, roles in words, and lists in pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME, ROLE_NAMES
from almoner.access.accounts.page_guard import PageGuard, Visitor, VisitorHandler
from almoner.access.credentials.domain import AuditContext
from almoner.access.people.domain import MEMBER_ROLES, MemberRole, Role
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.pages.rendering import PageRenderer

PAGE_SIZE: Final = 50
"""Entries of a list on one page."""

ROLE_DESCRIPTIONS: Final[dict[MemberRole, str]] = {
    "owner": "Manages members, groups, API keys and sign-in settings. Views the audit log. Includes all other roles.",
    "developer": "Creates, rotates and revokes API keys.",
    "reviewer": "Reviews nonprofits and makes decisions about them.",
    "finance": "Views donations, settlements and disbursements.",
    "read_only": "Views records but cannot change anything.",
}

ROLE_CHOICES: Final = [
    {"id": role, "name": ROLE_NAMES[role], "means": ROLE_DESCRIPTIONS[role]} for role in MEMBER_ROLES
]
"""For the forms."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class PageContext:
    """What every page here is made with."""

    db: Database
    gate: PageGuard
    pages: PageRenderer

    def route(
        self,
        path: str,
        page: VisitorHandler,
        *roles: Role,
        fresh: bool = False,
        methods: Sequence[str] = ("GET", "POST"),
    ) -> Route:
        """A page under the partner's ``/account/{partner}``, for members with one of the roles.

        ``fresh``: they must have proved within the last minutes who they are.
        """
        return self.gate.protected_route(
            f"{MEMBERS_HOME}/{{partner}}{path}", page, *roles, fresh=fresh, methods=methods
        )

    def render_page(self, visitor: Visitor, template: str, *, status: int = 200, **context: object) -> Response:
        """A page in the visitor's frame."""
        return self.gate.render_page(self.pages, visitor, template, status=status, passkeys=False, **context)

    def id_text(self, type_: str, record: UUID) -> str:
        """An identifier as pages show it."""
        return self.db.deployment.ids.text(type_, record)

    def id_from_path(self, visitor: Visitor, type_: str) -> UUID:
        """The record that the end of the address names. Raises NotFound."""
        return self.parse_id(type_, visitor.path.rpartition("/")[2])

    def after_id(self, visitor: Visitor, type_: str) -> UUID | None:
        """After which record the page of a list begins; None: with the first. Raises NotFound."""
        name = visitor.query.get("after")
        return None if name is None else self.parse_id(type_, name)

    def parse_id(self, type_: str, name: str) -> UUID:
        """The record of an identifier. Raises NotFound."""
        found = self.db.deployment.ids.parse(type_, name)
        if found is None:
            raise NotFound
        return found

    def audit_context(self, visitor: Visitor) -> AuditContext:
        """The visitor, for the audit log."""
        return visitor.audit_context(self.db.deployment.ids)


def partner_of(visitor: Visitor) -> Partner:
    """Whose member the visitor is."""
    return Partner(visitor.realm.id)


def trim_to_page_size(found: list[Item]) -> tuple[list[Item], bool]:
    """What a page shows of one more than fits, and whether there is more."""
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE
