"""Pages opened by emailed links (invitation, password reset), and pages that request such a link."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts import service
from almoner.access.accounts.account_pages import find_password_form_problems, password_error_text
from almoner.access.accounts.domain import HOMES, MEMBERS_HOME, UNKNOWN_PORTAL, AccountPortal
from almoner.access.accounts.page_guard import PageGuard, delete_cookie, redirect_to, set_cookie
from almoner.access.accounts.sign_in_context import SignInContext, read_sign_in_context
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import (
    SHORTEST_PASSWORD,
    InvalidPasskeyResponse,
    PasswordTooWeak,
    SignInOverloaded,
)
from almoner.access.credentials.service import passkeys
from almoner.access.people.domain import Person
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import EmailLink, InvalidEmailLink, Purpose, SignInFailed
from almoner.access.sign_ins.service import account, links
from almoner.access.sso import service as sso
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound import email_addresses
from almoner.platform.outbound.addresses import client_network_for_rate_limit
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.ratelimit import RateLimit, RateLimiter

_LINK_SECONDS: Final = 3600
_LETTERS: Final = RateLimit("letters", 1 / 60, 20)
"""Requests for emailed links from one network neighbourhood."""
_ADDRESSES: Final = RateLimit("letters_to", 1 / 600, 3)
"""Emails to one mailbox; beyond the limit the response stays the same and no email is sent."""
_AGAIN: Final = "account.sign_in.expired"


class EmailLinkPages:
    """Pages that emailed links open, and pages that request such links."""

    def __init__(self, gate: PageGuard, pages: PageRenderer, limiter: RateLimiter) -> None:
        self._gate = gate
        self._db = gate.db
        self._clock = gate.db.deployment.clock
        self._vault = gate.db.deployment.vault
        self._pages = pages
        self._limiter = limiter

    def routes(self) -> Sequence[Route]:
        """Starlette routes, of both realms."""
        return [
            self._gate.public_route(MEMBERS_HOME, self.request_sign_in_page_urls),
            *(route for home in HOMES for route in self._of(home)),
        ]

    def _of(self, home: str) -> list[Route]:
        gate = self._gate
        return [
            gate.public_route(f"{home}/forgotten", self.forgot_password),
            gate.public_route(f"{home}/reset", self.reset_password),
            gate.public_route(f"{home}/invitation", self.accept_invitation),
            gate.public_route(f"{home}/invitation/passkey", self.accept_invitation_with_passkey, methods=["POST"]),
        ]

    async def request_sign_in_page_urls(self, request: Request) -> Response:
        """Request an email that lists all sign-in pages of an email address."""
        entry = await read_sign_in_context(self._gate, request, UNKNOWN_PORTAL)
        email = entry.form_value("email").strip()
        if request.method != "POST":
            return self._form(entry, "find.html", email="")
        if not entry.is_valid_form:
            return self._form(entry, "find.html", status=403, problems={"email": _AGAIN}, email=email)
        if not email_addresses.is_email_address(email):
            problem = "account.find.format"
            return self._form(entry, "find.html", status=422, problems={"email": problem}, email=email)
        if late := self._too_many(entry):
            return late
        if (
            self._limiter.count_call(
                _ADDRESSES, email.casefold(), self._clock.real_now().timestamp()
            ).retry_after_seconds
            is None
        ):
            async with self._db.write() as tx:
                await service.email_sign_in_page_urls(tx, email)
        language = self._pages.preferred_language(request)
        return self._gate.render_message_page(
            None, language.text("account.sent.title"), language.text("account.find.sent"), language=language
        )

    async def forgot_password(self, request: Request) -> Response:
        """Request a password reset: the response does not reveal whether the account exists."""
        place = await self._gate.get_portal_for_request(request)
        entry = await read_sign_in_context(self._gate, request, place)
        name = entry.form_value("user_name").strip()
        if request.method != "POST":
            return self._form(entry, "forgotten.html", user_name="")
        if not entry.is_valid_form:
            return self._form(entry, "forgotten.html", status=403, problems={"user_name": _AGAIN}, user_name=name)
        if not name:
            problems = {"user_name": "account.sign_in.no_name"}
            return self._form(entry, "forgotten.html", status=422, problems=problems, user_name="")
        if late := self._too_many(entry):
            return late
        async with self._db.write() as tx:
            await links.request_password_reset(tx, place.realm, name, entry.browser.ip_address)
        language = self._pages.preferred_language(request)
        title, text = language.text("account.sent.title"), language.text("account.reset.sent")
        return self._gate.render_message_page(
            place, title, text, link_label=language.text("account.reset.back"), language=language
        )

    async def reset_password(self, request: Request) -> Response:
        """Choose a new password through an emailed link."""
        place = await self._gate.get_portal_for_request(request)
        return await self._opened(request, place, "reset") or await self._choose(request, place, "reset")

    async def accept_invitation(self, request: Request) -> Response:
        """Accept an invitation with a password, a passkey or single sign-on."""
        place = await self._gate.get_portal_for_request(request)
        return await self._opened(request, place, "invitation") or await self._choose(request, place, "invitation")

    async def accept_invitation_with_passkey(self, request: Request) -> Response:
        """Accept an invitation with a passkey, which counts as two factors."""
        place = await self._gate.get_portal_for_request(request)
        entry, token = (
            await read_sign_in_context(self._gate, request, place),
            request.cookies.get(place.email_link_cookie_name("invitation"), ""),
        )
        if not entry.is_valid_form:
            return await self._link_form(entry, token, "invitation", status=403, problems={"password": _AGAIN})
        try:
            async with self._db.write() as tx:
                link, person = await self._link(tx, place, token, "invitation")
                if (await credentials.get_authentication_factors(tx, person)).has_second_factor:
                    return self._sign_in_instead(place)
                await links.consume_link(tx, link, person)
                answer = entry.form_value("credential")
                await account.add_passkey(tx, person, entry.passkey_challenge_binding, answer, "", entry.browser)
                entered = await sign_ins.begin_sign_in(tx, person, "passkey", entry.browser)
        except (InvalidEmailLink, SignInFailed) as closed:
            return self._closed(entry, "invitation", closed)
        except InvalidPasskeyResponse:
            problems = {"passkey": "account.passkey.refused"}
            return await self._link_form(entry, token, "invitation", status=422, problems=problems)
        return await self._gate.complete_sign_in(request, place, entered)

    async def _opened(self, request: Request, portal: AccountPortal, purpose: Purpose) -> Response | None:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        token = request.query_params.get("token")
        if request.method == "POST" or token is None:
            return None
        if self._vault.read_page_token(purpose, token) is None:
            entry = await read_sign_in_context(self._gate, request, portal)
            return self._closed(entry, purpose, InvalidEmailLink("unknown"))  # not one of our tokens
        response = redirect_to(f"{portal.home}/{purpose}")
        set_cookie(response, portal.email_link_cookie_name(purpose), token, max_age_seconds=_LINK_SECONDS)
        return response

    async def _choose(self, request: Request, portal: AccountPortal, purpose: Purpose) -> Response:
        entry, token = (
            await read_sign_in_context(self._gate, request, portal),
            request.cookies.get(portal.email_link_cookie_name(purpose), ""),
        )
        if request.method != "POST":
            return await self._link_form(entry, token, purpose)
        if not entry.is_valid_form:
            return await self._link_form(entry, token, purpose, status=403, problems={"password": _AGAIN})
        chosen, language = entry.form_value("password"), self._pages.preferred_language(request)
        if problems := find_password_form_problems(chosen, entry.form_value("again"), language):
            return await self._link_form(entry, token, purpose, status=422, problems=problems)
        try:
            person = await self._set(portal, token, purpose, chosen, entry)
        except InvalidEmailLink as closed:
            return self._closed(entry, purpose, closed)
        except (PasswordTooWeak, SignInOverloaded) as error:
            problems = {"password": password_error_text(error, language)}
            return await self._link_form(entry, token, purpose, status=422, problems=problems)
        return await self._after(entry, purpose, person)

    async def _set(
        self, portal: AccountPortal, token: str, purpose: Purpose, password: str, entry: SignInContext
    ) -> Person:
        """Set the password by a link of this portal. Raises InvalidEmailLink, PasswordTooWeak, SignInOverloaded."""
        async with self._db.read() as tx:
            await self._link(tx, portal, token, purpose)
        return await links.set_password_by_link(self._db, token, purpose, password, entry.browser)

    async def _link(self, tx: Tx, portal: AccountPortal, token: str, purpose: Purpose) -> tuple[EmailLink, Person]:
        """Return the link of a token and its person, if both belong to this portal. Raises InvalidEmailLink."""
        link, person = await links.get_valid_link(tx, token, purpose)
        if person.realm != portal.realm:
            raise InvalidEmailLink("unknown")
        return link, person

    async def _after(self, entry: SignInContext, purpose: Purpose, person: Person) -> Response:
        """Redirect after a used link.

        An invitation signs in, unless the person has a second factor; a reset never does.
        """
        place = entry.portal
        if purpose == "invitation":
            async with self._db.write() as tx:
                second = (await credentials.get_authentication_factors(tx, person)).has_second_factor
                try:
                    entered = None if second else await sign_ins.begin_sign_in(tx, person, "password", entry.browser)
                except SignInFailed as closed:
                    return self._closed(entry, purpose, closed)
            if entered is not None:
                return await self._gate.complete_sign_in(entry.request, place, entered)
        response = redirect_to(f"{place.home}/sign-in?done=reset")
        delete_cookie(response, place.email_link_cookie_name(purpose))
        return response

    async def _link_form(
        self,
        entry: SignInContext,
        token: str,
        purpose: Purpose,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
    ) -> Response:
        place, invited = entry.portal, purpose == "invitation"
        if not token:
            return self._without(entry, purpose)
        try:
            async with self._db.read() as tx:
                _, person = await self._link(tx, place, token, purpose)
                second = (await credentials.get_authentication_factors(tx, person)).has_second_factor
                offer = invited and not second
                options = (
                    await passkeys.build_registration_options(tx, person, entry.passkey_challenge_binding)
                    if offer
                    else ""
                )
                partner = place.realm.partner
                provider = await sso.find_sso_option(tx, partner) if invited and partner else None
        except InvalidEmailLink as closed:
            return self._closed(entry, purpose, closed)
        say = self._pages.preferred_language(entry.request).text
        return self._form(
            entry,
            "new_password.html",
            status=status,
            problems=problems or {},
            passkeys=bool(options),
            heading=say("account.invitation.title", place=place.title) if invited else say("account.reset.choose"),
            lead=say("account.invitation.lead" if invited else "account.reset.whose", user_name=person.user_name),
            button=say("account.invitation.accept" if invited else "account.password.save"),
            action=f"{place.home}/{purpose}",
            user_name=person.user_name,
            shortest=SHORTEST_PASSWORD,
            options=options,
            provider=provider,
        )

    def _form(
        self, entry: SignInContext, template: str, *, problems: Mapping[str, str] | None = None, **context: Any
    ) -> Response:
        """``problems``: keys or texts by field."""
        language = self._pages.preferred_language(entry.request)
        shown = {
            field: language.text(message) if language.has_message(message) else message
            for field, message in (problems or {}).items()
        }
        page = self._gate.render_public_page(
            self._pages,
            entry.portal,
            template,
            language=language,
            csrf=entry.link_session.csrf,
            problems=shown,
            **context,
        )
        return entry.set_csrf_cookie(page)

    def _closed(self, entry: SignInContext, purpose: Purpose, closed: InvalidEmailLink | SignInFailed) -> Response:
        why = closed.why if isinstance(closed, InvalidEmailLink) else "unknown"
        return self._beside(entry, purpose, "account.link.closed", f"account.link.{why}")

    def _without(self, entry: SignInContext, purpose: Purpose) -> Response:
        """Show the page for a request without a link token."""
        return self._beside(entry, purpose, "account.link.mail", "account.link.only")

    def _beside(self, entry: SignInContext, purpose: Purpose, heading: str, reason: str) -> Response:
        """Show a page that says why there is no form, and what to do."""
        language, invited = self._pages.preferred_language(entry.request), purpose == "invitation"
        return self._gate.render_message_page(
            entry.portal,
            language.text(heading),
            f"{language.text(reason)} {language.text(f'account.link.{purpose}')}",
            status=410,
            link_label=None if invited else language.text("account.link.ask"),
            link_path="/sign-in" if invited else "/forgotten",
            language=language,
        )

    def _sign_in_instead(self, portal: AccountPortal) -> Response:
        return redirect_to(f"{portal.home}/sign-in")

    def _too_many(self, entry: SignInContext) -> Response | None:
        """The 429 response if too many emails were requested, with the time of the next attempt; else None."""
        where = client_network_for_rate_limit(entry.browser.ip_address)
        wait = self._limiter.count_call(_LETTERS, where, self._clock.real_now().timestamp()).retry_after_seconds
        if wait is None:
            return None
        language = self._pages.preferred_language(entry.request)
        text = language.text("account.many.text", when=formats.format_time_until(wait, language.locale))
        response = self._gate.render_message_page(
            entry.portal, language.text("account.many.title"), text, status=429, language=language
        )
        response.headers["Retry-After"] = str(wait)
        return response
