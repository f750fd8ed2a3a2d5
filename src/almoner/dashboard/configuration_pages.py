"""Preview the hosted form of a submission configuration before it is saved."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Protocol

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.dashboard.domain import RecordForm, roles_with_scope
from almoner.dashboard.record_forms import submitted_form_values
from almoner.dashboard.record_lists import CONFIGURATIONS
from almoner.kit.errors import NotFound
from almoner.platform.pages import colours
from almoner.platform.pages.translations import Language
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.domain import CHECKS, Configuration

_NEW = "new"
_LONGEST_NAME = 255


class FormPreviewRenderer(Protocol):
    """Renders a page of the hosted form for one of our frames."""

    def __call__(
        self,
        account: PartnerAccount,
        configuration: Configuration,
        language: Language,
        page: Literal["start", "questions"] = "start",
    ) -> Response:
        """Render the page."""
        ...


class SubmissionConfigurationPages:
    """The preview page, shown in a frame."""

    def __init__(self, context: PageContext, render: FormPreviewRenderer) -> None:
        self._context = context
        self._render = render

    def routes(self) -> list[Route]:
        """Starlette routes."""
        assert CONFIGURATIONS.form is not None
        roles = sorted(roles_with_scope(CONFIGURATIONS.form.scope))
        return [self._context.route(f"{CONFIGURATIONS.path}/{{id}}/preview", self.preview_application_form, *roles)]

    async def preview_application_form(self, visitor: SignedInRequest) -> Response:
        """Preview the hosted form, as stored or as entered. Nothing is saved."""
        partner = partner_from_request(visitor)
        name = visitor.path.removeprefix(f"{visitor.portal.home}{CONFIGURATIONS.path}/").split("/")[0]
        stored = None if name == _NEW else self._context.parse_id(CONFIGURATIONS.id_type, name)
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner)
            shown = await (
                configurations.find_default(tx, partner) if stored is None else configurations.find(tx, partner, stored)
            )
        if shown is None:
            raise NotFound
        if stored is None:
            shown = replace(shown, logo=None, partner_fields=())
        if visitor.form and isinstance(form := CONFIGURATIONS.form, RecordForm):
            shown = _as_typed(shown, submitted_form_values(visitor, form.fields), account)
        return self._render(account, shown, self._context.page_renderer.language_for_tag(visitor.language))


def _as_typed(
    shown: Configuration, entered_values: Mapping[str, str | list[str]], account: PartnerAccount
) -> Configuration:
    """The configuration with the form's values; an invalid colour is not shown."""
    return replace(
        shown,
        display_name=str(entered_values["branding.displayName"] or account.name)[:_LONGEST_NAME],
        primary_color=parse_colour(str(entered_values["branding.primaryColor"])),
        checks=tuple(check for check in CHECKS if check in entered_values["checks"]),
    )


def parse_colour(text: str) -> str | None:
    """The entered colour; None if invalid."""
    try:
        colours.parse_colour(text)
    except ValueError:
        return None
    return text
