"""Pages about partners: list and create partners, and view their settings, keys and members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.keys import service as keys
from almoner.access.keys.domain import ApiKey, Kind
from almoner.access.members import service as members
from almoner.access.members.domain import Group, MembershipState
from almoner.access.members.service import api_keys
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.access.sso import service as sso
from almoner.console.actions import ActionPages
from almoner.console.context import ConsoleContext, Counter
from almoner.console.links import ADMINISTRATORS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.logo_uploads import LOGO, handle_logo_upload
from almoner.console.operator_start_page import StartPageSection
from almoner.console.partner_group_actions import identity_provider_facts, partner_group_actions, role_label
from almoner.console.partner_ids import PATH, get_partner_from_url, partner_page_path
from almoner.console.partner_key_pages import KEY_KINDS, PartnerKeyPages, default_rate_limit
from almoner.console.partner_member_actions import partner_member_actions
from almoner.console.partner_settings_actions import partner_settings_actions
from almoner.console.partner_view_pages import PartnerViewPages
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.kit.errors import NotFound
from almoner.kit.rates import RequestRate
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files.images import Image
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue
from almoner.validation.applications.configurations import service as configurations

COUNTERS: Final[dict[str, Counter]] = {}
_MEMBERS: Final = 100
_GROUPS: Final = 100


def start_page_sections(_context: ConsoleContext) -> Sequence[StartPageSection]:
    """Returns no sections, because partner pages have no items that operators need to handle."""
    return []


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    pages = _PartnerPages(context)
    actions = ActionPages(context)
    roles = sorted(ADMINISTRATORS)
    return [
        *ListRouteBuilder(context).routes(pages.declared()),
        context.route(f"{PATH}/new", pages.create, *roles, requires_reauthentication=True),
        *actions.routes(
            *partner_settings_actions(context), *partner_member_actions(context), *partner_group_actions(context)
        ),
        context.route(f"{PATH}/{{id}}/logo", pages.logo, *roles, upload=LOGO),
        *PartnerKeyPages(context).routes(actions),
        *PartnerViewPages(context).routes(actions),
        context.route(f"{PATH}/{{id}}", pages.show, *roles, methods=["GET"]),
    ]


@dataclass(frozen=True, slots=True)
class _NewPartner:
    """A partner that was created, and the secrets of its first keys."""

    id: UUID
    key_ids: Sequence[UUID]
    secret: str
    publishable: str


class _PartnerPages:
    """The pages: the list of partners, the form for a new partner, and a page for each partner."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def declared(self) -> ConsoleList:
        """The list."""
        return ConsoleList(
            PATH,
            "Partners",
            "A partner is a product that uses this service with its own API keys. Create the first partner.",
            ADMINISTRATORS,
            [
                Column("Name"),
                Column("Partner", "id"),
                Column("Created", "moment"),
                Column("Settlement currencies"),
                Column("Card testing until", "moment"),
                Column("Paused since", "moment"),
            ],
            self._load,
            filters=[Filter("name", label_member="Name")],
            actions=[(f"{PATH}/new", "Create partner")],
        )

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        name = query.filters.get("name")
        after = None if query.cursor is None else self._context.parse_id("partner", query.cursor)
        async with self._context.db.read() as tx:
            found = await partners.list_accounts_page(tx, name, after, query.limit + 1)
            total = await partners.count_accounts(tx, name)
            tested = await card_testing.load_active_alert_expiries_by_partner(tx)
        rows = []
        for one in found[: query.limit]:
            text = self._context.format_id("partner", one.id)
            currencies = ", ".join(one.settlement_currencies)
            shown = (one.name, text, one.created_at, currencies, tested.get(one.id, ""), one.paused_at or "")
            rows.append(ListRow(f"{PATH}/{text}", shown))
        last = self._context.format_id("partner", found[query.limit - 1].id) if len(found) > query.limit else None
        return ListPage(rows, last, total)

    async def create(self, visitor: SignedInRequest) -> Response:
        """Show the form for a new partner, then the secrets of its keys. The secrets are shown only once."""
        name = " ".join(visitor.form_value("name").split())
        problems: dict[str, str] = {}
        if visitor.form:
            if 1 <= len(name) <= partners.LONGEST_NAME:
                return await self._create(visitor, name)
            problems = {"name": f"Enter 1 to {partners.LONGEST_NAME} characters."}
        status = 422 if problems else 200
        return await self._context.render_console_page(
            visitor, "partner_new.html", status=status, name=name, problems=problems
        )

    async def _create(self, visitor: SignedInRequest, name: str) -> Response:
        async with self._context.db.write() as tx:
            made = await visitor.apply_form_once(
                tx,
                partial(self._create_with_keys, tx, visitor, name),
                _NewPartner,
                partial(self._record_secrets_shown_again, tx, visitor),
            )
        text = self._context.format_id("partner", made.id)
        return await self._context.render_console_page(
            visitor,
            "partner_secret.html",
            title=f"Partner {name} was created",
            path=f"{PATH}/{text}",
            partner=name,
            secrets=[("Partner", text), ("Secret key", made.secret), ("Publishable key", made.publishable)],
        )

    async def _create_with_keys(self, tx: Tx, visitor: SignedInRequest, name: str) -> _NewPartner:
        by, account = self._context.audit_context(visitor), await partners.create(tx, name)
        scope, text = Partner(account.id), tx.ids.encode("partner", account.id)
        await self._context.record_audit_entry(tx, visitor, account.id, "partner.added", text)
        await configurations.create_default(tx, scope)
        key, secret = await api_keys.create(tx, scope, by, "secret", "first", frozenset(), may_grant_donor_data=True)
        public_key, publishable = await api_keys.create(tx, scope, by, "publishable", "first", frozenset())
        return _NewPartner(account.id, [key.id, public_key.id], secret, publishable)

    async def _record_secrets_shown_again(self, tx: Tx, visitor: SignedInRequest, made: _NewPartner) -> None:
        by = self._context.audit_context(visitor)
        for key_id in made.key_ids:
            await api_keys.record_secret_shown_again(tx, by, await api_keys.get(tx, Partner(made.id), key_id))

    async def logo(self, visitor: SignedInRequest) -> Response:
        """Upload a logo."""
        async with self._context.db.read() as tx:
            account = await get_partner_from_url(tx, visitor)
            back, text = partner_page_path(tx, account), tx.ids.encode("partner", account.id)

        async def store(logo: Image) -> str:
            async with self._context.db.write() as tx:
                await partners.set_brand(tx, Partner(account.id), logo=logo)
                await self._context.record_audit_entry(tx, visitor, account.id, "partner.branded", text, cleared=False)
            return back

        side = partners.LOGO_SIDE
        return await handle_logo_upload(
            self._context, visitor, store, max_side_pixels=side, return_path=back, return_label=account.name
        )

    async def show(self, visitor: SignedInRequest) -> Response:
        """Show a partner's settings, keys (without secrets), members, groups and SSO settings."""
        async with self._context.db.read() as tx:
            account = await get_partner_from_url(tx, visitor)
            scope = Partner(account.id)
            after = visitor.query.get("after")
            after_id = tx.ids.decode("member", after) if after else None
            if after and after_id is None:
                raise NotFound
            people = await members.list_page(tx, scope, after_id, _MEMBERS + 1)
            groups = await members.list_groups_with_sizes(tx, scope, limit=_GROUPS + 1)
            provider, redirect = await sso.find_provider(tx, scope), sso.redirect_uri(tx, scope)
            held = await keys.list_by_partner(tx, scope)
            limits = await partners.load_support_refund_limits_by_currency(tx, scope)
            rates = await keys.load_rate_limits_by_key_kind(tx, scope)
            text = tx.ids.encode("partner", account.id)
            real_now = tx.real_now
        shown = people[:_MEMBERS]
        return await self._context.render_console_page(
            visitor,
            "partner.html",
            account=account,
            text=text,
            own=f"{PATH}/{text}",
            settings=_settings(account, limits),
            links=_links(account),
            pause=_pause(account),
            rates=self._rates(rates),
            keys=[self._key(one, usable=one.is_usable(real_now)) for one in held],
            members=[self._member(one) for one in shown],
            groups=[self._group(one, size) for one, size in groups[:_GROUPS]],
            more_groups=len(groups) > _GROUPS,
            sso=identity_provider_facts(provider, redirect) if provider else [],
            next_members=self._context.format_id("member", shown[-1].person.id) if len(people) > _MEMBERS else None,
            page_keys=[
                ("s", "Settings"),
                ("c", "Create key"),
                ("i", "Invite a member"),
                ("v", "View as the partner"),
                ("p", "Resume" if account.is_paused else "Pause"),
            ],
        )

    def _rates(self, own: Mapping[Kind, RequestRate]) -> list[LabelledValue]:
        return [
            LabelledValue(
                f"Rate limit: {name}",
                own[kind].text if kind in own else f"{default_rate_limit(self._context, kind).text} (default)",
            )
            for kind, name in KEY_KINDS.items()
        ]

    def _key(self, key: ApiKey, *, usable: bool) -> Mapping[str, object]:
        return {
            "id": self._context.format_id("apikey", key.id),
            "name": key.name,
            "kind": KEY_KINDS[key.kind],
            "hint": key.hint,
            "scopes": ", ".join(sorted(key.scopes)),
            "status": "revoked" if key.revoked_at else "live" if usable else "expired",
            "usable": usable,
            "expires_at": key.expires_at.isoformat() if key.expires_at else None,
            "last_used_at": key.last_used_at.isoformat() if key.last_used_at else None,
        }

    def _member(self, one: MembershipState) -> Mapping[str, object]:
        state = "active" if one.has_joined else "invited"
        return {
            "id": self._context.format_id("member", one.person.id),
            "name": one.person.display_name,
            "user_name": one.person.user_name,
            "roles": ", ".join(sorted(role.replace("_", " ") for role in one.person.roles)) or "no role",
            "status": state if one.person.active else "deactivated",
            "active": one.person.active,
            "invitable": one.person.active and not one.has_joined,
        }

    def _group(self, one: Group, size: int) -> Mapping[str, object]:
        text = self._context.format_id("group", one.id)
        return {"id": text, "name": one.display_name, "role": role_label(one.role), "size": size}


