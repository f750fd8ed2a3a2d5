"""The two demo partners of a sandbox, and ``sandbox.json``, where tools find their keys and addresses (house 6)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from almoner.access.keys import service as keys
from almoner.access.keys.domain import Kind
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.platform.db import Database, Partner, Tx
from almoner.sandbox.pages import mailbox_url

FIRST, SECOND = "Demo product", "Second demo product"
# The first partner may also move the sandbox's clock (settled 9).
_FIRST_SCOPES = frozenset({"*", "sandbox_clock"})


@dataclass(frozen=True, slots=True)
class Pages:
    """Addresses of the pages that exist."""

    console: str | None = None
    dashboard: str | None = None


def read_sandbox_file(file: Path) -> dict[str, Any]:
    """What an earlier start wrote."""
    return dict(json.loads(file.read_text())) if file.exists() else {}


async def sandbox_content(db: Database, known: Mapping[str, Any], pages: Pages) -> dict[str, Any]:
    """What sandbox.json holds: of the known keys those that still work, and new ones for the others."""
    async with db.write() as tx:
        accounts = {account.name: account for account in reversed(await partners.all_accounts(tx))}
        first = accounts.get(FIRST) or await partners.create(tx, FIRST)
        second = accounts.get(SECOND) or await partners.create(tx, SECOND)
        return {
            "baseUrl": tx.links.api,
            "publishableKey": await _key(tx, first, "publishable", known.get("publishableKey")),
            "secretKey": await _key(tx, first, "secret", known.get("secretKey"), _FIRST_SCOPES),
            "secondSecretKey": await _key(tx, second, "secret", known.get("secondSecretKey")),
            "scimKey": None,
            "partnerId": tx.ids.text("partner", first.id),
            "mailboxUrl": mailbox_url(tx.deployment, first.id),
            "consoleUrl": pages.console,
            "dashboardUrl": pages.dashboard,
            "logins": None,
        }


async def _key(
    tx: Tx, account: PartnerAccount, kind: Kind, known: str | None, scopes: frozenset[str] = frozenset()
) -> str:
    """The known secret when it still opens this account, else a new one."""
    if known is not None:
        key = await keys.find(tx, known)
        if key is not None and key.partner_id == account.id and key.kind == kind:
            return known
    _, secret = await keys.create(tx, Partner(account.id), kind, "demo", scopes)
    return secret
