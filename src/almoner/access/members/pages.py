"""The pages of a partner's members, groups, keys and audit log, put together for wiring."""

from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import Link
from almoner.access.accounts.gate import Gate
from almoner.access.members.audit_pages import AuditPages
from almoner.access.members.key_pages import KeyPages
from almoner.access.members.member_pages import MemberPages
from almoner.access.members.views import Desk
from almoner.access.people.domain import MEMBER_ROLES
from almoner.platform.pages.rendering import Pages

TEMPLATES: Final = Path(__file__).parent / "templates"

LINKS: Final = (
    Link("Members", "/members", frozenset(MEMBER_ROLES)),
    Link("Groups", "/groups", frozenset({"owner"})),
    Link("API keys", "/keys", frozenset({"owner", "developer"})),
    Link("Audit log", "/audit", frozenset({"owner"})),
)
"""For the navigation."""


def routes(gate: Gate, pages: Pages) -> list[Route]:
    """Starlette routes. ``pages``: of ``TEMPLATES``."""
    desk = Desk(gate.db, gate, pages)
    return [*MemberPages(desk).routes(), *KeyPages(desk).routes(), *AuditPages(desk).routes()]
