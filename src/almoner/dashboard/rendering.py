"""Render the dashboard's pages for the signed-in member, in their language and time zone."""

from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Final

from starlette.responses import Response

from almoner.access.accounts.page_guard import PageContext, Visitor
from almoner.access.accounts.page_texts import in_english, texts_of
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


def render_page(context: PageContext, visitor: Visitor, template: str, *, status: int = 200, **facts: Any) -> Response:
    """Render a page of the dashboard."""
    texts = texts_of(context, visitor)
    return context.render_page(
        visitor,
        template,
        language=texts.language,
        status=status,
        status_tone=status_tone,
        label=texts.label,
        value_text=texts.value,
        number=texts.number,
        moment=texts.moment,
        short_moment=texts.short_moment,
        age=texts.age,
        language_name=texts.language_name,
        country_name=texts.country_name,
        zone=texts.zone_name(),
        words=texts.language.html,
        parsed=datetime.fromisoformat,
        in_english=in_english,
        shortcuts=_SHORTCUTS,
        script=True,
        **facts,
    )


def new_form_key() -> str:
    """An idempotency key for one form: it is applied once, however often it is submitted."""
    return token_urlsafe(16)
