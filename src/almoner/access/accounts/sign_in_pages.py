"""Sign-in pages: password and second factor, passkey, single sign-on, reauthentication, signing out."""

from collections.abc import Mapping, Sequence
from math import ceil

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import BUSY_SECONDS, HOMES, AccountPortal
from almoner.access.accounts.page_guard import PageGuard, SignedInRequest, delete_cookie, redirect_to
from almoner.access.accounts.sign_in_context import SignInContext, read_sign_in_context
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AttemptThrottled, SignInOverloaded
from almoner.access.credentials.service import passkeys
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import NewSignIn, PendingSecondFactor, SecondFactorTicketExpired, SignInFailed
from almoner.access.sign_ins.service import sign_in_methods
from almoner.access.sso import service as sso
from almoner.access.sso.domain import SsoOption
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import Language

_NOTICES = ("reset", "out", "again", "first")
_WRONG_CODE = "account.code.used"
_WRONG_PASSKEY = "account.passkey.unknown"


class SignInPages:
    """The pages for signing in, reauthenticating and signing out."""

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
        gate = self._gate
        return [
            gate.public_route(f"{home}/sign-in", self.sign_in),
            gate.public_route(f"{home}/sign-in/second", self.enter_second_factor),
            gate.public_route(f"{home}/sign-in/passkey", self.sign_in_by_passkey, methods=["POST"]),
            gate.protected_route(f"{home}/prove", self.reauthenticate, requires_second_factor=False),
            gate.public_route(f"{home}/sign-out", self.sign_out, methods=["POST"]),
        ]

    async def sign_in(self, request: Request) -> Response:
        """Sign in with name and password."""
        place = await self._gate.get_portal_for_request(request)
        entry = await read_sign_in_context(self._gate, request, place)
        if request.method != "POST":
            if await self._gate.find_sign_in(request, place) is not None:
                return redirect_to(place.safe_redirect_path(request.query_params.get("next", "")))
            done = request.query_params.get("done", "")
            return await self._form(entry, reported=f"account.sign_in.{done}" if done in _NOTICES else "")
        if not entry.is_valid_form:
            return await self._form(entry, status=403, problems={"user_name": "account.sign_in.expired"})
        name, password = entry.form_value("user_name").strip(), entry.form_value("password")
        problems = {"user_name": "account.sign_in.no_name"} if not name else {}
        problems |= {"password": "account.sign_in.no_password"} if not password else {}
        if problems:
            return await self._form(entry, status=422, problems=problems)
        try:
            found = await sign_in_methods.sign_in_by_password(self._db, place.realm, name, password, entry.browser)
        except SignInFailed:
            marks = {"user_name": "account.sign_in.check_name", "password": "account.sign_in.check_password"}
            return await self._form(entry, status=422, problems={"user_name": "account.sign_in.wrong"}, marks=marks)
        except (AttemptThrottled, SignInOverloaded) as wait:
            problems = {"password": _wait_key(wait)}
            page = await self._form(entry, status=_refusal_status(wait), problems=problems, wait=self._seconds(wait))
            return self._later(page, wait)
        if isinstance(found, NewSignIn):
            return await self._gate.complete_sign_in(request, place, found, entry.form_value("next"))
        return self._gate.redirect_to_second_factor(place, found, entry.form_value("next"))

    async def enter_second_factor(self, request: Request) -> Response:
        """Enter the second factor after the password or single sign-on."""
        place = await self._gate.get_portal_for_request(request)
        entry = await read_sign_in_context(self._gate, request, place)
        try:
            needed = await sign_in_methods.get_pending_second_factor(
                self._db, place.realm, request.cookies.get(place.second_factor_cookie_name, "")
            )
            return await self._second_factor_step(entry, needed)
        except SecondFactorTicketExpired:
            reported = "again" if place.second_factor_cookie_name in request.cookies else "first"
            return redirect_to(f"{place.home}/sign-in?done={reported}")

    async def _second_factor_step(self, entry: SignInContext, needed: PendingSecondFactor) -> Response:
        """Show the second-factor form, or handle the posted one. Raises SecondFactorTicketExpired."""
        code = entry.form_value("code").strip()
        if entry.request.method != "POST":
            return await self._second(entry, needed)
        if not entry.is_valid_form:
            return await self._second(entry, needed, status=403, problem="account.sign_in.expired")
        if not code:
            return await self._second(entry, needed, status=422, problem="account.code.missing")
        try:
            entered = await sign_in_methods.sign_in_by_second_factor_code(
                self._db, entry.portal.realm, needed.ticket, code, entry.browser
            )
        except SignInFailed:
            return await self._second(entry, needed, status=422, problem=_WRONG_CODE)
        except AttemptThrottled as wait:
            page = await self._second(entry, needed, status=429, problem=_wait_key(wait), wait=self._seconds(wait))
            return self._later(page, wait)
        return await self._gate.complete_sign_in(entry.request, entry.portal, entered, entry.form_value("next"))

    async def sign_in_by_passkey(self, request: Request) -> Response:
        """Sign in with a passkey, or use it as the second factor."""
        place = await self._gate.get_portal_for_request(request)
        entry = await read_sign_in_context(self._gate, request, place)
        if not entry.is_valid_form:
            return await self._form(entry, status=403, problems={"passkey": "account.sign_in.expired"})
        answer, ticket = entry.form_value("credential"), request.cookies.get(place.second_factor_cookie_name, "")
        try:
            entered = await sign_in_methods.sign_in_by_passkey(
                self._db, place.realm, entry.passkey_challenge_binding, answer, entry.browser, ticket
            )
        except SignInFailed:
            return await self._form(entry, status=422, problems={"passkey": _WRONG_PASSKEY})
        return await self._gate.complete_sign_in(request, place, entered, entry.form_value("next"))

    async def sign_out(self, request: Request) -> Response:
        """End the sign-in and delete its cookie."""
        place = await self._gate.get_portal_for_request(request)
        visitor = await self._gate.find_signed_in_request(request, place)
        if visitor is not None:
            if not self._gate.has_valid_csrf_token(request, visitor.form, visitor.csrf_token):
                return self._gate.render_invalid_form(visitor)
            async with self._db.write() as tx:
                await sign_ins.end_sign_in(
                    tx, visitor.person, visitor.sign_in.id, "signed_out", visitor.audit_context(self._ids)
                )
        response = redirect_to(f"{place.home}/sign-in?done=out")
        delete_cookie(response, place.session_cookie_name)
        return response

    async def reauthenticate(self, visitor: SignedInRequest) -> Response:
        """Ask a signed-in person to prove their identity again before secrets or money, then continue."""
        onward = visitor.portal.safe_redirect_path(visitor.form_value("next") or visitor.query.get("next", ""))
        if not visitor.form:
            return await self._proof(visitor, onward)
        person, sign_in, browser = visitor.person, visitor.sign_in, visitor.browser
        password, code, answer = (visitor.form_value(name) for name in ("password", "code", "credential"))
        try:
            if answer:
                binding = visitor.csrf_token.encode()
                secret = await sign_in_methods.reauthenticate_by_passkey(
                    self._db, person, sign_in, binding, answer, browser
                )
            elif code:
                secret = await sign_in_methods.reauthenticate_by_second_factor_code(
                    self._db, person, sign_in, code, browser
                )
            elif password:
                secret = await sign_in_methods.reauthenticate_by_password(self._db, person, sign_in, password, browser)
            else:
                field = "code" if "code" in visitor.form else "password"
                return await self._proof(
                    visitor,
                    onward,
                    status=422,
                    problems={field: "account.code.missing" if field == "code" else "account.sign_in.no_password"},
                )
        except SignInFailed:
            wrong = {"passkey": _WRONG_PASSKEY} if answer else {}
            wrong |= (
                {"code": _WRONG_CODE} if code else {"password": "account.sign_in.wrong_password"} if password else {}
            )
            return await self._proof(visitor, onward, status=422, problems=wrong)
        except (AttemptThrottled, SignInOverloaded) as wait:
            problems = {"code" if code else "password": _wait_key(wait)}
            page = await self._proof(
                visitor, onward, status=_refusal_status(wait), problems=problems, wait=self._seconds(wait)
            )
            return self._later(page, wait)
        response = redirect_to(onward)
        self._gate.set_session_cookie(response, visitor.portal, sign_in, secret)
        return response

    async def _form(
        self,
        entry: SignInContext,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
        marks: dict[str, str] | None = None,
        reported: str = "",
        wait: int = 0,
    ) -> Response:
        """Render the form. ``marks``: messages at the fields where they differ from the summary.

        Texts are catalogue keys.
        """
        place, language = entry.portal, self._pages.preferred_language(entry.request)
        async with self._db.read() as tx:
            options = await passkeys.build_authentication_options(tx, entry.passkey_challenge_binding)
            provider = await _find_sso_option(tx, place)
        page = self._gate.render_public_page(
            self._pages,
            place,
            "sign_in.html",
            language=language,
            status=status,
            passkeys=True,
            csrf=entry.link_session.csrf,
            problems=_texts(problems, language, wait),
            marks=_texts(marks or problems, language, wait),
            message=language.text(reported) if reported else "",
            next=place.safe_redirect_path(entry.form_value("next") or entry.request.query_params.get("next", "")),
            user_name=entry.form_value("user_name"),
            options=options,
            provider=provider,
        )
        return entry.set_csrf_cookie(page)

    async def _second(
        self, entry: SignInContext, needed: PendingSecondFactor, *, status: int = 200, problem: str = "", wait: int = 0
    ) -> Response:
        language = self._pages.preferred_language(entry.request)
        options = ""
        if needed.factors.passkeys:
            async with self._db.read() as tx:
                options = await passkeys.build_authentication_options(
                    tx, entry.passkey_challenge_binding, needed.person
                )
        page = self._gate.render_public_page(
            self._pages,
            entry.portal,
            "second_step.html",
            language=language,
            status=status,
            passkeys=bool(options),
            csrf=entry.link_session.csrf,
            problems=_texts({"code": problem} if problem else {}, language, wait),
            next=entry.portal.safe_redirect_path(
                entry.form_value("next") or entry.request.query_params.get("next", "")
            ),
            codes=needed.factors.authenticator or needed.factors.recovery_codes > 0,
            options=options,
        )
        return entry.set_csrf_cookie(page)

    async def _proof(
        self,
        visitor: SignedInRequest,
        next_path: str,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
        wait: int = 0,
    ) -> Response:
        language = self._pages.language_for_tag(visitor.language)
        async with self._db.read() as tx:
            factors = await credentials.get_authentication_factors(tx, visitor.person)
            options = (
                await passkeys.build_authentication_options(tx, visitor.csrf_token.encode(), visitor.person)
                if factors.passkeys
                else ""
            )
            provider = await _find_sso_option(tx, visitor.portal) if visitor.sign_in.method == "provider" else None
        return self._gate.render_page(
            self._pages,
            visitor,
            "prove.html",
            language=language,
            status=status,
            passkeys=bool(options),
            problems=_texts(problems, language, wait),
            held=factors,
            options=options,
            provider=provider,
            next=next_path,
            lost=visitor.form_value("typed") or visitor.query.get("typed", ""),
            user_name=visitor.person.user_name,
        )

    def _later(self, response: Response, refused: AttemptThrottled | SignInOverloaded) -> Response:
        response.headers["Retry-After"] = str(self._seconds(refused))
        return response

    def _seconds(self, refused: AttemptThrottled | SignInOverloaded) -> int:
        if isinstance(refused, SignInOverloaded):
            return BUSY_SECONDS
        return max(1, ceil((refused.until - self._clock.real_now()).total_seconds()))


def _wait_key(refused: AttemptThrottled | SignInOverloaded) -> str:
    return "account.sign_in.busy" if isinstance(refused, SignInOverloaded) else "account.sign_in.attempts"


def _texts(keys: Mapping[str, str] | None, language: Language, wait: int) -> dict[str, str]:
    """The translated texts of catalogue keys, by field; ``wait``: seconds until the next attempt."""
    when = formats.format_time_until(wait, language.locale) if wait else ""
    return {field: language.text(key, when=when) for field, key in (keys or {}).items()}


def _refusal_status(refused: AttemptThrottled | SignInOverloaded) -> int:
    return 429 if isinstance(refused, AttemptThrottled) else 503


async def _find_sso_option(tx: Tx, portal: AccountPortal) -> SsoOption | None:
    return await sso.find_sso_option(tx, portal.realm.partner) if portal.realm.partner else None
