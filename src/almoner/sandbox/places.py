"""The pages of a sandbox that its front page links to."""

from typing import Final

from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Database

_MOST: Final = 5


async def sandbox_page_names_by_path(db: Database) -> dict[str, str]:
    """The paths of the sandbox's pages, with their names, for its front page."""
    async with db.read() as tx:
        accounts = await partners.list_accounts(tx, _MOST)
    ids = db.deployment.ids
    dashboards = {
        f"/account/{ids.encode('partner', one.id)}/sign-in": f"Dashboard of {one.name} (logins: sandbox.json)"
        for one in accounts
    }
    return {
        "/docs/": "Start here: quick start, guides and API reference",
        **dashboards,
        "/sandbox/mailbox": "Mailbox: every email that was sent",
        "/operator/sign-in": "Operator console: reviews and approvals",
        "/openapi.json": "OpenAPI description",
    }
