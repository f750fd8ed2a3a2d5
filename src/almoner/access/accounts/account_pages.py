"""The pages of one's own account: what a person sees and changes there (V8: the services record it)."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import (
    EVENT_LABELS,
    HOMES,
    PROVIDER_ACCOUNT,
    ROLE_NAMES,
    AccountEvent,
    AccountSetting,
)
from almoner.access.accounts.page_guard import SECOND_FACTOR, PageGuard, Visitor, redirect_to, set_device_cookie
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import (
    SHORTEST_PASSWORD,
    AuthenticationFactors,
    AuthenticatorExists,
    AuthenticatorNotPending,
    LastSecondFactorRequired,
    NoSuchPasskey,
    PasskeyRefused,
    PasswordTooWeak,
    SignInOverloaded,
)
from almoner.access.credentials.service import authenticators, passkeys
from almoner.access.credentials.service.authenticators import AuthenticatorSetup
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import EndReason, Method
from almoner.access.sign_ins.service import account
from almoner.access.sso import service as sso
from almoner.access.sso.domain import LinkedAccount
from almoner.access.sso.service import identities
from almoner.platform.audit import log as audit
from almoner.platform.pages.rendering import PageRenderer

_ISSUER: Final = "Almoner"
_NOTICES: Final = {
    "password": "Your password has been changed. You have been signed out of all other sessions.",
    "no_authenticator": "Authenticator app removed.",
    "passkey": "Passkey added. You can now sign in with it.",
    "no_passkey": "Passkey removed.",
    "ended": "Session revoked.",
    "all_ended": "All other sessions revoked.",
}
_METHODS: Final[dict[Method, str]] = {
    "password": "with password",
    "password_totp": "with password and code",
    "password_recovery": "with password and recovery code",
    "passkey": "with passkey",
    "provider": "with SSO",
}
_ENDS: Final[dict[EndReason | None, str]] = {
    None: "expired",
    "signed_out": "signed out",
    "revoked": "revoked by you or an administrator",
    "deactivated": "ended when your account was deactivated",
    "password_changed": "ended when your password was changed",
}
_SHOWN_OVER: Final = 10
_SHOWN_EVENTS: Final = 8
_LAST: Final = (
    "Your role requires two-factor authentication, and this is your only second factor. Add another one first."
)


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
            page(home, self.account, methods=["GET"]),
            page(f"{home}{SECOND_FACTOR}", self.second_factor, second=False, methods=["GET"]),
            page(f"{home}/password", self.password, fresh=True),
            page(f"{home}/authenticator", self.authenticator, fresh=True, second=False),
            page(f"{home}/recovery-codes", self.recovery_codes, fresh=True),
            page(f"{home}/passkeys", self.passkeys, fresh=True, second=False),
            page(f"{home}/sign-ins", self.sign_ins),
        ]

    async def account(self, visitor: Visitor) -> Response:
        """The account overview: profile, sign-in methods and recent activity."""
        async with self._db.read() as tx:
            held = await credentials.get_factors(tx, visitor.person)
            found = await sign_ins.list_by_person(tx, visitor.person)
            bound = await identities.list_by_person(tx, visitor.person)
            partner = visitor.realm.partner
            provider = await sso.find_sso_option(tx, partner) if partner else None
            done = await audit.list_entries_about_person(
                tx, visitor.realm.id, visitor.audit_context(self._ids).actor.id
            )
        events = [
            AccountEvent(EVENT_LABELS[one.action], one.at, one.address) for one in done if one.action in EVENT_LABELS
        ][:_SHOWN_EVENTS]
        roles = [text for role, text in ROLE_NAMES.items() if role in visitor.person.roles]
        real_now = self._clock.real_now()
        ways = _account_settings(held, sum(one.is_unexpired(real_now) for one in found))
        if bound or provider:
            ways.insert(-1, _provider_setting(bound))
        return self._show(visitor, "account.html", person=visitor.person, roles=roles, ways=ways, events=events)

    async def second_factor(self, visitor: Visitor) -> Response:
        """Where people who must set up a second factor, and have none, start."""
        return self._show(visitor, "second_factor.html")

    async def password(self, visitor: Visitor) -> Response:
        """Change the password, which ends all other sign-ins."""
        problems: dict[str, str] = {}
        if visitor.form:
            problems = find_password_form_problems(visitor.form_value("password"), visitor.form_value("again"))
            if not problems:
                try:
                    return await self._change(visitor)
                except (PasswordTooWeak, SignInOverloaded) as error:
                    problems = {"password": password_refusal_text(error)}
        async with self._db.read() as tx:
            held = await credentials.get_factors(tx, visitor.person)
        return self._show(
            visitor,
            "password.html",
            status=422 if problems else 200,
            problems=problems,
            set=held.password,
            user_name=visitor.person.user_name,
            shortest=SHORTEST_PASSWORD,
        )

    async def _change(self, visitor: Visitor) -> Response:
        """Raises PasswordTooWeak, SignInOverloaded."""
        chosen = visitor.form_value("password")
        device = await account.change_password(self._db, visitor.person, visitor.sign_in, chosen, visitor.browser)
        response = redirect_to(f"{visitor.place.home}?done=password")
        set_device_cookie(response, visitor.place, device)
        return response

    async def authenticator(self, visitor: Visitor) -> Response:
        """Set up, confirm or remove the authenticator app."""
        match visitor.form_value("do"):
            case "begin":
                return await self._begin(visitor)
            case "confirm":
                return await self._confirm(visitor)
            case "remove":
                return await self._remove(visitor)
        return await self._authenticator(visitor)

    async def _begin(self, visitor: Visitor) -> Response:
        try:
            async with self._db.write() as tx:
                set_up = await authenticators.begin_setup(tx, visitor.person, _ISSUER, visitor.address)
        except AuthenticatorExists:
            return await self._authenticator(visitor)
        return await self._authenticator(visitor, set_up)

    async def _confirm(self, visitor: Visitor) -> Response:
        set_up: AuthenticatorSetup | None = None
        try:
            async with self._db.write() as tx:
                right = await account.confirm_authenticator(
                    tx, visitor.person, visitor.form_value("code"), visitor.browser
                )
                if not right:
                    set_up = await authenticators.resume_setup(tx, visitor.person, _ISSUER, visitor.address)
        except AuthenticatorNotPending:
            return await self._authenticator(visitor)
        if right:
            return redirect_to(f"{visitor.place.home}/recovery-codes?done=authenticator")
        problems = {
            "code": "The code is incorrect. Check the time on your phone and enter the current code from the app."
        }
        return await self._authenticator(visitor, set_up, problems)

    async def _remove(self, visitor: Visitor) -> Response:
        try:
            async with self._db.write() as tx:
                await account.remove_authenticator(tx, visitor.person, visitor.browser)
        except LastSecondFactorRequired:
            return await self._authenticator(visitor, refused=_LAST)
        return redirect_to(f"{visitor.place.home}/authenticator?done=no_authenticator")

    async def _authenticator(
        self,
        visitor: Visitor,
        set_up: AuthenticatorSetup | None = None,
        problems: dict[str, str] | None = None,
        refused: str = "",
    ) -> Response:
        async with self._db.read() as tx:
            held = await credentials.get_factors(tx, visitor.person)
        return self._show(
            visitor,
            "authenticator.html",
            status=422 if problems else 409 if refused else 200,
            problems=problems or {},
            refused=refused,
            confirmed=held.authenticator,
            set_up=set_up,
        )

    async def recovery_codes(self, visitor: Visitor) -> Response:
        """Create new recovery codes and show them once."""
        codes: list[str] = []
        async with self._db.write() as tx:
            held = await credentials.get_factors(tx, visitor.person)
            if visitor.form and held.has_second_factor:
                codes = await account.create_recovery_codes(tx, visitor.person, visitor.browser)
        fresh = visitor.query.get("done") == "authenticator"
        return self._show(visitor, "recovery_codes.html", codes=codes, held=held, just_added=fresh)

    async def passkeys(self, visitor: Visitor) -> Response:
        """Add a passkey, or remove one."""
        if visitor.form_value("do") == "remove":
            return await self._remove_passkey(visitor)
        if not visitor.form:
            return await self._passkeys(visitor)
        try:
            async with self._db.write() as tx:
                answer, name = visitor.form_value("credential"), visitor.form_value("name")
                await account.add_passkey(tx, visitor.person, visitor.csrf.encode(), answer, name, visitor.browser)
        except PasskeyRefused:
            text = "We could not add this passkey. The page may have expired. Please try again."
            return await self._passkeys(visitor, refused=text, name=visitor.form_value("name"))
        return redirect_to(f"{visitor.place.home}/passkeys?done=passkey")

    async def _remove_passkey(self, visitor: Visitor) -> Response:
        passkey_id = self._ids.parse("passkey", visitor.form_value("passkey"))
        try:
            if passkey_id is not None:
                async with self._db.write() as tx:
                    await account.remove_passkey(tx, visitor.person, passkey_id, visitor.browser)
        except NoSuchPasskey:
            return redirect_to(f"{visitor.place.home}/passkeys")
        except LastSecondFactorRequired:
            return await self._passkeys(visitor, refused=_LAST)
        return redirect_to(f"{visitor.place.home}/passkeys?done=no_passkey")

    async def _passkeys(self, visitor: Visitor, *, refused: str = "", name: str = "") -> Response:
        async with self._db.read() as tx:
            keys = await passkeys.list_by_person(tx, visitor.person)
            options = await passkeys.registration_options(tx, visitor.person, visitor.csrf.encode())
        return self._show(
            visitor,
            "passkeys.html",
            status=422 if refused else 200,
            passkeys=True,
            refused=refused,
            keys=keys,
            options=options,
            name=name or f"Passkey {len(keys) + 1}",
            ids=lambda found: self._ids.text("passkey", found),
        )

    async def sign_ins(self, visitor: Visitor) -> Response:
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
            how=_METHODS,
            ended=_ENDS,
            ids=lambda one: self._ids.text("signin", one),
        )

    async def _end(self, visitor: Visitor) -> Response:
        by, page = visitor.audit_context(self._ids), f"{visitor.place.home}/sign-ins"
        one = self._ids.parse("signin", visitor.form_value("sign_in"))
        async with self._db.write() as tx:
            if visitor.form_value("others"):
                await sign_ins.end_all_sign_ins(tx, visitor.person, "revoked", by, but=visitor.sign_in.id)
                response = redirect_to(f"{page}?done=all_ended")
                set_device_cookie(response, visitor.place, await sign_ins.issue_device_cookie(tx, visitor.person))
                return response
            if one is not None:
                await sign_ins.end_sign_in(tx, visitor.person, one, "revoked", by)
        return redirect_to(f"{page}?done=ended")

    def _show(self, visitor: Visitor, template: str, **context: Any) -> Response:
        reported = _NOTICES.get(visitor.query.get("done", ""), "")
        return self._gate.render_page(self._pages, visitor, template, **{"message": reported, **context})


def find_password_form_problems(password: str, again: str) -> dict[str, str]:
    """Errors in a new password and its confirmation that can be found without checking its strength."""
    if not password:
        return {"password": "Enter a password."}
    return {} if password == again else {"again": "The passwords do not match."}


def password_refusal_text(error: PasswordTooWeak | SignInOverloaded) -> str:
    """The reasons for which a password was rejected, as one text."""
    return ". ".join(error.reasons or (error.message,)) + "."


def _provider_setting(bound: Sequence[LinkedAccount]) -> AccountSetting:
    summary = "; ".join(f"{one.issuer}, connected {one.bound_at:%Y-%m-%d}" for one in bound)
    return AccountSetting(
        "Single sign-on (SSO)", summary or "Not connected", PROVIDER_ACCOUNT, "View" if bound else "Connect"
    )


def _account_settings(held: AuthenticationFactors, sign_ins_now: int) -> list[AccountSetting]:
    keys = f"{held.passkeys} added" if held.passkeys else "None yet"
    codes = f"{held.recovery_codes} left" if held.recovery_codes else "None"
    return [
        AccountSetting(
            "Password", "Set" if held.password else "Not set", "/password", "Change" if held.password else "Set"
        ),
        AccountSetting(
            "Authenticator app",
            "Configured" if held.authenticator else "Not set up",
            "/authenticator",
            "Manage" if held.authenticator else "Set up",
        ),
        AccountSetting("Recovery codes", codes, "/recovery-codes", "Generate"),
        AccountSetting("Passkeys", keys, "/passkeys", "Manage" if held.passkeys else "Add"),
        AccountSetting("Sessions", f"{sign_ins_now} active", "/sign-ins", "View"),
    ]
