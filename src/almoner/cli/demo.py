"""Create the sandbox's two demo partners, and the file ``sandbox.json`` with their API keys and URLs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from almoner.access.accounts.domain import MEMBERS_HOME, OPERATORS_HOME
from almoner.access.keys import service as keys
from almoner.access.keys.domain import Kind
from almoner.access.members.service import api_keys
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.cli.caller import MACHINE
from almoner.cli.demo_people import ensure_member_logins, ensure_operator_logins
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.sandbox.mailbox import mailbox_url
from almoner.validation.applications.configurations import service as configurations

FIRST, SECOND = "Demo product", "Demo product UK"
# The second partner settles in pounds, so that Gift Aid can be seen.
_CURRENCIES = {SECOND: ("GBP",)}
# The first partner may also move the sandbox's clock (settled 9).
_FIRST_SCOPES = frozenset({"*", "sandbox_clock"})


def read_sandbox_json(file: Path) -> dict[str, Any]:
    """Read the sandbox.json file that an earlier start wrote."""
    return dict(json.loads(file.read_text())) if file.exists() else {}


async def build_sandbox_json(db: Database, existing_content: Mapping[str, Any]) -> dict[str, Any]:
    """Build the content of sandbox.json. Existing keys are kept if they still work; the others are created again."""
    async with db.write() as tx:
        accounts = {account.name: account for account in reversed(await partners.list_accounts(tx))}
        first = accounts.get(FIRST) or await _partner(tx, FIRST)
        second = accounts.get(SECOND) or await _partner(tx, SECOND)
        first_id = tx.ids.encode("partner", first.id)
        content = {
            "baseUrl": tx.base_urls.api,
            "publishableKey": await _key(tx, first, "publishable", existing_content.get("publishableKey")),
            "secretKey": await _key(tx, first, "secret", existing_content.get("secretKey"), _FIRST_SCOPES),
            "secondSecretKey": await _key(tx, second, "secret", existing_content.get("secondSecretKey")),
            "scimKey": await _key(tx, first, "scim", existing_content.get("scimKey")),
            "partnerId": first_id,
            "mailboxUrl": mailbox_url(tx.deployment, first.id),
            "consoleUrl": f"{tx.base_urls.pages}{OPERATORS_HOME}/sign-in",
            "dashboardUrl": f"{tx.base_urls.pages}{MEMBERS_HOME}/{first_id}/sign-in",
        }
    logins = existing_content.get("logins") or {}
    operators = await ensure_operator_logins(db, logins.get("operators", ()))
    members = await ensure_member_logins(db, Partner(first.id), logins.get("members", ()))
    return {**content, "logins": {"members": members, "operators": operators}}


async def _partner(tx: Tx, name: str) -> PartnerAccount:
    """Create a partner, as `almoner partners create` does."""
    account = await partners.create(tx, name)
    await configurations.create_default(tx, Partner(account.id))
    await partners.set_scim_allowed(tx, Partner(account.id), allowed=True)
    if (currencies := _CURRENCIES.get(name)) is not None:
        await partners.update_donation_settings(tx, Partner(account.id), currencies=currencies)
    await MACHINE.record_audit_entry(tx, account.id, "partner.added", tx.ids.encode("partner", account.id))
    return account


async def _key(
    tx: Tx, account: PartnerAccount, kind: Kind, known: str | None, scopes: frozenset[str] = frozenset()
) -> str:
    """The existing secret if it is still valid for this partner, or else a new secret."""
    if known is not None:
        key = await keys.find_by_secret(tx, known)
        if key is not None and key.partner_id == account.id and key.kind == kind:
            return known
    _, secret = await api_keys.create(
        tx, Partner(account.id), MACHINE.audit_context, kind, "demo", scopes, is_created_by_administrator=True
    )
    return secret
