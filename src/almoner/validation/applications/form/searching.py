"""The search of the form: what it finds, in words, and how often one form may ask."""

from typing import Any, Final

from markupsafe import Markup

from almoner.kit.text import typed
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.rendering import embed
from almoner.platform.ratelimit import Limit, RateLimiter
from almoner.validation.applications.form import drafts, service, view_models
from almoner.validation.applications.form.form_views import Face

_OFTEN: Final = Limit("application_search", 2, 60)
"""Of one form: more than anybody types, and too little to read a register by."""


class Search:
    """Finds nonprofits for forms."""

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter

    async def found(self, tx: Tx, face: Face, query: str) -> dict[str, Any]:
        """What the templates of the results show."""
        application, language = face.application, face.language
        nothing = {"bodies": [], "more": False, "found": ""}
        if not (text := typed(query)):
            return nothing
        if self._limiter.admit(_OFTEN, application.invite.id, tx.wall.timestamp()).retry_after is not None:
            return {**nothing, "found": language.html("apply.broken.next")}
        found = await service.search(tx, application.partner, text)
        if found is None:
            return nothing
        chosen = application.draft.organisation
        bodies = [view_models.body_of(tx, one, language.locale, chosen=one.id == chosen) for one in found.organisations]
        count = len(bodies)
        told = language.html("apply.nonprofit.found", count=count) if count else _none(face)
        return {"bodies": bodies, "more": found.total > count, "found": told}


def _none(face: Face) -> Markup:
    """What is to be done; the script shows it as plain text, and so it has no marks."""
    configuration, language = face.application.configuration, face.language
    if drafts.takes_unlisted(configuration):
        return language.html("apply.nonprofit.none")
    partner = embed(configuration.display_name, language.direction)
    return language.html("apply.nonprofit.none.ask", partner=partner)
