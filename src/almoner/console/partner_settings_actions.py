"""Actions that change a partner's settings. Each action is also available as a CLI command."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.keys import service as keys
from almoner.access.keys.domain import Kind, parse_partner_rate_limit
from almoner.access.operators.service import partner_pauses
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.access.partners.service import PauseStateConflict
from almoner.access.security_emails.domain import Kind as MailKind
from almoner.console.actions import ActionField, ActionPage, ConsoleAction, build_security_email_preview
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import PATH, describe_partner_owners, get_partner_from_url, partner_page_path
from almoner.console.partner_key_pages import KEY_KINDS, default_rate_limit
from almoner.giving.receipts import service as receipts
from almoner.kit.errors import IncorrectParams
from almoner.kit.rates import RequestRate
from almoner.platform.database.transactions import Partner, Tx

_YES_NO: Final = (("yes", "Yes"), ("no", "No"))
_PERIODS: Final = (("day", "Every day"), ("week", "Every week"), ("month", "Every month"))


def partner_settings_actions(context: ConsoleContext) -> list[ConsoleAction]:
    """All actions for a partner's settings."""
    made = _Acts(context)
    settings = [made.donations(), made.links(), made.brand(), made.clear_brand(), made.scim(), made.receipt_issuer()]
    return [*settings, made.rate_limits(), made.pause(), made.resume()]


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Show the message of a ValueError next to a form field."""
    try:
        yield
    except IncorrectParams:
        raise
    except ValueError as error:
        raise IncorrectParams(f"{name}: {error}") from error


async def _apply_each(changes: Mapping[str, Callable[[], Awaitable[object]]]) -> None:
    """Apply the change of each form field. Raises IncorrectParams with the problems of all fields."""
    reasons = []
    for name, apply in changes.items():
        try:
            await apply()
        except ValueError as error:
            reasons.append(f"{name}: {error}")
    if reasons:
        raise IncorrectParams(*reasons)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


class _Acts:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def _action(
        self,
        path: str,
        title: str,
        button: str,
        sentences: Sequence[str],
        fields: Callable[[Tx, PartnerAccount], Awaitable[Sequence[ActionField]]],
        change: Callable[[Tx, SignedInRequest, PartnerAccount, Mapping[str, str]], Awaitable[object]],
        *,
        mail: MailKind | None = None,
        refusals: tuple[type[Exception], ...] = (),
    ) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            account = await get_partner_from_url(tx, visitor)
            asked = await fields(tx, account)
            path, told, mails = partner_page_path(tx, account), sentences, []
            if mail is not None:
                told = [*sentences, f"{await describe_partner_owners(tx, account)} will get this email immediately."]
                mails = [build_security_email_preview(mail, account.name)]
            return ActionPage(title, button, path, account.name, told, asked, mails=mails)

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            account = await get_partner_from_url(tx, visitor)
            await change(tx, visitor, account, entered_values)
            return partner_page_path(tx, account)

        return ConsoleAction(
            f"{PATH}/{{id}}/{path}",
            ADMINISTRATORS,
            describe,
            perform,
            refusals,
            requires_reauthentication=mail is not None,
        )

    def donations(self) -> ConsoleAction:
        """The action to change donation settings: currencies, donor details and donation requests."""

        async def fields(_tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            return [
                ActionField(
                    "currencies",
                    "Settlement currencies",
                    hint="Enter currency codes, for example GBP, EUR.",
                    value=", ".join(account.settlement_currencies),
                    maxlength=500,
                ),
                ActionField(
                    "donors",
                    "Include donor details in API responses and events",
                    "choice",
                    choices=_YES_NO,
                    value=_yes(account.shares_donor_details),
                ),
                ActionField(
                    "gift_aid",
                    "Require a Gift Aid declaration for direct GBP donations to UK charities",
                    "choice",
                    choices=_YES_NO,
                    value=_yes(account.requires_gift_aid),
                ),
                ActionField(
                    "interval",
                    "Donation requests are sent",
                    "choice",
                    choices=_PERIODS,
                    value=account.request_interval,
                ),
                ActionField(
                    "least",
                    "Minimum amount of a donation request, as a multiple of the minimum donation",
                    value=str(account.request_minimum_multiple),
                    maxlength=7,
                ),
                ActionField(
                    "due",
                    "Number of days to pay a donation request",
                    value=str(account.request_due_days),
                    maxlength=3,
                ),
            ]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            given = _donation_settings(entered_values)
            now = {
                "currencies": account.settlement_currencies,
                "shares_donor_details": account.shares_donor_details,
                "requires_gift_aid": account.requires_gift_aid,
                "request_interval": account.request_interval,
                "request_minimum_multiple": account.request_minimum_multiple,
                "request_due_days": account.request_due_days,
            }
            changed = {name: value for name, value in given.items() if value != now[name]}
            if not changed:
                return
            with _refused("currencies"):
                await partners.update_donation_settings(tx, Partner(account.id), **changed)
            await self._record(tx, visitor, account, "partner.giving_set", changed=", ".join(sorted(changed)))

        sentences = ["The new settings apply immediately. No email is sent."]
        return self._action("settings", "Donation settings", "Save settings", sentences, fields, change)

    def links(self) -> ConsoleAction:
        """The action to change the links on hosted pages."""

        async def fields(_tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            shown = account.public_links
            given = (
                ("website", "Website", shown.website),
                ("privacy", "Privacy notice", shown.privacy),
                ("terms", "Terms", shown.terms),
                ("contact", "Email address for questions", shown.contact),
            )
            return [ActionField(name, label, required=False, value=value or "") for name, label, value in given]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            shown = account.public_links
            changed = {name: value for name, value in entered_values.items() if value != (getattr(shown, name) or "")}
            if not changed:
                return
            scope = Partner(account.id)
            await _apply_each(
                {one: partial(partners.set_public_links, tx, scope, **{one: value}) for one, value in changed.items()}
            )
            await self._record(tx, visitor, account, "partner.links_set", changed=", ".join(sorted(changed)))

        sentences = ["Donors and applicants see the new links immediately, on hosted pages and in emails."]
        return self._action("links", "Links on hosted pages", "Save links", sentences, fields, change)

    def brand(self) -> ConsoleAction:
        """The action to set the colour of a partner's hosted pages. Partners upload their logo themselves."""

        async def fields(_tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            value = account.brand_colour or "#"
            return [ActionField("colour", "Brand colour", hint="For example, #0d5c4a.", value=value, maxlength=7)]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            with _refused("colour"):
                after = await partners.set_brand(tx, Partner(account.id), colour=entered_values["colour"])
            if after.brand_colour != account.brand_colour:
                await self._record(tx, visitor, account, "partner.branded", cleared=False)

        sentences = [
            (
                "Hosted pages and emails use the new colour immediately. We adjust the colour if necessary to keep "
                "text legible."
            ),
        ]
        return self._action("brand", "Brand colour", "Save colour", sentences, fields, change)

    def clear_brand(self) -> ConsoleAction:
        """The action to remove the colour and the logo."""

        async def fields(_tx: Tx, _account: PartnerAccount) -> Sequence[ActionField]:
            return ()

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, _entered_values: Mapping[str, str]
        ) -> None:
            await partners.clear_brand(tx, Partner(account.id))
            if account.brand_colour is not None or account.brand_logo is not None:
                await self._record(tx, visitor, account, "partner.branded", cleared=True)

        sentences = ["The colour and the logo are removed from hosted pages and emails."]
        return self._action("brand/clear", "Remove branding", "Remove colour and logo", sentences, fields, change)

    def scim(self) -> ConsoleAction:
        """The action to allow or block SCIM keys."""

        async def fields(_tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            return [ActionField("allowed", "SCIM", "choice", choices=_YES_NO, value=_yes(account.scim_enabled))]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            allowed = entered_values["allowed"] == "yes"
            await partners.set_scim_allowed(tx, Partner(account.id), allowed=allowed)
            if allowed != account.scim_enabled:
                await self._record(tx, visitor, account, "partner.scim_set", allowed=allowed)

        sentences = ["While SCIM is off, the partner's SCIM keys are rejected. Existing members do not change."]
        return self._action("scim", "SCIM", "Save", sentences, fields, change)

    def receipt_issuer(self) -> ConsoleAction:
        """The action to set the issuer of receipts."""

        async def fields(tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            issuer = await receipts.load_receipt_issuer(tx, Partner(account.id))
            return [
                ActionField(
                    "name",
                    "Name of the issuer",
                    hint="Leave the field empty to use the partner's name.",
                    required=False,
                    value=issuer.name or "",
                ),
                ActionField("prefix", "Prefix of receipt numbers", required=False, value=issuer.prefix or ""),
            ]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            scope = Partner(account.id)
            before = await receipts.load_receipt_issuer(tx, scope)
            await _apply_each(
                {
                    "name": partial(receipts.update_receipt_issuer, tx, scope, entered_values["name"], None),
                    "prefix": partial(receipts.update_receipt_issuer, tx, scope, None, entered_values["prefix"]),
                }
            )
            after = await receipts.load_receipt_issuer(tx, scope)
            if after != before:
                await self._record(tx, visitor, account, "partner.receipt_issuer_changed", prefix=after.prefix)

        sentences = ["Receipts that were already issued do not change. New receipts continue the numbering."]
        return self._action("receipt-issuer", "Receipt issuer", "Save receipt issuer", sentences, fields, change)

    def rate_limits(self) -> ConsoleAction:
        """The action to change the partner's own rate limits."""

        async def fields(tx: Tx, account: PartnerAccount) -> Sequence[ActionField]:
            own = await keys.load_rate_limits_by_key_kind(tx, Partner(account.id))
            return [
                ActionField(
                    kind,
                    KEY_KINDS[kind],
                    hint="Enter requests per second and burst, for example 200/400. Leave the field empty for the "
                    f"default, {default_rate_limit(self._context, kind).text}.",
                    required=False,
                    value=own[kind].text if kind in own else "",
                    maxlength=40,
                )
                for kind in KEY_KINDS
            ]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> None:
            wanted: dict[Kind, RequestRate | None] = {}
            reasons = []
            for kind, label in KEY_KINDS.items():
                try:
                    wanted[kind] = parse_partner_rate_limit(entered_values[kind])
                except ValueError as error:
                    reasons.append(f"{kind}: {label}: {error}")
            if reasons:
                raise IncorrectParams(*reasons)
            changed = await keys.set_rate_limits(tx, Partner(account.id), wanted)
            for kind, rate in changed.items():
                limit = rate.text if rate else "default"
                await self._record(tx, visitor, account, "partner.rate_limit_set", kind=kind, rate_limit=limit)

        sentences = [
            "A rate limit applies to each key separately, and takes effect within a second.",
            "The separate limit for each client network, which applies to publishable keys, does not change.",
            "No email is sent. Members can see the limits in the dashboard, under Limits.",
        ]
        return self._action("rate-limits", "Rate limits", "Save rate limits", sentences, fields, change)

    def pause(self) -> ConsoleAction:
        """The action to stop new donations through a partner."""

        async def fields(_tx: Tx, _account: PartnerAccount) -> Sequence[ActionField]:
            longest = partners.LONGEST_PAUSE_REASON
            return [
                ActionField(
                    "reason",
                    "Reason (shown to the partner in the dashboard and in the email)",
                    "area",
                    maxlength=longest,
                )
            ]

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, entered_values: Mapping[str, str]
        ) -> object:
            by = self._context.audit_context(visitor)
            return await partner_pauses.pause(tx, by, Partner(account.id), entered_values["reason"])

        sentences = [
            (
                "Requests with the partner's API keys (except SCIM keys) get 403 Forbidden. Donation pages and giving "
                "links accept no new donations."
            ),
            (
                "Regular donations are not charged during the pause. After the pause, donations that are at most 7 "
                "days late are charged."
            ),
            (
                "Payments in progress, refunds, receipts, disbursements and webhooks continue, and members can still "
                "sign in."
            ),
        ]
        return self._action(
            "pause",
            "Pause the partner",
            "Pause the partner",
            sentences,
            fields,
            change,
            mail="partner_paused",
            refusals=(PauseStateConflict,),
        )

    def resume(self) -> ConsoleAction:
        """The action to allow new donations through a partner again."""

        async def fields(_tx: Tx, _account: PartnerAccount) -> Sequence[ActionField]:
            return ()

        async def change(
            tx: Tx, visitor: SignedInRequest, account: PartnerAccount, _entered_values: Mapping[str, str]
        ) -> object:
            return await partner_pauses.resume(tx, self._context.audit_context(visitor), Partner(account.id))

        sentences = [
            "The partner's API keys work again, and donation pages and giving links accept donations again.",
            (
                "Regular donations that are at most 7 days late are charged within an hour. Regular donations that "
                "are more than 7 days late are skipped."
            ),
        ]
        return self._action(
            "resume",
            "Resume the partner",
            "Resume the partner",
            sentences,
            fields,
            change,
            mail="partner_resumed",
            refusals=(PauseStateConflict,),
        )

    async def _record(
        self, tx: Tx, visitor: SignedInRequest, account: PartnerAccount, action: str, **details: Any
    ) -> None:
        subject = tx.ids.encode("partner", account.id)
        await self._context.record_audit_entry(tx, visitor, account.id, action, subject, **details)


def _donation_settings(entered_values: Mapping[str, str]) -> dict[str, Any]:
    """Parse the form's values. Raises IncorrectParams."""
    wrong = [f"{name}: enter a number" for name in ("least", "due") if not entered_values[name].isdecimal()]
    if wrong:
        raise IncorrectParams(*wrong)
    codes = tuple(code for code in entered_values["currencies"].upper().replace(",", " ").split())
    return {
        "currencies": codes,
        "shares_donor_details": entered_values["donors"] == "yes",
        "requires_gift_aid": entered_values["gift_aid"] == "yes",
        "request_interval": entered_values["interval"],
        "request_minimum_multiple": int(entered_values["least"]),
        "request_due_days": int(entered_values["due"]),
    }
