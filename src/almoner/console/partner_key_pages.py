"""Pages about a partner's API keys: create, rotate and revoke keys. Secrets are shown only once."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final, get_args
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.keys.domain import ApiKey, Kind
from almoner.access.members.service import api_keys
from almoner.access.partners.domain import PartnerAccount
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import PATH, get_api_key_from_url, get_partner_from_url, partner_page_path
from almoner.kit.errors import IncorrectParams
from almoner.kit.rates import RequestRate
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.caller import KeyKind

KEY_KINDS: Final[Mapping[Kind, str]] = {
    "secret": "Secret key",
    "publishable": "Publishable key",
    "scim": "Directory key (SCIM)",
}


def default_rate_limit(context: ConsoleContext, key_kind: Kind) -> RequestRate:
    """The deployment's default rate limit for a kind of key."""
    limit = context.services.rate_limits.limit_for_key(KeyKind(key_kind), None)
    return RequestRate(limit.rate, limit.burst)


class PartnerKeyPages:
    """Pages about partner keys."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, action_pages: ActionPages) -> list[Route]:
        """Starlette routes. Pages that show a secret require a recent reauthentication."""
        context, roles = self._context, sorted(ADMINISTRATORS)
        return [
            context.route(f"{PATH}/{{id}}/keys/new", self.create, *roles, requires_reauthentication=True),
            context.route(f"{PATH}/{{id}}/keys/{{key}}/rotate", self.rotate, *roles, requires_reauthentication=True),
            *action_pages.routes(self._revoke_action()),
        ]

    async def create(self, visitor: SignedInRequest) -> Response:
        """Show the form for a new key, then its secret. The secret is shown only once."""
        typed = {name: visitor.form_value(name).strip() for name in ("name", "kind", "scopes")}
        problems: dict[str, str] = {}
        async with self._context.db.read() as tx:
            account = await get_partner_from_url(tx, visitor)
        if visitor.form:
            try:
                return await self._create(visitor, account, typed)
            except IncorrectParams as error:
                problems = problems_by_field(error, "name")
        return await self._context.render_console_page(
            visitor,
            "partner_key_new.html",
            status=422 if problems else 200,
            account=account,
            path=f"{PATH}/{self._context.format_id('partner', account.id)}",
            kinds=list(KEY_KINDS.items()),
            typed=typed,
            problems=problems,
        )

    async def _create(
        self, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
    ) -> Response:
        kind: Kind | None = next((one for one in get_args(Kind) if one == entered_values["kind"]), None)
        if kind is None:
            raise IncorrectParams("kind: select a key type")
        scopes = frozenset(entered_values["scopes"].replace(",", " ").split())
        by, name, partner = self._context.audit_context(visitor), entered_values["name"], Partner(account.id)

        async def create(tx: Tx) -> tuple[UUID, str]:
            key, secret = await api_keys.create(tx, partner, by, kind, name, scopes, is_created_by_administrator=True)
            return key.id, secret

        async def record_again(tx: Tx, shown: tuple[UUID, str]) -> None:
            await api_keys.record_secret_shown_again(tx, by, await api_keys.get(tx, partner, shown[0]))

        async with self._context.db.write() as tx:
            _, secret = await visitor.apply_form_once(
                tx, partial(create, tx), tuple[UUID, str], partial(record_again, tx)
            )
        return await self._secret(visitor, account, f"Key {name} was created", secret)

    async def rotate(self, visitor: SignedInRequest) -> Response:
        """Show a form that asks how long the old key stays valid, then the secret of the new key.

        The secret is shown only once.
        """
        problems: dict[str, str] = {}
        overlap = visitor.form_value("overlap").strip() or "24"
        if visitor.form:
            try:
                return await self._rotate(visitor, overlap)
            except IncorrectParams as error:
                problems = problems_by_field(error, "overlap")
        async with self._context.db.read() as tx:
            account, key = await get_partner_from_url(tx, visitor), await get_api_key_from_url(tx, visitor)
            path = partner_page_path(tx, account)
        return await self._context.render_console_page(
            visitor,
            "partner_key_rotate.html",
            status=422 if problems else 200,
            account=account,
            key=key,
            path=path,
            overlap=overlap,
            problems=problems,
        )

    async def _rotate(self, visitor: SignedInRequest, overlap: str) -> Response:
        if not (overlap.isascii() and overlap.isdecimal() and len(overlap) <= 3):
            raise IncorrectParams("overlap: enter a number of hours, for example 24")

        by, hours = self._context.audit_context(visitor), timedelta(hours=int(overlap))

        async def rotate(tx: Tx, old: ApiKey) -> tuple[UUID, str]:
            key, secret = await api_keys.rotate(tx, by, old, hours, may_grant_donor_data=True)
            return key.id, secret

        async def record_again(tx: Tx, old: ApiKey, shown: tuple[UUID, str]) -> None:
            key = await api_keys.get(tx, Partner(old.partner_id), shown[0])
            await api_keys.record_secret_shown_again(tx, by, key, old_key=old)

        async with self._context.db.write() as tx:
            account, old = await get_partner_from_url(tx, visitor), await get_api_key_from_url(tx, visitor)
            _, secret = await visitor.apply_form_once(
                tx, partial(rotate, tx, old), tuple[UUID, str], partial(record_again, tx, old)
            )
        return await self._secret(visitor, account, f"Key {old.name} was replaced", secret)

    async def _secret(self, visitor: SignedInRequest, account: PartnerAccount, title: str, secret: str) -> Response:
        return await self._context.render_console_page(
            visitor,
            "partner_secret.html",
            title=title,
            path=f"{PATH}/{self._context.format_id('partner', account.id)}",
            partner=account.name,
            secrets=[("Secret", secret)],
        )

    def _revoke_action(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            account, key = await get_partner_from_url(tx, visitor), await get_api_key_from_url(tx, visitor)
            return ActionPage(
                "Revoke key",
                "Revoke key",
                partner_page_path(tx, account),
                account.name,
                [
                    f"The {KEY_KINDS[key.kind].lower()} {key.name} (...{key.hint}) stops working within a second.",
                    (
                        "All requests with this key will fail. Revoking a key cannot be undone. The partner does not "
                        "get an email."
                    ),
                ],
                closed="This key has been revoked." if key.revoked_at else None,
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            account, key = await get_partner_from_url(tx, visitor), await get_api_key_from_url(tx, visitor)
            await api_keys.revoke(tx, self._context.audit_context(visitor), key)
            return partner_page_path(tx, account)

        return ConsoleAction(
            f"{PATH}/{{id}}/keys/{{key}}/revoke", ADMINISTRATORS, describe, perform, requires_reauthentication=True
        )