def _settings(account: PartnerAccount, limits: Mapping[str, int]) -> list[LabelledValue]:
    allowed = [
        LabelledValue(f"Maximum refund for the support role, {code}", minor, "amount", currency=code)
        for code, minor in limits.items()
    ]
    return [
        LabelledValue("Settlement currencies", ", ".join(account.settlement_currencies)),
        LabelledValue("Donor details in API responses and events", account.shares_donor_details, "yes_no"),
        LabelledValue("Gift Aid declaration required", account.requires_gift_aid, "yes_no"),
        LabelledValue(
            "Donation requests",
            f"Every {account.request_interval}, from {account.request_minimum_multiple:,} times the minimum donation, "
            f"due within {account.request_due_days} days",
        ),
        LabelledValue("SCIM", account.scim_enabled, "yes_no"),
        *allowed,
    ]


def _pause(account: PartnerAccount) -> list[LabelledValue]:
    if account.paused_at is None:
        return []
    return [
        LabelledValue("Since", account.paused_at.isoformat(), "moment"),
        LabelledValue("Reason", account.pause_reason),
    ]


def _links(account: PartnerAccount) -> list[LabelledValue]:
    shown = account.public_links
    return [
        LabelledValue("Website", shown.website),
        LabelledValue("Privacy notice", shown.privacy),
        LabelledValue("Terms", shown.terms),
        LabelledValue("Contact", shown.contact),
        LabelledValue("Brand colour", account.brand_colour),
        LabelledValue("Logo", account.brand_logo is not None, "yes_no"),
    ]
