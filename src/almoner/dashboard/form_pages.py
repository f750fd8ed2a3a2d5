"""Pages that create a record, or perform an action on one; each explains the effects first."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import (
    PageContext,
    SignedInRequest,
    VisitorHandler,
    partner_from_request,
    redirect_to,
)
from almoner.access.accounts.page_texts import (
    PageTexts,
    build_page_texts,
    join_reasons_as_english,
    language_choices,
    mark_as_english,
)
from almoner.dashboard.domain import FormField, RecordAction, RecordForm, RecordList, roles_with_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record, iterate_pages
from almoner.dashboard.record_forms import (
    FormValues,
    form_values_of_record,
    hash_form_values,
    initial_form_values,
    merge_concurrent_changes,
    parse_form,
    submitted_form_values,
)
from almoner.dashboard.record_lists import CONFIGURATIONS, ORGANISATIONS
from almoner.dashboard.record_locks import ensure_record_unchanged, load_record_state
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import PreconditionFailed
from almoner.platform.database.transactions import Tx

_FIND: Final = "find"
"""The name of the button that searches nonprofits instead of submitting the form."""
_HITS: Final = 10
_STORED: Final = "stored."
"""The prefix of hidden fields with the hashes of the values that a form was filled with."""
_CHANGED: Final = "has changed since you opened this page. Check the current values, then submit the form again"
Problems = dict[str, str]
Choices = list[tuple[str, str]]
Precondition = Callable[[Tx], Awaitable[None]]


class RecordFormPages:
    """The pages of the forms and actions that lists declare."""

    def __init__(self, context: PageContext, calls: MemberApiClient, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """The routes. They precede those of records, whose paths would match them."""
        made: list[Route] = []
        for one in self._records.lists:
            if one.form is not None:
                roles = sorted(roles_with_scope(one.form.scope) & roles_with_scope(one.scope))
                made.append(self._context.route(f"{one.path}/new", self._creator(one, one.form), *roles))
            for action in one.actions:
                roles = sorted(roles_with_scope(action.scope) & roles_with_scope(one.scope))
                path = f"{one.path}/{{id}}/{action.path}"
                made.append(
                    self._context.route(
                        path,
                        self._actor(one, action),
                        *roles,
                        requires_reauthentication=action.requires_reauthentication,
                    )
                )
        return made

    def _creator(self, record_list: RecordList, form: RecordForm) -> VisitorHandler:
        async def create(visitor: SignedInRequest) -> Response:
            texts, blank = build_page_texts(self._context, visitor), initial_form_values(form.fields)
            typed = submitted_form_values(visitor, form.fields) if visitor.form else blank
            problems: Problems = {}
            if _is_sent(visitor):
                body, problems = parse_form(form.fields, typed, blank, texts)
                if not problems:
                    try:
                        made = await self._calls.post(
                            visitor, record_list.api_path, body, idempotency_key=visitor.form_key
                        )
                        return redirect_to(f"{visitor.portal.home}{record_list.path}/{made['id']}?done=new")
                    except ApiCallRejected as refused:
                        problems = _form_problems(refused, form.fields, texts)
            return await self._render(
                visitor, "record_new.html", form.fields, typed, problems, status=422 if problems else 200,
                declared=record_list,
            )  # fmt: skip

        return create

    def _actor(self, record_list: RecordList, action: RecordAction) -> VisitorHandler:
        async def act(visitor: SignedInRequest) -> Response:
            changes = action.method == "PATCH"
            unchanged = await self._unchanged(visitor, record_list) if changes and _is_sent(visitor) else None
            record = await self._records.get_record(visitor, record_list)
            texts = build_page_texts(self._context, visitor)
            before = (
                form_values_of_record(record, action.fields, texts) if changes else initial_form_values(action.fields)
            )
            typed = submitted_form_values(visitor, action.fields) if visitor.form else before
            stored = hash_form_values(before) if changes else {}
            shown = {name: visitor.form_value(_STORED + name) for name in stored if _STORED + name in visitor.form}
            problem: str | None = None
            problems: Problems = {}
            if _is_sent(visitor):
                typed, changed = merge_concurrent_changes(typed, shown, before)
                body, problems = parse_form(action.fields, typed, before, texts, record)
                problems |= _concurrency_problems(changed, action.fields, texts)
                shown = {}
                try:
                    if not problems:
                        await self._call(visitor, record_list, action, record, body, unchanged)
                        return redirect_to(f"{visitor.portal.home}{record_list.path}/{record['id']}?done={action.path}")
                except ApiCallRejected as refused:
                    if refused.code == PreconditionFailed.code:
                        return await act(visitor)  # compare the form with what somebody has just stored
                    if refused.status == 400 and all(one.startswith("body.") for one in refused.reasons):
                        problems = _form_problems(refused, action.fields, texts)
                    else:
                        problem = join_reasons_as_english(refused.reasons)
            return await self._render(
                visitor, "record_action.html", action.fields, typed, problems,
                status=422 if problem or problems else 200, declared=record_list, record=record, action=action,
                problem=problem, stored=stored | shown,
            )  # fmt: skip

        return act

    async def _call(
        self,
        visitor: SignedInRequest,
        record_list: RecordList,
        action: RecordAction,
        record: Record,
        body: Mapping[str, object],
        precondition: Precondition | None,
    ) -> None:
        """Call the API. ``precondition``: of a PATCH. Raises ApiCallRejected."""
        path, body = f"{record_list.api_path}/{record['id']}", {**action.fixed_values, **body}
        if action.method == "POST":
            await self._calls.post(visitor, f"{path}/{action.path}", body, idempotency_key=visitor.form_key)
        elif body:
            await self._calls.patch(visitor, path, body, precondition=precondition)

    async def _unchanged(self, visitor: SignedInRequest, record_list: RecordList) -> Precondition:
        """The precondition that the record named in the URL is still as it is stored now. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{record_list.path}/").split("/")[0]
        record_id = self._context.parse_id(record_list.id_type, name)
        partner, id_type = partner_from_request(visitor), record_list.id_type
        async with self._context.db.read() as tx:
            state = await load_record_state(tx, partner, id_type, record_id)
        return lambda tx: ensure_record_unchanged(tx, partner, id_type, record_id, state)

    async def _render(
        self,
        visitor: SignedInRequest,
        template: str,
        fields: Sequence[FormField],
        entered_values: FormValues,
        problems: Problems,
        *,
        status: int,
        **facts: Any,
    ) -> Response:
        return render_page(
            self._context,
            visitor,
            template,
            status=status,
            fields=fields,
            typed=entered_values,
            choices={field.member: await self._choices(visitor, field, entered_values) for field in fields},
            find=visitor.form_value(_FIND).strip()[:500],
            problems=problems,
            shows_frames=facts["declared"].preview,
            **facts,
        )

    async def _choices(self, visitor: SignedInRequest, field: FormField, entered_values: FormValues) -> Choices:
        """The options of a field: pairs of value and label."""
        texts = build_page_texts(self._context, visitor)
        none = ("", texts.text("dashboard.choice.none"))
        match field.kind:
            case "language":
                return [none, *language_choices(self._context.page_renderer.catalogues.offered_languages, texts)]
            case "choice" | "choices":
                return [(one, texts.value_label(one)) for one in field.choices]
            case "category":
                pages = iterate_pages(lambda asked: self._calls.list_page(visitor, "/v1/categories", asked), [])
                return [none, *[(one["id"], one["name"]) async for records in pages for one in records]]
            case "configuration":
                found = (await self._calls.list_page(visitor, CONFIGURATIONS.api_path, [])).records
                return [none, *((one["id"], one["name"] or one["branding"]["displayName"]) for one in found)]
            case "nonprofits":
                return await self._nonprofits(visitor, entered_values[field.member])
        return []

    async def _nonprofits(self, visitor: SignedInRequest, ticked: Sequence[str]) -> Choices:
        """The selected nonprofits, then search results."""
        names = await self._records.load_organisation_names_by_id(visitor, ticked)
        found: Sequence[Record] = ()
        if (wanted := visitor.form_value(_FIND).strip()[:500]) and visitor.form_value("do") == _FIND:
            asked = [("query", wanted), ("acceptsDonations", "true"), ("pageSize", str(_HITS))]
            try:
                found = (await self._calls.list_page(visitor, ORGANISATIONS.api_path, asked)).records
            except ApiCallRejected as refused:
                if refused.status != 400:
                    raise
        hits = [(one["id"], _described(one)) for one in found if one["id"] not in ticked]
        return [*[(one, names.get(one, one)) for one in ticked], *hits]


