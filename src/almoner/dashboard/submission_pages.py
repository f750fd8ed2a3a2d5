"""The page of a submission: the status of its checks, and the uploaded documents."""

from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest
from almoner.dashboard.domain import has_scope, roles_with_scope
from almoner.dashboard.member_api_client import MemberApiClient
from almoner.dashboard.record_lists import SUBMISSIONS
from almoner.dashboard.record_pages import RecordPages

_DECIDES: Final = "validation_submissions:write"
"""The scope that shows applicants' documents."""


class SubmissionPages:
    """The page."""

    def __init__(self, context: PageContext, calls: MemberApiClient, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        readers = sorted(roles_with_scope(SUBMISSIONS.scope))
        return [self._context.route(f"{SUBMISSIONS.path}/{{id}}", self.show_submission, *readers, methods=["GET"])]

    async def show_submission(self, visitor: SignedInRequest) -> Response:
        """Show a submission; the links to its documents are valid for some minutes."""
        record = await self._records.get_record(visitor, SUBMISSIONS)
        documents = None
        if has_scope(visitor.person.roles, _DECIDES):
            found = await self._calls.list_page(visitor, f"{SUBMISSIONS.api_path}/{record['id']}/documents", [])
            documents = found.records
        return await self._records.render_record(visitor, SUBMISSIONS, record, "submission.html", documents=documents)
