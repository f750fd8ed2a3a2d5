"""Downloads of the signed dossier of a review case or a verification. Each download is recorded in the audit log."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.review_words import REVIEWS
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.evidence.dossier_files import MEDIA_TYPES, DossierFormat, build_dossier_file

PATHS: Final = {
    "validationrequest": REVIEWS,
    "agentverification": REVIEWS,
    "monetarydonationverification": f"{REVIEWS}/verifications",
}
"""The path of the page of a record by its ID type, for the kinds of record that have a dossier."""


def dossier_links(id_type: str, record_id: str) -> list[tuple[str, str]]:
    """The URL and label of each format of a record's dossier. Empty if this type of record has no dossier."""
    if id_type not in PATHS:
        return []
    return [(f"{PATHS[id_type]}/{record_id}/dossier.{one}", f"Dossier ({one.upper()})") for one in MEDIA_TYPES]


class DossierPages:
    """Serves dossiers to reviewers."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """The Starlette routes. They come before the routes of review cases, which would also match these URLs."""
        return [
            self._context.route(
                f"{path}/{{id}}/dossier.{format_}", self._answer(format_), *sorted(REVIEWERS), methods=["GET"]
            )
            for path in dict.fromkeys(PATHS.values())
            for format_ in MEDIA_TYPES
        ]

    def _answer(self, format_: DossierFormat) -> VisitorHandler:
        async def answer(visitor: SignedInRequest) -> Response:
            db, name = self._context.db, visitor.path.split("/")[-2]
            parsed = ((one, db.deployment.ids.decode(one, name)) for one in PATHS)
            id_type, record_id = next(((one, found) for one, found in parsed if found), (None, None))
            if id_type is None or record_id is None:
                raise NotFound
            load = self._context.services.dossier_loaders_by_id_type[id_type]
            file = await build_dossier_file(db, load, ALL_PARTNERS, record_id, format_)
            async with db.write() as tx:
                audited = "dossier.downloaded"
                await self._context.record_audit_entry(tx, visitor, file.partner_id, audited, name, format=format_)
            return file.to_response()

        return answer
