"""Partner settings for owners: colour and links of donors' and applicants' pages."""

from dataclasses import replace
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import mark_as_english
from almoner.access.partners import service as partners
from almoner.dashboard.configuration_pages import FormPreviewRenderer, parse_colour
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.validation.applications.configurations import service as configurations

PATH: Final = "/brand"
_LINKS: Final = ("website", "privacy", "terms", "contact")


class _Refused(Exception):
    """The settings are invalid. ``problems``: by field."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__()
        self.problems = problems


class BrandingPages:
    """The page with the partner's settings."""

    def __init__(self, context: PageContext, render: FormPreviewRenderer) -> None:
        self._context = context
        self._render = render

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(PATH, self.change_branding, "owner"),
            self._context.route(f"{PATH}/preview", self.preview_application_form, "owner"),
        ]

    async def change_branding(self, visitor: SignedInRequest) -> Response:
        """Show or change the settings; an emptied field is removed."""
        partner = partner_from_request(visitor)
        problems: dict[str, str] = {}
        if visitor.form:
            try:
                async with self._context.db.write() as tx:
                    await self._apply(tx, visitor)
                return redirect_to(f"{visitor.portal.home}{PATH}?done=saved")
            except _Refused as refused:
                problems = refused.problems
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner)
        stored = {"colour": account.brand_colour, **{name: getattr(account.public_links, name) for name in _LINKS}}
        return render_page(
            self._context,
            visitor,
            "brand.html",
            shows_frames=True,
            status=422 if problems else 200,
            values={
                name: visitor.form_value(name) if problems and visitor.is_field_changed(name) else stored[name] or ""
                for name in stored
            },
            stored={name: value or "" for name, value in stored.items()},
            links=_LINKS,
            has_logo=account.brand_logo is not None,
            message="dashboard.brand.saved" if visitor.query.get("done") == "saved" else "",
            problems=problems,
        )

    async def preview_application_form(self, visitor: SignedInRequest) -> Response:
        """Preview the hosted form of applications with the colour as stored or as entered. Nothing is saved."""
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner_from_request(visitor))
            shown = await configurations.find_default(tx, partner_from_request(visitor))
        if shown is None:
            raise NotFound
        if visitor.form:
            account = replace(account, brand_colour=parse_colour(visitor.form_value("colour").strip()))
        return self._render(
            account, replace(shown, primary_color=None), self._context.page_renderer.language_for_tag(visitor.language)
        )

    async def _apply(self, tx: Tx, visitor: SignedInRequest) -> None:
        """Store the entered settings, and record the changes in the audit log. Raises _Refused with all problems."""
        partner, by = partner_from_request(visitor), self._context.audit_context(visitor)
        before = await partners.get(tx, partner)
        problems: dict[str, str] = {}
        for name in ("colour", *_LINKS):
            value = visitor.form_value(name).strip()
            if not visitor.is_field_changed(name):
                continue  # another owner may have changed it meanwhile
            try:
                if name == "colour":
                    await partners.set_brand(tx, partner, colour=value)
                else:
                    await partners.set_public_links(tx, partner, **{name: value})
            except ValueError as refused:
                problems[name] = mark_as_english(f"{str(refused)[:1].upper()}{str(refused)[1:]}.")
        if problems:
            raise _Refused(problems)
        after = await partners.get(tx, partner)
        for action, changed in (
            ("partner.links_set", before.public_links != after.public_links),
            ("partner.branded", before.brand_colour != after.brand_colour),
        ):
            if changed:
                subject = self._context.format_id("partner", partner.id)
                await audit.record_entry(tx, partner.id, by.actor, action, subject, ip_address=by.ip_address)
