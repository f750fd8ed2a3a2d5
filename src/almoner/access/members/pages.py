"""The pages for a partner's members, groups, API keys and audit log, assembled for wiring."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import NavigationLink
from almoner.access.accounts.page_guard import PageContext, PageGuard
from almoner.access.members.audit_pages import AuditPages
from almoner.access.members.key_pages import ApiKeyPages
from almoner.access.members.member_pages import MemberPages
from almoner.access.people.domain import MEMBER_ROLES
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"

LINKS: Final = (
    NavigationLink("desk.link.members", "/members", frozenset(MEMBER_ROLES), group="Settings"),
    NavigationLink("desk.link.groups", "/groups", frozenset({"owner"}), group="Settings"),
    NavigationLink("desk.link.keys", "/keys", frozenset({"owner", "developer"}), group="Developers"),
    NavigationLink("desk.link.audit", "/audit", frozenset({"owner"}), group="Settings"),
)
"""The navigation entries of these pages."""


def routes(guard: PageGuard, page_renderer: PageRenderer, record_paths: Mapping[str, str]) -> list[Route]:
    """Starlette routes. ``page_renderer`` renders ``TEMPLATES``; ``record_paths``: of other slices' records by type."""
    context = PageContext(guard.db, guard, page_renderer)
    return [*MemberPages(context).routes(), *ApiKeyPages(context).routes(), *AuditPages(context, record_paths).routes()]
