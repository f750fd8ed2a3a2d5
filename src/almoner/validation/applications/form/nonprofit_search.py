"""The form's nonprofit search: its results as template values, and its rate limit."""

from typing import Any, Final

from markupsafe import Markup

from almoner.kit.text import clean_text
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.rendering import bidi_isolated_plain_text
from almoner.platform.ratelimit import RateLimit, RateLimiter
from almoner.validation.applications.form import drafts, service, view_models
from almoner.validation.applications.form.form_views import FormContext

_RATE_LIMIT: Final = RateLimit("application_search", 2, 60)
"""Per form: more than anybody types, too little to copy a register."""


class NonprofitSearch:
    """Searches nonprofits for the form, with a rate limit per form."""

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter

    async def search_and_build_results_view_model(self, tx: Tx, context: FormContext, query: str) -> dict[str, Any]:
        """The template values of the search results."""
        application, language = context.application, context.language
        nothing = {"bodies": [], "more": False, "found": ""}
        if not (text := clean_text(query)):
            return nothing
        if (
            self._limiter.count_call(_RATE_LIMIT, application.invite.id, tx.real_now.timestamp()).retry_after_seconds
            is not None
        ):
            return {**nothing, "found": language.html("apply.broken.next")}
        found = await service.search_organisations(tx, application.partner, text)
        if found is None:
            return nothing
        chosen = application.draft.organisation
        organisations = [
            view_models.build_organisation_card(tx, one, language.locale, chosen=one.id == chosen)
            for one in found.organisations
        ]
        count = len(organisations)
        reported = language.html("apply.nonprofit.found", count=count) if count else _no_results_text(context)
        return {"bodies": organisations, "more": found.total > count, "found": reported}


def _no_results_text(context: FormContext) -> Markup:
    """What to do without results. Plain text without markup, since the script shows it as such."""
    configuration, language = context.application.configuration, context.language
    if drafts.accepts_unlisted_nonprofits(configuration):
        return language.html("apply.nonprofit.none")
    partner = bidi_isolated_plain_text(configuration.display_name, language.direction)
    return language.html("apply.nonprofit.none.ask", partner=partner)