def _described(organisation: Record) -> str:
    """A nonprofit's name, with what distinguishes it from others with that name."""
    parts = (
        organisation["displayName"] or organisation["name"],
        organisation["registryId"],
        organisation["countryCode"],
    )
    return ", ".join(str(one) for one in parts if one)


def _is_sent(visitor: SignedInRequest) -> bool:
    """Whether the form was submitted, not just reloaded for a search."""
    return bool(visitor.form) and visitor.form_value("do") != _FIND


def _concurrency_problems(changed: Sequence[str], fields: Sequence[FormField], texts: PageTexts) -> Problems:
    """The errors of fields that somebody has changed since the form was opened."""
    labels = {field.member: texts.field_label(field.label_field_name) for field in fields}
    return {one: texts.field_error(labels[one], _CHANGED) for one in changed}


def _form_problems(refused: ApiCallRejected, fields: Sequence[FormField], texts: PageTexts) -> Problems:
    """The errors of a form by field; errors without a field are under the first."""
    labels = {field.member: texts.field_label(field.label_field_name) for field in fields}
    found: dict[str, Markup] = {}
    for reason in refused.reasons:
        name, _, rest = reason.removeprefix("body.").partition(" ")
        name = name.partition("[")[0]
        name = name if name in labels else name.partition(".")[0]
        field = name if name in labels else next(iter(labels))
        sentence = texts.field_error(labels[name], rest) if name in labels else mark_as_english(f"{reason}.")
        found[field] = found[field] + " " + sentence if field in found else sentence
    return dict(found)
