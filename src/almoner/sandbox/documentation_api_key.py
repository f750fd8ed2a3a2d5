"""Tells the documentation's pages whether they belong to a sandbox, and a developer who is signed in the sandbox's key.

Keys are stored as hashes; the demo partner's is known from ``sandbox.json`` alone.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from almoner.access.accounts.domain import AccountPortal, build_member_portal
from almoner.access.accounts.page_guard import PageGuard
from almoner.access.partners import service as partners
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people.domain import Realm, Role
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.headers import NO_PAGE

PATH: Final = "/sandbox/documentation-key"
SANDBOX_FILE: Final = "sandbox.json"
_ROLES: Final[tuple[Role, ...]] = ("owner", "developer")
"""Roles that may create keys."""


class DocumentationApiKeyEndpoint:
    """Fills the demo partner's API key in on documentation pages for its members."""

    def __init__(self, guard: PageGuard, data_dir: Path) -> None:
        self._guard = guard
        self._file = data_dir / SANDBOX_FILE

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route(PATH, self.show, methods=["GET"])]

    async def show(self, request: Request) -> Response:
        """The key of the partner at which an owner or developer is signed in, or where to sign in."""
        known = await asyncio.to_thread(self._read)
        place = await self._portal(known.get("partnerId", ""))
        told: dict[str, str | None] = {"key": None, "partner": None, "signIn": None}
        if place is not None:
            visitor = await self._guard.find_signed_in_request(request, place)
            may = visitor is not None and visitor.person.has_role(*_ROLES)
            key = known.get("secretKey") if may else None
            told = {"key": key, "partner": place.title, "signIn": f"{place.home}/sign-in"}
        return JSONResponse(told, headers=NO_PAGE)

    def _read(self) -> dict[str, Any]:
        return dict(json.loads(self._file.read_text("utf-8"))) if self._file.is_file() else {}

    async def _portal(self, name: str) -> AccountPortal | None:
        partner_id = self._guard.db.deployment.ids.decode("partner", name)
        if partner_id is None:
            return None
        async with self._guard.db.read() as tx:
            try:
                account = await partners.get(tx, Partner(partner_id))
            except NoSuchPartner:
                return None
        return build_member_portal(Realm(partner_id), name, account.name)
