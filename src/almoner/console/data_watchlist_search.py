"""Search the watchlists for a name or number. Names are compared as in screening, but nothing is stored."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.context import ConsoleContext
from almoner.console.links import DATA_READERS, WATCHLIST_SEARCH
from almoner.console.review_words import FINDING_WORDS, REVIEWS
from almoner.giving.disbursing.verifications import service as verifications
from almoner.kit.errors import NotFound
from almoner.nonprofits.countries.domain import COUNTRIES
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.screening.matching.domain import PersonScreeningObstacle
from almoner.screening.matching.service import FLAG_SCORE
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import StoredSubject, WatchlistSearchResult
from almoner.screening.watchlists.domain import SubjectKind, TextHit, TextPlace

_LONGEST_NAME: Final = 500
_OFFERED: Final = 8
"""The number of further names of a case whose button is always shown."""
_MOST_OFFERED: Final = 100
"""The maximum number of further names of a case that have a button."""
PLACE_WORDS: Final[dict[TextPlace, str]] = {
    "entry": "the entry number in the list",
    "name": "a name",
    "number": "a number",
    "note": "the note",
}
_KINDS: Final[dict[str, SubjectKind]] = {"organisation": "organisation", "person": "person"}
OBSTACLE_WORDS: Final[dict[PersonScreeningObstacle, str]] = {
    "script_uncertain": (
        "These results may be incomplete. This name has look-alike letters, is in a script that can only be compared "
        "by sound, or is a single word, which lists may translate."
    ),
    "script_not_supported": (
        "Some letters of this name cannot be compared, so entries that contain the name in another alphabet are not "
        "found. Enter the name in Latin letters, and also search the list on the publisher’s website."
    ),
    "no_words": "This text contains no words that can be compared with names.",
    "single_name": (
        "The lists contain people’s full names, but this is a single name. Enter the first and last name. These "
        "results may be incomplete."
    ),
}


class WatchlistSearchPage:
    """The page for searching the watchlists."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(WATCHLIST_SEARCH, self.search, *sorted(DATA_READERS))]

    async def search(self, visitor: SignedInRequest) -> Response:
        """Show the search form, with initial values from the review case if there is one, and the results.

        Each search is recorded in the audit log.
        """
        case = visitor.query.get("case", "")
        subject = await self._subject_of(case) if case else None
        typed = _typed(visitor, subject)
        problems = _problems(typed) if visitor.form else {}
        found = None
        if visitor.form and not problems:
            countries = [typed["country"].upper()] if typed["country"] else []
            screener, kind = self._context.services.screener, _KINDS[typed["kind"]]
            found = await screenings.search_watchlists(self._context.db, screener, typed["name"], kind, countries)
            async with self._context.db.write() as tx:
                await self._record(tx, visitor, typed["kind"], found, case if subject else None)
        names = _further_names(subject) if subject else []
        return await self._context.render_console_page(
            visitor,
            "data_watchlist_search.html",
            status=422 if problems else 200,
            typed=typed,
            problems=problems,
            found=found,
            obstacle=OBSTACLE_WORDS.get(found.obstacle) if found and found.obstacle else None,
            others=names[:_OFFERED],
            folded=names[_OFFERED:_MOST_OFFERED],
            unlisted=len(names[_MOST_OFFERED:]),
            containing=_not_flagged(found) if found else (),
            place_words=PLACE_WORDS,
            back=self._back(case) if subject else None,
            least=FLAG_SCORE,
            finding_words=FINDING_WORDS,
            titles={one.code: one.title for one in found.lists} if found else {},
        )

    async def _record(
        self, tx: Tx, visitor: SignedInRequest, kind: str, found: WatchlistSearchResult, case: str | None
    ) -> None:
        """Record the search in the audit log. The entry contains the ID of the case, but not the name."""
        counts = {"found": len(found.flagged), "similar": len(found.similar), "containing": len(found.containing.hits)}
        details = {"case": case} if case else {}
        await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "watchlist.searched", kind, **counts, **details)

    def _back(self, case: str) -> tuple[str, str]:
        """The path and label of the page that the visitor came from."""
        if self._context.db.deployment.ids.decode("monetarydonationverification", case) is not None:
            return f"{REVIEWS}/verifications/{case}", f"Verification {case}"
        return f"{REVIEWS}/{case}", f"Case {case}"

    async def _subject_of(self, case: str) -> StoredSubject:
        """The screened subject of a review case or of a verification. Raises NotFound."""
        ids = self._context.db.deployment.ids
        async with self._context.db.read() as tx:
            if (subject := ids.decode("screeningsubject", case)) is not None:
                found = await screenings.find_subject_by_id(tx, subject)
            elif (agent := ids.decode("agentverification", case)) is not None:
                found = await screenings.find_screened_subject(tx, "agent_verification", agent)
            elif (verification := ids.decode("monetarydonationverification", case)) is not None:
                record = await verifications.get(tx, ALL_PARTNERS, verification)
                found = await verifications.find_unscreened_subject(tx, record)
            else:
                found = None
        if found is None:
            raise NotFound
        return found


def _typed(visitor: SignedInRequest, subject: StoredSubject | None) -> dict[str, str]:
    """The values in the form: those that the visitor entered, or else those of the review case."""
    if visitor.form:
        return {name: " ".join(visitor.form_value(name).split()) for name in ("name", "kind", "country")}
    if subject is None:
        return {"name": "", "kind": "organisation", "country": ""}
    asked = subject.details
    return {"name": next(iter(asked.names), ""), "kind": asked.kind, "country": next(iter(asked.countries), "")}


def _further_names(subject: StoredSubject) -> list[str]:
    """The names and numbers of a case after its first name, each once."""
    return [*dict.fromkeys([*subject.details.names, *subject.details.identifiers])][1:]


def _not_flagged(found: WatchlistSearchResult) -> list[TextHit]:
    """The entries that contain the text, without those that the comparison of names flagged."""
    flagged = {(hit.list, hit.entry_key) for hit in found.flagged}
    return [one for one in found.containing.hits if (one.entry.list, one.entry.listed.key) not in flagged]


def _problems(typed: dict[str, str]) -> dict[str, str]:
    problems = {}
    if not 1 <= len(typed["name"]) <= _LONGEST_NAME:
        problems["name"] = f"Enter a name or number. The limit is {_LONGEST_NAME} characters."
    if typed["kind"] not in _KINDS:
        problems["kind"] = "Choose an organisation or a person."
    if typed["country"] and typed["country"].upper() not in COUNTRIES:
        problems["country"] = "Enter a three-letter country code, such as DEU, or leave it empty."
    return problems
