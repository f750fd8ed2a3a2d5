"""A member's language and time zone for the dashboard."""

from functools import cache
from typing import Final
from zoneinfo import available_timezones

from babel.core import get_global
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, redirect_to
from almoner.access.accounts.page_texts import build_page_texts, language_choices, parse_time_zone
from almoner.access.people import service as people
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard.rendering import render_page
from almoner.platform.audit import log as audit
from almoner.platform.pages import formats

PATH: Final = "/preferences"


class PreferencePages:
    """The page."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(PATH, self.change_preferences, *MEMBER_ROLES)]

    async def change_preferences(self, visitor: SignedInRequest) -> Response:
        """Show the form, and confirm the change in the language chosen."""
        texts, person = build_page_texts(self._context, visitor), visitor.person
        offered = self._context.page_renderer.catalogues.offered_languages
        chosen = {"language": person.language or "", "zone": person.time_zone or ""}
        problems: dict[str, str] = {}
        if visitor.form:
            chosen = {name: visitor.form_value(name).strip()[:100] for name in chosen}
            if chosen["zone"] and parse_time_zone(chosen["zone"]) is None:
                problems["zone"] = texts.text("dashboard.preferences.zone.problem")
            if chosen["language"] and chosen["language"] not in offered:
                problems["language"] = texts.text("dashboard.preferences.language.problem")
            if not problems:
                await self._store(visitor, chosen)
                return redirect_to(f"{visitor.portal.home}{PATH}?done=saved")
        return render_page(
            self._context,
            visitor,
            "preferences.html",
            status=422 if problems else 200,
            chosen=chosen,
            languages=[
                ("", texts.text("dashboard.preferences.language.browser")),
                *language_choices({*offered, *([chosen["language"]] if person.language else [])}, texts),
            ],
            zones=_zone_names(),
            default_zone=formats.zone_name(self._context.db.deployment.time_zone, texts.language.locale),
            message="dashboard.preferences.saved" if visitor.query.get("done") == "saved" else "",
            problems=problems,
        )

    async def _store(self, visitor: SignedInRequest, chosen: dict[str, str]) -> None:
        """Store the choices as profile attributes of the person, like SCIM does; empty ones are removed."""
        by = self._context.audit_context(visitor)
        async with self._context.db.write() as tx:
            person = await people.get_for_update(tx, visitor.realm, visitor.person.id)
            stated = {"preferredLanguage": chosen["language"], "timezone": chosen["zone"]}
            kept = {name: value for name, value in person.profile.items() if name not in stated}
            changed = kept | {name: value for name, value in stated.items() if value}
            if changed != person.profile:
                await people.update_profile(tx, person, changed)
                await audit.record_entry(
                    tx, visitor.realm.id, by.actor, "member.preferences_changed", by.actor.id, ip_address=by.ip_address
                )


@cache
def _zone_names() -> list[str]:
    """The time zones of all territories, and UTC."""
    return ["UTC", *sorted(get_global("zone_territories").keys() & available_timezones())]
