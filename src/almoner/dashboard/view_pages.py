"""A member's saved views of lists: the filters of a URL under a name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.people import service as people
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard import store_views
from almoner.dashboard.domain import RecordList, SavedView, has_scope
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.kit.text import clean_text
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx

PATH: Final = "/views"
ID_TYPE: Final = "savedview"
MOST_VIEWS: Final = 100
"""The maximum number of views that a person can save."""
_NAME: Final = 80
_QUERY: Final = 4000
_DONE: Final = {"renamed": "dashboard.views.renamed", "deleted": "dashboard.views.deleted"}


class SavedViewPages:
    """Pages about saved views."""

    def __init__(self, context: PageContext, lists: Sequence[RecordList]) -> None:
        self._context = context
        self._lists = {one.path: one for one in lists}

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(PATH, self.show_saved_views, *MEMBER_ROLES),
            self._context.route(f"{PATH}/{{id}}", self.rename, *MEMBER_ROLES),
            self._context.route(f"{PATH}/{{id}}/delete", self.delete, *MEMBER_ROLES),
        ]

    async def show_saved_views(self, visitor: SignedInRequest) -> Response:
        """Show all saved views of the person; a posted form saves one."""
        problem = ""
        unsaved: SavedView | None = None
        if visitor.form:
            declared = self._list_of(visitor, visitor.form_value("list"))
            query, name = _query(declared, visitor), _name(visitor)
            async with self._context.db.write() as tx:
                unsaved = SavedView(tx.new_id(), declared.path, name, query)
                problem = await self._save(tx, visitor, unsaved)
            if not problem:
                return redirect_to(f"{visitor.portal.home}{declared.path}?{query}")
        async with self._context.db.read() as tx:
            views = await store_views.list_saved_views(tx, partner_from_request(visitor), visitor.person.id)
        return self._render(
            visitor,
            "views.html",
            problem,
            views=[one for one in views if self._may_see(visitor, one)],
            unsaved=unsaved,
            filters=parse_qsl(unsaved.query) if unsaved else [],
        )

    async def rename(self, visitor: SignedInRequest) -> Response:
        """Rename a view."""
        view, problem = await self._view(visitor), ""
        if visitor.form:
            name = _name(visitor)
            async with self._context.db.write() as tx:
                if not name:
                    problem = "dashboard.views.problem.unnamed"
                elif name != view.name:
                    problem = await self._rename(tx, visitor, view, name)
            if not problem:
                return redirect_to(f"{visitor.portal.home}{PATH}?done=renamed")
        return self._render(visitor, "view_rename.html", problem, view=view, typed=_name(visitor) or view.name)

    async def delete(self, visitor: SignedInRequest) -> Response:
        """Delete a view after confirmation."""
        view = await self._view(visitor)
        if not visitor.form:
            return self._render(visitor, "view_delete.html", "", view=view)
        async with self._context.db.write() as tx:
            if await store_views.delete_saved_view(tx, partner_from_request(visitor), visitor.person.id, view):
                await self._record(tx, visitor, "saved_view.deleted", view)
        return redirect_to(f"{visitor.portal.home}{PATH}?done=deleted")

    async def _save(self, tx: Tx, visitor: SignedInRequest, view: SavedView) -> str:
        """Store the view; returns the catalogue key of the problem, empty if it is stored."""
        if not view.name:
            return "dashboard.views.problem.unnamed"
        if not view.query:
            return "dashboard.views.problem.unfiltered"
        partner, person_id = partner_from_request(visitor), visitor.person.id
        await people.get_for_update(tx, visitor.realm, person_id)  # one view at a time
        known = await store_views.list_saved_views(tx, partner, person_id)
        if any(replace(one, id=view.id) == view for one in known):
            return ""  # the form was submitted twice
        if len(known) >= MOST_VIEWS:
            return "dashboard.views.problem.limit"
        if not await store_views.insert_saved_view(tx, partner, person_id, view):
            return "dashboard.views.problem.taken"
        await self._record(tx, visitor, "saved_view.created", view)
        return ""

    async def _rename(self, tx: Tx, visitor: SignedInRequest, view: SavedView, name: str) -> str:
        """Rename the view; returns the catalogue key of the problem, empty if it was renamed."""
        if not await store_views.rename_saved_view(tx, partner_from_request(visitor), visitor.person.id, view, name):
            return "dashboard.views.problem.taken"
        await self._record(tx, visitor, "saved_view.renamed", view)
        return ""

    async def _record(self, tx: Tx, visitor: SignedInRequest, action: str, view: SavedView) -> None:
        by = self._context.audit_context(visitor)
        subject = self._context.format_id(ID_TYPE, view.id)
        await audit.record_entry(tx, visitor.realm.id, by.actor, action, subject, ip_address=by.ip_address)

    async def _view(self, visitor: SignedInRequest) -> SavedView:
        """The person's view named in the URL. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{PATH}/").split("/")[0]
        wanted: UUID = self._context.parse_id(ID_TYPE, name)
        async with self._context.db.read() as tx:
            views = await store_views.list_saved_views(tx, partner_from_request(visitor), visitor.person.id)
        found = next((one for one in views if one.id == wanted), None)
        if found is None:
            raise NotFound
        return found

    def _list_of(self, visitor: SignedInRequest, path: str) -> RecordList:
        """The list of a view. Raises NotFound if the visitor may not see it."""
        declared = self._lists.get(path)
        if declared is None or not has_scope(visitor.person.roles, declared.scope):
            raise NotFound
        return declared

    def _may_see(self, visitor: SignedInRequest, view: SavedView) -> bool:
        declared = self._lists.get(view.list)
        return declared is not None and has_scope(visitor.person.roles, declared.scope)

    def _render(self, visitor: SignedInRequest, template: str, problem: str, **facts: object) -> Response:
        texts = build_page_texts(self._context, visitor)
        return render_page(
            self._context,
            visitor,
            template,
            status=422 if problem else 200,
            problems={"name": texts.text(problem, limit=texts.number_text(MOST_VIEWS))} if problem else {},
            lists=self._lists,
            view_id=lambda view: self._context.format_id(ID_TYPE, view.id),
            message=_DONE.get(visitor.query.get("done", "")),
            **facts,
        )


def _name(visitor: SignedInRequest) -> str:
    return clean_text(visitor.form_value("name"))[:_NAME].strip()


def _query(record_list: RecordList, visitor: SignedInRequest) -> str:
    """The filters that the list's form sets, in the order of the list."""
    given = [(name, visitor.form_value(f"filter_{name}").strip()[:500]) for name in record_list.query_parameter_names]
    return urlencode([(name, value) for name, value in given if value])[:_QUERY]
