"""Redirects to the partner's identity provider and handles the callback.

The callback is the only page where a GET changes something, as OpenID Connect requires. It is protected by the state,
which only this browser has and which works once (0030).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME, PROVIDER_ACCOUNT, AccountPortal
from almoner.access.accounts.page_guard import PageGuard, browser_from_request, delete_cookie, redirect_to, set_cookie
from almoner.access.accounts.page_texts import mark_as_english
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import InvalidEmailLink, PendingSecondFactor
from almoner.access.sign_ins.service import links
from almoner.access.sso import service as sso
from almoner.access.sso.domain import STATE_LIFETIME, NoSuchIdentityProvider, SsoRefusalReason, SsoRefused
from almoner.access.sso.service.oidc_flow import AuthorizationRedirect, CallbackRequest, OidcFlow
from almoner.platform.database.transactions import Partner
from almoner.platform.pages import link_sessions
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.rendering import PageRenderer

_HOME: Final = f"{MEMBERS_HOME}/{{partner}}"


class SsoPages:
    """The single sign-on redirect and callback."""

    def __init__(self, gate: PageGuard, pages: PageRenderer, sign_on: OidcFlow) -> None:
        self._gate = gate
        self._db = gate.db
        self._pages = pages
        self._sign_on = sign_on

    def routes(self) -> Sequence[Route]:
        """Starlette routes."""
        return [
            self._gate.public_route(f"{_HOME}/sign-on", self.begin_authorization, methods=["GET"]),
            self._gate.public_route(f"{_HOME}/sign-on/callback", self.handle_callback, methods=["GET"]),
        ]

    async def begin_authorization(self, request: Request) -> Response:
        """Redirect the browser to the identity provider."""
        place = await self._gate.get_portal_for_request(request)
        partner = Partner(place.realm.id)
        if link_sessions.is_speculative_request(request):
            return _no_content()
        async with self._db.read() as tx:
            offer = await sso.find_sso_option(tx, partner)
        if offer is None:
            raise NoSuchIdentityProvider
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            # The link was followed from another site: do not sign in (login CSRF).
            onward = f"{offer.path}?{request.url.query}".rstrip("?")
            language = self._pages.preferred_language(request)
            return self._gate.render_public_page(
                self._pages, place, "begin.html", language=language, provider=offer, onward=onward
            )
        try:
            started = await self._begin(request, place, partner)
        except SsoRefused as refused:
            return self._refuse(request, place, refused)
        if isinstance(started, Response):
            return started
        response = redirect_to(started.url)
        set_cookie(
            response, started.cookie_name, started.cookie_value, max_age_seconds=int(STATE_LIFETIME.total_seconds())
        )
        return response

    async def handle_callback(self, request: Request) -> Response:
        """Handle the browser's return from the identity provider."""
        place = await self._gate.get_portal_for_request(request)
        if link_sessions.is_speculative_request(request):
            return _no_content()
        times = Counter(name for name, _ in request.query_params.multi_items())
        query = {name: value for name, value in request.query_params.items() if times[name] == 1}
        before = await self._gate.find_sign_in(request, place)
        back = CallbackRequest(
            Partner(place.realm.id),
            query,
            request.cookies,
            browser_from_request(request, place),
            before[0] if before else None,
        )
        try:
            arrival = await self._sign_on.complete_authorization(back)
            response = redirect_to(arrival.redirect_path)
            if isinstance(arrival.sign_in_or_second_factor, PendingSecondFactor):
                response = self._gate.redirect_to_second_factor(
                    place, arrival.sign_in_or_second_factor, arrival.redirect_path
                )
            elif arrival.sign_in_or_second_factor is not None:
                response = await self._gate.complete_sign_in(
                    request, place, arrival.sign_in_or_second_factor, arrival.redirect_path
                )
            if arrival.renewed_session is not None:
                self._gate.set_session_cookie(
                    response, place, arrival.renewed_session.sign_in, arrival.renewed_session.secret
                )
        except SsoRefused as refused:
            response = self._refuse(request, place, refused)
        if back.state_cookie_name in request.cookies:
            delete_cookie(response, back.state_cookie_name)
        return response

    async def _begin(
        self, request: Request, portal: AccountPortal, partner: Partner
    ) -> AuthorizationRedirect | Response:
        """Start the flow for the requested purpose. Raises SsoRefused."""
        onward = portal.safe_redirect_path(request.query_params.get("next", ""))
        match request.query_params.get("for"):
            case "proof":
                visitor = await self._gate.require_sign_in(request, requires_second_factor=False)
                if isinstance(visitor, Response):
                    return visitor
                return await self._sign_on.start_authorization(partner, "proof", onward, visitor.sign_in.id)
            case "connect":
                visitor = await self._gate.require_sign_in(request)
                if isinstance(visitor, Response):
                    return visitor
                page = f"{portal.home}{PROVIDER_ACCOUNT}"
                if not sign_ins.is_recently_authenticated(visitor.sign_in, self._db.deployment.clock.real_now()):
                    return redirect_to(page)
                return await self._sign_on.start_authorization(
                    partner, "connect", f"{page}?done=connected", visitor.sign_in.id
                )
            case "invitation":
                token = request.cookies.get(portal.email_link_cookie_name("invitation"), "")
                try:
                    async with self._db.read() as tx:
                        link, _ = await links.get_valid_link(tx, token, "invitation")
                except InvalidEmailLink as error:
                    raise SsoRefused(SsoRefusalReason.INVITATION, "Open the link in your invitation again.") from error
                return await self._sign_on.start_authorization(partner, "invitation", portal.home, link.id)
            case _:
                return await self._sign_on.start_authorization(partner, "sign_in", onward)

    def _refuse(self, request: Request, portal: AccountPortal, refused: SsoRefused) -> Response:
        """Show why the sign-in was refused, with the provider's error as text."""
        status = 502 if refused.reason is SsoRefusalReason.UNREACHABLE else 403
        return self._gate.render_public_page(
            self._pages,
            portal,
            "refused.html",
            language=self._pages.preferred_language(request),
            status=status,
            refused=refused,
            in_english=mark_as_english,
        )


def _no_content() -> Response:
    """An empty response to a browser's prefetch request, which starts nothing."""
    return Response(status_code=204, headers=NO_PAGE)
