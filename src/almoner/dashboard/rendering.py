"""Render the dashboard's pages for the signed-in member, in their language and time zone."""

from datetime import datetime
from typing import Any, Final

from starlette.responses import Response

from almoner.access.accounts.page_guard import PageContext, SignedInRequest
from almoner.access.accounts.page_texts import build_page_texts, mark_as_english
from almoner.platform.pages.record_tables import status_tone

_SHORTCUTS: Final = {
    "/home": "h",
    "/donations": "d",
    "/disbursements": "p",
    "/nonprofits": "n",
    "/validation-submissions": "s",
    "/validation-invites": "i",
    "/webhooks": "w",
    "/events": "e",
}
"""The key after ``g`` that opens a page of the navigation."""


def render_page(
    context: PageContext, visitor: SignedInRequest, template: str, *, status: int = 200, **facts: Any
) -> Response:
    """Render a page of the dashboard."""
    texts = build_page_texts(context, visitor)
    return context.render_page(
        visitor,
        template,
        language=texts.language,
        status=status,
        status_tone=status_tone,
        label=texts.field_label,
        value_text=texts.value_label,
        number=texts.number_text,
        moment=texts.timestamp_text,
        short_moment=texts.short_timestamp_text,
        age=texts.age_text,
        language_name=texts.language_name,
        country_name=texts.country_name,
        zone=texts.time_zone_name(),
        words=texts.language.html,
        parsed=datetime.fromisoformat,
        in_english=mark_as_english,
        shortcuts=_SHORTCUTS,
        script=True,
        **facts,
    )
