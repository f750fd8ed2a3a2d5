"""Protects signed-in pages: checks the sign-in cookie, the roles and the CSRF token, or redirects to sign-in.

Other slices declare their pages with ``signed_in`` and get a ``Visitor``. For a POST, the origin and the CSRF token of
this sign-in have been checked, too.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from secrets import token_urlsafe
from typing import Any, Final, TypeVar
from urllib.parse import quote
from uuid import UUID

import msgspec
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from almoner.access.accounts.domain import (
    DASHBOARD_HOME,
    FORM_LIMITS,
    MEMBERS_HOME,
    OPERATOR_PORTAL,
    OPERATOR_START_PAGE,
    OPERATORS_HOME,
    ROLE_NAMES,
    UNKNOWN_PORTAL,
    AccountPortal,
    FormLimits,
    NavigationLink,
    build_member_portal,
    problems_by_field,
)
from almoner.access.accounts.request_forms import ensure_valid_query_characters, read_form, read_upload
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AuditContext
from almoner.access.operators.domain import build_read_only_member
from almoner.access.operators.service import partner_views
from almoner.access.partners import service as partners
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people.domain import Person, Realm, Role
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import (
    DEVICE_LIFETIME,
    TICKET_LIFETIME,
    Browser,
    NewSignIn,
    PendingSecondFactor,
    SignIn,
)
from almoner.kit.errors import NotFound, Problem, ServiceUnavailable
from almoner.kit.ids import RecordIdCodec
from almoner.platform import idempotency
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.errors import headers_of_problem, http_status_of_problem
from almoner.platform.http.uploads import ReceivedUpload, UploadDeclaration
from almoner.platform.pages import formats, link_sessions
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD
from almoner.platform.pages.record_tables import humanise_api_fields
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse, is_client_error
from almoner.platform.pages.translations import Language

SECOND_FACTOR: Final = "/second-factor"
"""The page to which people are redirected who must set up a second factor."""

_FORM_KEY: Final = "form_key"
"""The field with the key that each form has when it is shown: a form that is submitted again is applied once."""
_NOT_ENTERED: Final = frozenset({CSRF_FIELD, "do", _FORM_KEY, "version"})
"""The names of hidden fields and buttons."""
_VIEW_REFUSED: Final = "Not part of the view"
_VIEW_REFUSED_TEXT: Final = (
    "You view these pages as an operator, read only. Secrets, personal data and everything that changes something are "
    "left out."
)

Choice = TypeVar("Choice", bound=str)
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class SignedInRequest:
    """The signed-in person who requests a page, their browser, and the form they posted (empty on GET).

    ``csrf_token``: token for the page's forms. ``path``, ``query``: of the request. ``browser``: the browser's
    identity. ``language``: chosen by the person, or else by their browser. ``upload``: the uploaded file, on routes
    that accept one.
    """

    portal: AccountPortal
    person: Person
    sign_in: SignIn
    csrf_token: str
    path: str
    query: QueryParams
    browser: Browser
    language: str
    form: FormData
    partner_view_expires_at: datetime | None = None
    """When an operator's view of the partner's pages ends; None for the partner's own members."""
    upload: ReceivedUpload | None = None

    @property
    def realm(self) -> Realm:
        """The realm (a partner or the operators) that the person belongs to."""
        return self.person.realm

    @property
    def ip_address(self) -> str:
        """The client's network address, for the audit log."""
        return self.browser.ip_address

    def audit_actor(self, actor_id: str) -> audit.Actor:
        """The person as the actor of an audit entry; ``actor_id`` is their text ID."""
        return audit.Actor("member" if self.realm.partner else "operator", actor_id)

    def audit_context(self, ids: RecordIdCodec) -> AuditContext:
        """The person and their network address, for changes that are audited."""
        return AuditContext(
            self.audit_actor(ids.encode(self.realm.person_id_type, self.person.id)), self.ip_address or None
        )

    def form_value(self, name: str) -> str:
        """The value of a field in the form they posted, as typed; empty if it is missing."""
        return form_value(self.form, name)

    @property
    def form_key(self) -> str | None:
        """The key of the posted form, which is the same if the form is submitted again; None without one."""
        return self.form_value(_FORM_KEY)[:100] or None

    async def apply_form_once(
        self,
        tx: Tx,
        apply: Callable[[], Awaitable[T]],
        result_type: type[T],
        on_repeated: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Apply the posted form, or return the first result if it was submitted again with the same entries and file.

        An empty result is not stored. A form without a key is applied each time. ``on_repeated``: called with the first
        result if the form was submitted again. A page that then shows a secret again records this.
        """
        if self.form_key is None:
            return await apply()
        entered = [(name, str(value)) for name, value in self.form.multi_items() if name != CSRF_FIELD]
        uploaded = self.upload.uploaded_file if self.upload else None
        file_hash = uploaded.sha256.hex() if uploaded else ""
        form_secret = self.sign_in.id.bytes + msgspec.json.encode([self.path, entered, file_hash])
        scope = Partner(self.realm.id)
        return await idempotency.apply_form_once(tx, scope, form_secret, apply, result_type, on_repeated)

    @property
    def has_entered_values(self) -> bool:
        """Whether the posted form has a file, or values besides those of its hidden fields and buttons."""
        names = {name for name in self.form.keys() - _NOT_ENTERED if not name.startswith("stored.")}
        return self.upload is not None or any(self.form[name] and self.is_field_changed(name) for name in names)

    def checkbox_values(self, name: str, choices: Sequence[Choice]) -> list[Choice]:
        """The ticked checkboxes with this name, limited to the allowed values ``choices``."""
        given = self.form.getlist(name)
        return [one for one in choices if one in given]

    @property
    def roles_shown_in_form(self) -> list[str] | None:
        """The roles that the page showed when it was opened, as its ``stored.roles`` field says; None without one."""
        return self.form_value("stored.roles").split() if "stored.roles" in self.form else None

    def is_field_changed(self, name: str) -> bool:
        """Whether a field was sent and differs from what was stored when the page was shown (its ``stored.`` field)."""
        return name in self.form and self.form_value(name).strip() != self.form.get(f"stored.{name}")


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """A navigation entry. ``path``: below the portal's home. ``current``: the ``aria-current`` value, or empty."""

    href: str
    path: str
    label: str
    current: str


@dataclass(frozen=True, slots=True)
class NavigationGroup:
    """Entries under one heading; the first group has none."""

    heading: str
    items: tuple[NavigationItem, ...]


@dataclass(frozen=True, slots=True)
class PageLayout:
    """What the page layout shows: title, navigation and the signed-in person (``user_name``, empty if there is none).

    ``pause_reason``: why operators paused the partner; empty while it is not paused.
    """

    title: str
    home: str
    user_name: str = ""
    csrf: str = ""
    groups: tuple[NavigationGroup, ...] = ()
    view_until: str = ""
    view_end: str = ""
    """When an operator's view of these pages ends, and the URL to end it."""
    pause_reason: str = ""


VisitorHandler = Callable[[SignedInRequest], Awaitable[Response]]


class PageGuard:
    """Checks sign-in, roles and CSRF tokens for account pages. ``links`` is the whole navigation."""

    def __init__(self, db: Database, pages: PageRenderer, links: Sequence[NavigationLink] = ()) -> None:
        self.db = db
        self._pages = pages
        self._links = tuple(links)
        self._origin = origin_of_url(db.deployment.base_urls.pages)

    def protected_route(
        self,
        path: str,
        handler: VisitorHandler,
        *roles: Role,
        requires_reauthentication: bool = False,
        requires_second_factor: bool = True,
        methods: Sequence[str] = ("GET", "POST"),
        upload: UploadDeclaration | None = None,
        limits: FormLimits = FORM_LIMITS,
    ) -> Route:
        """A route for signed-in people, limited to some roles if any are given.

        ``path`` holds ``{partner}`` or begins with ``/operator``. ``requires_reauthentication`` and
        ``requires_second_factor``: as for ``require_sign_in``. A form must be posted to the URL that showed it.
        ``upload``: the file that the form may contain. ``limits``: for a form without a file.
        """

        @wraps(handler)
        async def answer(request: Request) -> Response:
            visitor = await self.require_sign_in(
                request,
                *roles,
                requires_reauthentication=requires_reauthentication,
                requires_second_factor=requires_second_factor,
                upload=upload,
                limits=limits,
            )
            if isinstance(visitor, Response):
                return visitor
            try:
                return await handler(visitor)
            finally:
                if visitor.upload is not None:
                    visitor.upload.close()

        return self.public_route(path, answer, methods=methods)

    def public_route(self, path: str, handler: Handler, *, methods: Sequence[str] = ("GET", "POST")) -> Route:
        """A route for everybody. Expected errors become error pages; unexpected ones are raised afterwards."""

        @wraps(handler)
        async def answer(request: Request) -> Response:
            try:
                ensure_valid_query_characters(request)
                return await handler(request)
            except NotFound:
                return await self.render_not_found(request, 404)
            except HTTPException as error:
                if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:  # an outage that a call of the page met
                    return self._render_error(request, ServiceUnavailable(error.detail))
                return self._render_refusal(request, error.status_code, error.detail)
            except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
                return self._render_error(request, error)

        return Route(path, answer, methods=list(methods))

    def _render_refusal(self, request: Request, status: int, text: str) -> HTMLResponse:
        """The page about a request that is refused, with the reason, which is in English."""
        language = self._pages.preferred_language(request)
        heading, reason = language.text("account.refused.title"), humanise_api_fields(text)
        return self.render_message_page(
            _portal_of_path(request), heading, reason, status=status, language=language, in_english=True
        )

    def _render_error(self, request: Request, error: Exception) -> Response:
        """The page about an error; a problem of the request that the page did not show in its form is a refusal."""
        if isinstance(error, Problem) and is_client_error(error):
            request.scope["almoner.error"] = error.code  # for the log
            sentences = " ".join(problems_by_field(error, "what").values())
            page = self._render_refusal(request, http_status_of_problem(error), sentences or error.message)
            page.raw_headers.extend(headers_of_problem(error))
            return page
        language = self._pages.preferred_language(request)
        heading, text = language.text("site.broken.title"), language.text("site.broken.next")
        page = self.render_message_page(_portal_of_path(request), heading, text, status=500, language=language)
        return ServerErrorResponse(page, error)

    async def require_sign_in(
        self,
        request: Request,
        *roles: Role,
        requires_reauthentication: bool = False,
        requires_second_factor: bool = True,
        form: FormData | None = None,
        upload: UploadDeclaration | None = None,
        limits: FormLimits = FORM_LIMITS,
    ) -> SignedInRequest | Response:
        """The signed-in visitor; or the redirect to sign-in or reauthentication, or the page about a missing role.

        ``requires_reauthentication``: require a recent reauthentication. ``requires_second_factor``: require a second
        factor from those who must have one; False on the pages that add one. ``form``: the posted form, if the body has
        been read.
        """
        place = await self.get_portal_for_request(request)
        visitor = await self.find_signed_in_request(request, place, form, upload, limits)
        if visitor is None and (viewer := await self._find_viewer(request, place)) is not None:
            readable = request.method in ("GET", "HEAD") and "read_only" in roles and not requires_reauthentication
            return viewer if readable else self.render_denied_page(viewer, _VIEW_REFUSED, _VIEW_REFUSED_TEXT)
        if visitor is None:
            asked = _requested_path(request) if request.method != "POST" else place.home
            onward = f"?next={quote(asked, safe='/')}" if asked != place.home else ""
            return redirect_to(f"{place.home}/sign-in{onward}")
        if request.method == "POST" and not self.has_valid_csrf_token(request, visitor.form, visitor.csrf_token):
            return self.render_invalid_form(visitor)
        if requires_second_factor and await self._lacks_second(visitor):
            return redirect_to(f"{place.home}{SECOND_FACTOR}")
        if roles and not visitor.person.has_role(*roles):
            return self._render_forbidden(visitor, roles)
        if requires_reauthentication and not sign_ins.is_recently_authenticated(
            visitor.sign_in, self.db.deployment.clock.real_now()
        ):
            # The posted form is stored nowhere, since it may hold a secret; the page says so.
            asked = visitor.path if visitor.form else _requested_path(request)
            typed = "&typed=lost" if visitor.has_entered_values else ""
            return redirect_to(f"{place.home}/prove?next={quote(asked, safe='/')}{typed}")
        return visitor

    async def find_signed_in_request(
        self,
        request: Request,
        portal: AccountPortal,
        form: FormData | None = None,
        upload: UploadDeclaration | None = None,
        limits: FormLimits = FORM_LIMITS,
    ) -> SignedInRequest | None:
        """The visitor signed in at this portal in this browser; a posted form is not checked yet."""
        found = await self.find_sign_in(request, portal)
        if found is None:
            return None
        csrf = self.csrf_token_for_sign_in(found[0])
        path, query, browser = request.url.path, request.query_params, browser_from_request(request, portal)
        language = found[1].language or self._pages.preferred_language(request).tag
        if upload is not None and request.method == "POST":
            posted, received = await read_upload(request, upload)
            return SignedInRequest(
                portal, found[1], found[0], csrf, path, query, browser, language, posted, upload=received
            )
        posted = await read_form(request, limits) if form is None else form
        return SignedInRequest(portal, found[1], found[0], csrf, path, query, browser, language, posted)

    async def _find_viewer(self, request: Request, portal: AccountPortal) -> SignedInRequest | None:
        """The operator who currently views this partner's pages in this browser, if any."""
        partner = portal.realm.partner
        if partner is None or (found := await self.find_sign_in(request, OPERATOR_PORTAL)) is None:
            return None
        sign_in, operator = found
        async with self.db.single_statement() as tx:
            view = await partner_views.find_active_partner_view(tx, operator, partner)
        if view is None:
            return None
        csrf, path = self.csrf_token_for_sign_in(sign_in), request.url.path
        language = operator.language or self._pages.preferred_language(request).tag
        browser, reader = browser_from_request(request, portal), build_read_only_member(view, operator)
        return SignedInRequest(
            portal, reader, sign_in, csrf, path, request.query_params, browser, language, FormData(), view.expires_at
        )

    async def find_sign_in(self, request: Request, portal: AccountPortal) -> tuple[SignIn, Person] | None:
        """The sign-in that the browser's cookie proves, and the person who is signed in."""
        secret = request.cookies.get(portal.session_cookie_name, "")
        if not secret:
            return None
        async with self.db.single_statement() as tx:
            return await sign_ins.find_sign_in_by_secret(tx, portal.realm, secret)

    async def complete_sign_in(
        self, request: Request, portal: AccountPortal, new_sign_in: NewSignIn, next_path: str = ""
    ) -> Response:
        """Redirect to the requested page and set the cookies of a new sign-in.

        The cookies are new each time, which prevents session fixation; the previous sign-in of this browser ends.
        """
        if before := await self.find_sign_in(request, portal):
            sign_in, person = before
            async with self.db.write() as tx:
                by = credentials.build_audit_context_of_person(
                    tx, person, browser_from_request(request, portal).ip_address
                )
                await sign_ins.end_sign_in(tx, person, sign_in.id, "signed_out", by)
        onward = portal.safe_redirect_path(next_path)
        response = redirect_to(await self._first_page(portal, new_sign_in) if onward == portal.home else onward)
        self.set_session_cookie(response, portal, new_sign_in.sign_in, new_sign_in.session_secret)
        set_device_cookie(response, portal, new_sign_in.device_cookie)
        for over in (portal.second_factor_cookie_name, portal.email_link_cookie_name("invitation")):
            if over in request.cookies:
                delete_cookie(response, over)
        return response

    async def _first_page(self, portal: AccountPortal, new_sign_in: NewSignIn) -> str:
        """Where those begin whom no address leads elsewhere: with a role on the dashboard, or operators on the desk."""
        async with self.db.single_statement() as tx:
            found = await sign_ins.find_sign_in_by_secret(tx, portal.realm, new_sign_in.session_secret)
        if not found or not found[1].roles:
            return portal.home
        return portal.home + (DASHBOARD_HOME if portal.realm.partner else OPERATOR_START_PAGE)

    def redirect_to_second_factor(
        self, portal: AccountPortal, pending_sign_in: PendingSecondFactor, next_path: str
    ) -> Response:
        """Redirect to the second-factor step, which then redirects to the requested page."""
        response = redirect_to(
            f"{portal.home}/sign-in/second?next={quote(portal.safe_redirect_path(next_path), safe='/')}"
        )
        set_cookie(
            response,
            portal.second_factor_cookie_name,
            pending_sign_in.ticket,
            max_age_seconds=int(TICKET_LIFETIME.total_seconds()),
        )
        return response

    def set_session_cookie(self, response: Response, portal: AccountPortal, sign_in: SignIn, secret: str) -> None:
        """Set the sign-in cookie, whose secret is replaced at each reauthentication."""
        lasting = int((sign_in.expires_at - self.db.deployment.clock.real_now()).total_seconds())
        set_cookie(response, portal.session_cookie_name, secret, max_age_seconds=lasting)

    async def get_portal_for_request(self, request: Request) -> AccountPortal:
        """The portal that the request's path belongs to. Raises NotFound."""
        name = request.path_params.get("partner")
        if name is None:
            return OPERATOR_PORTAL
        partner_id = self.db.deployment.ids.decode("partner", name)
        if partner_id is None:
            raise NotFound
        async with self.db.read() as tx:
            try:
                account = await partners.get(tx, Partner(partner_id))
            except NoSuchPartner:
                raise NotFound from None
        return build_member_portal(Realm(partner_id), name, account.name, account.pause_reason or "")

    def csrf_token_for_sign_in(self, sign_in: SignIn) -> str:
        """The CSRF token of a sign-in. It survives cookie rotation, so that forms in other tabs stay valid."""
        return (
            urlsafe_b64encode(self.db.deployment.vault.compute_mac("csrf:sign-in", sign_in.id.bytes))
            .decode()
            .rstrip("=")
        )

    def has_valid_csrf_token(self, request: Request, form: FormData, csrf_token: str) -> bool:
        """Whether the form was posted from one of our pages with this browser's CSRF token (H2)."""
        given = form.get(CSRF_FIELD)
        known = isinstance(given, str) and hmac.compare_digest(given.encode(), csrf_token.encode())
        return known and link_sessions.is_same_origin(request, self._origin)

    async def _lacks_second(self, visitor: SignedInRequest) -> bool:
        if not credentials.requires_second_factor(visitor.person):
            return False
        async with self.db.read() as tx:
            return not (await credentials.get_authentication_factors(tx, visitor.person)).has_second_factor

    def render_page(
        self,
        page_renderer: PageRenderer,
        visitor: SignedInRequest,
        template: str,
        *,
        language: Language | None = None,
        status: int = 200,
        passkeys: bool = False,
        **context: Any,
    ) -> Response:
        """Render a page in the signed-in layout, with ``csrf``, ``form_key`` and ``desk`` in its context.

        Without a language it is in English.
        """
        problems, reader = context.pop("problems", {}), language or page_renderer.language_for_tag(None)
        return page_renderer.render_page(
            template,
            reader,
            status=status,
            passkeys=passkeys,
            desk=self._portal(visitor, reader),
            csrf=visitor.csrf_token,
            form_key=token_urlsafe(16),
            problems=problems,
            **context,
        )

    def render_denied_page(
        self, visitor: SignedInRequest, heading: str, text: str, *, language: Language | None = None, status: int = 403
    ) -> Response:
        """Render a page that tells a signed-in visitor why an action is not allowed."""
        reader = language or self._pages.language_for_tag(None)
        onward = {"href": visitor.portal.home, "label": reader.text("desk.link.account")}
        return self.render_page(
            self._pages,
            visitor,
            "says.html",
            language=reader,
            status=status,
            heading=heading,
            text=text,
            in_english=False,
            onward=onward,
        )

    def _render_forbidden(self, visitor: SignedInRequest, roles: Sequence[Role]) -> Response:
        """The page about a missing role."""
        language = self._pages.language_for_tag(visitor.language)
        names = [language.text(f"desk.role.{role}") for role in ROLE_NAMES if role in roles]
        text = language.text("desk.forbidden.text", roles=formats.format_list(names, language.locale))
        return self.render_denied_page(visitor, language.text("desk.forbidden.title"), text, language=language)

    def render_invalid_form(self, visitor: SignedInRequest) -> Response:
        """The page shown when a posted form has no valid CSRF token."""
        language = self._pages.language_for_tag(visitor.language)
        return self.render_denied_page(
            visitor, language.text("desk.invalid.title"), language.text("desk.invalid.text"), language=language
        )

    def render_public_page(
        self,
        page_renderer: PageRenderer,
        portal: AccountPortal,
        template: str,
        *,
        language: Language | None = None,
        status: int = 200,
        passkeys: bool = False,
        **context: Any,
    ) -> HTMLResponse:
        """Render a page in a portal's layout for somebody who is not signed in."""
        frame, problems = PageLayout(portal.title, portal.home), context.pop("problems", {})
        return page_renderer.render_page(
            template,
            language or page_renderer.language_for_tag(None),
            status=status,
            passkeys=passkeys,
            desk=frame,
            problems=problems,
            **context,
        )

    def render_message_page(
        self,
        portal: AccountPortal | None,
        heading: str,
        text: str,
        *,
        status: int = 200,
        link_label: str | None = None,
        link_path: str = "/sign-in",
        language: Language | None = None,
        in_english: bool = False,
    ) -> HTMLResponse:
        """A page with a heading, a text and a link to sign in, or to ``link_path`` with the label ``link_label``.

        ``in_english``: the text is in English, in whatever language the page is.
        """
        shown, reader = portal or UNKNOWN_PORTAL, language or self._pages.language_for_tag(None)
        label = link_label or reader.text("desk.sign_in")
        link = {"href": f"{shown.home}{link_path}", "label": label} if portal else None
        return self.render_public_page(
            self._pages,
            shown,
            "says.html",
            language=reader,
            status=status,
            heading=heading,
            text=text,
            in_english=in_english,
            onward=link,
        )

    async def render_not_found(self, request: Request, status: int) -> Response:
        """The error page for an unknown path or method; in their own layout for operators who are signed in."""
        language, place = self._pages.preferred_language(request), _portal_of_path(request)
        heading, text = language.text("desk.missing.title"), language.text("desk.missing.text")
        visitor = await self.find_signed_in_request(request, place, FormData()) if place else None
        if visitor is not None:
            return self.render_denied_page(visitor, heading, text, language=language, status=status)
        return self.render_message_page(place, heading, text, status=status, language=language)

    def is_in_navigation(self, visitor: SignedInRequest, path: str) -> bool:
        """Whether the visitor's navigation leads to a path."""
        place, roles = visitor.portal, visitor.person.roles
        return any(link.path == path and link.is_visible_to(place.realm, roles) for link in self._links)

    def _portal(self, visitor: SignedInRequest, language: Language) -> PageLayout:
        place, roles, path = visitor.portal, visitor.person.roles, visitor.path
        own = NavigationLink("desk.link.account", "", group="Settings" if place.realm.partner else "People")
        wired = (link for link in self._links if self.db.deployment.sandbox or not link.sandbox_only)
        links = [*(link for link in wired if link.is_visible_to(place.realm, roles)), own]
        hrefs = [place.home + link.path for link in links]
        # A page belongs to the longest matching entry, since all paths are below "your account".
        here = max((href for href in hrefs if path == href or path.startswith(href + "/")), key=len)
        current = "page" if path == here else "true"
        groups: dict[str, list[NavigationItem]] = {}
        for href, link in zip(hrefs, links, strict=True):
            label = link.label if link.for_operators else language.text(link.label)
            shown = NavigationItem(href, link.path, label, current if href == here else "")
            groups.setdefault(link.group, []).append(shown)
        named = {
            one: one if not one or not place.realm.partner else language.text(f"desk.area.{one.lower()}")
            for one in groups
        }
        made = tuple(NavigationGroup(named[heading], tuple(items)) for heading, items in groups.items())
        frame = PageLayout(
            place.title,
            place.home,
            visitor.person.display_name,
            visitor.csrf_token,
            made,
            pause_reason=place.pause_reason,
        )
        if visitor.partner_view_expires_at is None:
            return frame
        end = f"{OPERATORS_HOME}/partners/{place.name}/view/end"
        return replace(frame, view_until=f"{visitor.partner_view_expires_at:%H:%M} UTC", view_end=end)


@dataclass(frozen=True, slots=True)
class PageContext:
    """The dependencies of all members' pages."""

    db: Database
    guard: PageGuard
    page_renderer: PageRenderer

    def route(
        self,
        path: str,
        handler: VisitorHandler,
        *roles: Role,
        requires_reauthentication: bool = False,
        methods: Sequence[str] = ("GET", "POST"),
        limits: FormLimits = FORM_LIMITS,
    ) -> Route:
        """A page under the partner's ``/account/{partner}``, for members with one of the roles.

        ``requires_reauthentication``: require a recent reauthentication. ``limits``: for its form.
        """
        return self.guard.protected_route(
            f"{MEMBERS_HOME}/{{partner}}{path}",
            handler,
            *roles,
            requires_reauthentication=requires_reauthentication,
            methods=methods,
            limits=limits,
        )

    def render_page(
        self,
        visitor: SignedInRequest,
        template: str,
        *,
        language: Language | None = None,
        status: int = 200,
        **context: object,
    ) -> Response:
        """A page in the visitor's frame; without a language in English."""
        return self.guard.render_page(
            self.page_renderer, visitor, template, language=language, status=status, passkeys=False, **context
        )

    def format_id(self, id_type: str, record_id: UUID) -> str:
        """An identifier as pages show it."""
        return self.db.deployment.ids.encode(id_type, record_id)

    def parse_id_from_path(self, visitor: SignedInRequest, id_type: str) -> UUID:
        """The ID in the last segment of the path. Raises NotFound."""
        return self.parse_id(id_type, visitor.path.rpartition("/")[2])

    def parse_page_cursor(self, visitor: SignedInRequest, id_type: str) -> UUID | None:
        """The ID after which a page of a list begins; None for the first page. Raises NotFound."""
        name = visitor.query.get("after")
        return None if name is None else self.parse_id(id_type, name)

    def parse_id(self, id_type: str, text: str) -> UUID:
        """Parse an ID. Raises NotFound."""
        found = self.db.deployment.ids.decode(id_type, text)
        if found is None:
            raise NotFound
        return found

    def audit_context(self, visitor: SignedInRequest) -> AuditContext:
        """The visitor as author of audited changes."""
        return visitor.audit_context(self.db.deployment.ids)


def partner_from_request(visitor: SignedInRequest) -> Partner:
    """The partner that the visitor is a member of."""
    return Partner(visitor.realm.id)


def _portal_of_path(request: Request) -> AccountPortal | None:
    """The portal whose URL prefix an unknown path has, if any."""
    return OPERATOR_PORTAL if request.url.path.startswith(OPERATORS_HOME) else None


def _requested_path(request: Request) -> str:
    """The requested path with its query."""
    return f"{request.url.path}?{request.url.query}".rstrip("?")


def redirect_to(path: str) -> Response:
    """A redirect that the browser follows with GET (303)."""
    return RedirectResponse(path, 303, NO_PAGE)


def set_cookie(response: Response, name: str, value: str, *, max_age_seconds: int) -> None:
    """Set a ``__Host-`` cookie: secure, HTTP-only and limited to this host."""
    response.set_cookie(name, value, max_age=max_age_seconds, path="/", secure=True, httponly=True, samesite="lax")


def set_device_cookie(response: Response, portal: AccountPortal, cookie_value: str) -> None:
    """Set the cookie that recognises this browser at the next sign-in."""
    set_cookie(response, portal.device_cookie_name, cookie_value, max_age_seconds=int(DEVICE_LIFETIME.total_seconds()))


def delete_cookie(response: Response, name: str) -> None:
    """Delete a cookie."""
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")


def browser_from_request(request: Request, portal: AccountPortal) -> Browser:
    """The browser behind a request: network address, User-Agent and device cookie."""
    address = request.client.host if request.client else ""
    return Browser(address, request.headers.get("user-agent", ""), request.cookies.get(portal.device_cookie_name))


def form_value(form: FormData, name: str) -> str:
    """The value of one form field as typed; empty if it is missing."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""
