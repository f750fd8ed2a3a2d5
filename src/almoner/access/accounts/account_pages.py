"""The pages on which people see and change their own account."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import (
    BUSY_SECONDS,
    EVENT_LABELS,
    HOMES,
    PROVIDER_ACCOUNT,
    ROLE_NAMES,
    AccountEvent,
    AccountSetting,
)
from almoner.access.accounts.page_guard import SECOND_FACTOR, PageGuard, SignedInRequest, redirect_to, set_device_cookie
from almoner.access.accounts.page_texts import parse_time_zone
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import (
    LONGEST_PASSWORD,
    SHORTEST_PASSWORD,
    AuthenticationFactors,
    AuthenticatorExists,
    AuthenticatorNotPending,
    InvalidPasskeyResponse,
    LastSecondFactorCannotBeRemoved,
    NoSuchPasskey,
    PasswordProblem,
    PasswordTooWeak,
    SignInOverloaded,
)
from almoner.access.credentials.service import authenticators, passkeys
from almoner.access.credentials.service.authenticators import AuthenticatorSetup
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.service import account
from almoner.access.sso import service as sso
from almoner.access.sso.domain import LinkedAccountSummary
from almoner.access.sso.service import identities
from almoner.platform.audit import log as audit
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import Language

_ISSUER: Final = "Almoner"
_NOTICES: Final = ("password", "no_authenticator", "passkey", "no_passkey", "ended", "all_ended")
_SHOWN_OVER: Final = 10
_SHOWN_EVENTS: Final = 8
_LAST: Final = "account.last_factor"


class AccountPages:
    """Pages on which signed-in people manage their own account."""

    def __init__(self, gate: PageGuard, pages: PageRenderer) -> None:
        self._gate = gate
        self._db = gate.db
        self._clock = gate.db.deployment.clock
        self._ids = gate.db.deployment.ids
        self._pages = pages

    def routes(self) -> Sequence[Route]:
        """Starlette routes, of both realms."""
        return [route for home in HOMES for route in self._of(home)]

    def _of(self, home: str) -> list[Route]:
        page = self._gate.protected_route
        return [
            page(home, self.show_account, methods=["GET"]),
            page(
                f"{home}{SECOND_FACTOR}", self.show_second_factor_setup, requires_second_factor=False, methods=["GET"]
            ),
            page(f"{home}/password", self.change_password, requires_reauthentication=True),
            page(
                f"{home}/authenticator",
                self.manage_authenticator,
                requires_reauthentication=True,
                requires_second_factor=False,
            ),
            page(f"{home}/recovery-codes", self.manage_recovery_codes, requires_reauthentication=True),
            page(
                f"{home}/passkeys", self.manage_passkeys, requires_reauthentication=True, requires_second_factor=False
            ),
            page(f"{home}/sign-ins", self.manage_sign_ins),
        ]

    async def show_account(self, visitor: SignedInRequest) -> Response:
        """The account overview: profile, sign-in methods and recent activity."""
        async with self._db.read() as tx:
            factors = await credentials.get_authentication_factors(tx, visitor.person)
            found = await sign_ins.list_by_person(tx, visitor.person)
            bound = await identities.list_linked_accounts(tx, visitor.person)
            partner = visitor.realm.partner
            provider = await sso.find_sso_option(tx, partner) if partner else None
            done = await audit.list_entries_about_person(
                tx, visitor.realm.id, visitor.audit_context(self._ids).actor.id
            )
        events = [
            AccountEvent(EVENT_LABELS[one.action], one.at, one.ip_address) for one in done if one.action in EVENT_LABELS
        ][:_SHOWN_EVENTS]
        language = self._pages.language_for_tag(visitor.language)
        roles = [language.text(f"desk.role.{role}") for role in ROLE_NAMES if role in visitor.person.roles]
        real_now = self._clock.real_now()
        ways = _account_settings(factors, sum(one.is_unexpired(real_now) for one in found), language)
        if bound or provider:
            zone = parse_time_zone(visitor.person.time_zone) or self._db.deployment.time_zone
            ways.insert(-1, _provider_setting(bound, language, zone))
        held_roles = formats.list_separator(language.locale).join(roles)
        return self._show(visitor, "account.html", person=visitor.person, roles=held_roles, ways=ways, events=events)

    async def show_second_factor_setup(self, visitor: SignedInRequest) -> Response:
        """Show the start page for people who must set up a second factor."""
        return self._show(visitor, "second_factor.html")

    async def change_password(self, visitor: SignedInRequest) -> Response:
        """Change the password, which ends all other sign-ins."""
        problems: dict[str, str] = {}
        if visitor.form:
            language = self._pages.language_for_tag(visitor.language)
            problems = find_password_form_problems(
                visitor.form_value("password"), visitor.form_value("again"), language
            )
            if not problems:
                try:
                    return await self._change(visitor)
                except (PasswordTooWeak, SignInOverloaded) as error:
                    problems = {"password": password_error_text(error, language)}
        async with self._db.read() as tx:
            factors = await credentials.get_authentication_factors(tx, visitor.person)
        return self._show(
            visitor,
            "password.html",
            status=422 if problems else 200,
            problems=problems,
            set=factors.password,
            user_name=visitor.person.user_name,
            shortest=SHORTEST_PASSWORD,
        )

    async def _change(self, visitor: SignedInRequest) -> Response:
        """Change the password. Raises PasswordTooWeak, SignInOverloaded."""
        chosen = visitor.form_value("password")
        device = await account.change_password_and_issue_device_cookie(
            self._db, visitor.person, visitor.sign_in, chosen, visitor.browser
        )
        response = redirect_to(f"{visitor.portal.home}?done=password")
        set_device_cookie(response, visitor.portal, device)
        return response

    async def manage_authenticator(self, visitor: SignedInRequest) -> Response:
        """Set up, confirm or remove the authenticator app."""
        match visitor.form_value("do"):
            case "begin":
                return await self._begin(visitor)
            case "confirm":
                return await self._confirm(visitor)
            case "remove":
                return await self._remove(visitor)
        return await self._authenticator(visitor)

    async def _begin(self, visitor: SignedInRequest) -> Response:
        try:
            async with self._db.write() as tx:
                set_up = await authenticators.begin_setup(tx, visitor.person, _ISSUER, visitor.ip_address)
        except AuthenticatorExists:
            return await self._authenticator(visitor)
        return await self._authenticator(visitor, set_up)

    async def _confirm(self, visitor: SignedInRequest) -> Response:
        set_up: AuthenticatorSetup | None = None
        try:
            async with self._db.write() as tx:
                right = await account.confirm_authenticator(
                    tx, visitor.person, visitor.form_value("code"), visitor.browser
                )
                if not right:
                    set_up = await authenticators.get_pending_setup(tx, visitor.person, _ISSUER, visitor.ip_address)
        except AuthenticatorNotPending:
            return await self._authenticator(visitor)
        if right:
            return redirect_to(f"{visitor.portal.home}/recovery-codes?done=authenticator")
        problems = {"code": self._pages.language_for_tag(visitor.language).text("account.code.wrong")}
        return await self._authenticator(visitor, set_up, problems)

    async def _remove(self, visitor: SignedInRequest) -> Response:
        try:
            async with self._db.write() as tx:
                await account.remove_authenticator(tx, visitor.person, visitor.browser)
        except LastSecondFactorCannotBeRemoved:
            return await self._authenticator(visitor, refused=_LAST)
        return redirect_to(f"{visitor.portal.home}/authenticator?done=no_authenticator")

    async def _authenticator(
        self,
        visitor: SignedInRequest,
        set_up: AuthenticatorSetup | None = None,
        problems: dict[str, str] | None = None,
        refused: str = "",
    ) -> Response:
        async with self._db.read() as tx:
            factors = await credentials.get_authentication_factors(tx, visitor.person)
        return self._show(
            visitor,
            "authenticator.html",
            status=422 if problems else 409 if refused else 200,
            problems=problems or {},
            refused=refused and self._pages.language_for_tag(visitor.language).text(refused),
            confirmed=factors.authenticator,
            set_up=set_up,
        )

    async def manage_recovery_codes(self, visitor: SignedInRequest) -> Response:
        """Create new recovery codes and show them once."""
        codes: list[str] = []
        async with self._db.write() as tx:
            factors = await credentials.get_authentication_factors(tx, visitor.person)
            if visitor.form and factors.has_second_factor:
                codes = await account.create_recovery_codes(tx, visitor.person, visitor.browser)
        fresh = visitor.query.get("done") == "authenticator"
        return self._show(visitor, "recovery_codes.html", codes=codes, held=factors, just_added=fresh)

    async def manage_passkeys(self, visitor: SignedInRequest) -> Response:
        """Add a passkey, or remove one."""
        if visitor.form_value("do") == "remove":
            return await self._remove_passkey(visitor)
        if not visitor.form:
            return await self._passkeys(visitor)
        try:
            async with self._db.write() as tx:
                answer, name = visitor.form_value("credential"), visitor.form_value("name")
                await account.add_passkey(
                    tx, visitor.person, visitor.csrf_token.encode(), answer, name, visitor.browser
                )
        except InvalidPasskeyResponse:
            return await self._passkeys(visitor, refused="account.passkey.refused", name=visitor.form_value("name"))
        return redirect_to(f"{visitor.portal.home}/passkeys?done=passkey")

    async def _remove_passkey(self, visitor: SignedInRequest) -> Response:
        passkey_id = self._ids.decode("passkey", visitor.form_value("passkey"))
        try:
            if passkey_id is not None:
                async with self._db.write() as tx:
                    await account.remove_passkey(tx, visitor.person, passkey_id, visitor.browser)
        except NoSuchPasskey:
            return redirect_to(f"{visitor.portal.home}/passkeys")
        except LastSecondFactorCannotBeRemoved:
            return await self._passkeys(visitor, refused=_LAST)
        return redirect_to(f"{visitor.portal.home}/passkeys?done=no_passkey")

    async def _passkeys(self, visitor: SignedInRequest, *, refused: str = "", name: str = "") -> Response:
        async with self._db.read() as tx:
            keys = await passkeys.list_by_person(tx, visitor.person)
            options = await passkeys.build_registration_options(tx, visitor.person, visitor.csrf_token.encode())
        language = self._pages.language_for_tag(visitor.language)
        return self._show(
            visitor,
            "passkeys.html",
            status=422 if refused else 200,
            passkeys=True,
            refused=refused and language.text(refused),
            keys=keys,
            options=options,
            name=name or language.text("account.passkey.name.own", number=len(keys) + 1),
            ids=lambda found: self._ids.encode("passkey", found),
        )

    async def manage_sign_ins(self, visitor: SignedInRequest) -> Response:
        """List the browsers that are signed in; end one sign-in, or all others."""
        if visitor.form:
            return await self._end(visitor)
        async with self._db.read() as tx:
            found = await sign_ins.list_by_person(tx, visitor.person)
        real_now = self._clock.real_now()
        return self._show(
            visitor,
            "sign_ins.html",
            live=[one for one in found if one.is_unexpired(real_now)],
            over=[one for one in found if not one.is_unexpired(real_now)][:_SHOWN_OVER],
            current=visitor.sign_in.id,
            ids=lambda one: self._ids.encode("signin", one),
        )

    async def _end(self, visitor: SignedInRequest) -> Response:
        by, page = visitor.audit_context(self._ids), f"{visitor.portal.home}/sign-ins"
        one = self._ids.decode("signin", visitor.form_value("sign_in"))
        async with self._db.write() as tx:
            if visitor.form_value("others"):
                await sign_ins.end_all_sign_ins(tx, visitor.person, "revoked", by, except_id=visitor.sign_in.id)
                response = redirect_to(f"{page}?done=all_ended")
                set_device_cookie(response, visitor.portal, await sign_ins.issue_device_cookie(tx, visitor.person))
                return response
            if one is not None:
                await sign_ins.end_sign_in(tx, visitor.person, one, "revoked", by)
        return redirect_to(f"{page}?done=ended")

    def _show(self, visitor: SignedInRequest, template: str, **context: Any) -> Response:
        language, done = self._pages.language_for_tag(visitor.language), visitor.query.get("done", "")
        reported = language.text(f"account.done.{done}") if done in _NOTICES else ""
        return self._gate.render_page(
            self._pages, visitor, template, language=language, **{"message": reported, **context}
        )


def find_password_form_problems(password: str, repeated_password: str, language: Language) -> dict[str, str]:
    """Errors in a new password and its confirmation that can be found without checking its strength."""
    if not password:
        return {"password": language.text("account.password.missing")}
    return {} if password == repeated_password else {"again": language.text("account.password.differs")}


_LENGTHS: Final[dict[PasswordProblem, int]] = {"too_short": SHORTEST_PASSWORD, "too_long": LONGEST_PASSWORD}


def password_error_text(error: PasswordTooWeak | SignInOverloaded, language: Language) -> str:
    """The reasons for which a password was rejected, as one text."""
    if isinstance(error, SignInOverloaded):
        return language.text("account.sign_in.busy", when=formats.format_time_until(BUSY_SECONDS, language.locale))
    return " ".join(language.text(f"account.password.{one}", count=_LENGTHS.get(one, 0)) for one in error.problems)


def _provider_setting(bound: Sequence[LinkedAccountSummary], language: Language, zone: tzinfo) -> AccountSetting:
    days = [formats.format_day(one.bound_at.astimezone(zone).date(), language.locale) for one in bound]
    summary = "; ".join(
        language.text("account.state.connected", issuer=one.issuer, day=day)
        for one, day in zip(bound, days, strict=True)
    )
    act = "view" if bound else "connect"
    return AccountSetting(
        language.text("account.way.sso"),
        summary or language.text("account.state.not_connected"),
        PROVIDER_ACCOUNT,
        language.text(f"account.act.{act}"),
    )


def _account_settings(held: AuthenticationFactors, sign_ins_now: int, language: Language) -> list[AccountSetting]:
    codes, keys = held.recovery_codes, held.passkeys
    ways = (
        ("password", "set" if held.password else "not_set", 0, "change" if held.password else "set"),
        (
            "authenticator",
            "configured" if held.authenticator else "not_set_up",
            0,
            "manage" if held.authenticator else "set_up",
        ),
        ("recovery_codes", "codes" if codes else "", codes, "generate"),
        ("passkeys", "passkeys" if keys else "no_passkeys", keys, "manage" if keys else "add"),
        ("sessions", "sessions", sign_ins_now, "view"),
    )
    return [
        AccountSetting(
            language.text(f"account.way.{way}"),
            language.text(f"account.state.{state}" if state else "account.none", count=count),
            "/sign-ins" if way == "sessions" else "/" + way.replace("_", "-"),
            language.text(f"account.act.{act}"),
        )
        for way, state, count, act in ways
    ]
