"""Pages that make a record, or do something to one: each says what will happen before it does."""

from collections.abc import Sequence

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, Visitor, VisitorHandler, redirect_to
from almoner.dashboard.domain import FormField, RecordAction, RecordForm, RecordList, roles_with
from almoner.dashboard.member_calls import CallRefused, MemberCalls
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import new_form_key, render_page
from almoner.dashboard.texts import PageTexts, in_english, in_english_joined, language_choices, texts_of


class FormPages:
    """The pages of the forms and actions that lists declare."""

    def __init__(self, context: PageContext, calls: MemberCalls, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes; they come before those of records, whose addresses would match them."""
        made: list[Route] = []
        for one in self._records.lists:
            if one.form is not None:
                roles = sorted(roles_with(one.form.scope) & roles_with(one.scope))
                made.append(self._context.route(f"{one.path}/new", self._creator(one, one.form), *roles))
            for action in one.actions:
                roles = sorted(roles_with(action.scope) & roles_with(one.scope))
                path = f"{one.path}/{{id}}/{action.path}"
                made.append(self._context.route(path, self._actor(one, action), *roles, fresh=action.fresh))
        return made

    def _creator(self, declared: RecordList, form: RecordForm) -> VisitorHandler:
        async def create(visitor: Visitor) -> Response:
            typed = {field.member: visitor.form_value(field.member).strip() for field in form.fields}
            problems: dict[str, Markup] = {}
            if visitor.form:
                body = {member: value for member, value in typed.items() if value}
                try:
                    made = await self._calls.post(visitor, declared.call, body, key=_form_key(visitor))
                    return redirect_to(f"{visitor.place.home}{declared.path}/{made['id']}?done=new")
                except CallRefused as refused:
                    problems = _form_problems(refused, form.fields, texts_of(self._context, visitor))
            return render_page(
                self._context,
                visitor,
                "record_new.html",
                status=422 if problems else 200,
                declared=declared,
                typed=typed,
                languages=self._language_choices(visitor),
                form_key=new_form_key(),
                problems=problems,
            )

        return create

    def _language_choices(self, visitor: Visitor) -> list[tuple[str, str]]:
        texts = texts_of(self._context, visitor)
        offered = language_choices(self._context.pages.catalogues.offered_languages, texts)
        return [("", texts.text("dashboard.choice.none")), *offered]

    def _actor(self, declared: RecordList, action: RecordAction) -> VisitorHandler:
        async def act(visitor: Visitor) -> Response:
            record = await self._records.get_record(visitor, declared)
            typed = {field.member: visitor.form_value(field.member).strip() for field in action.fields}
            problem: str | None = None
            problems: dict[str, Markup] = {}
            if visitor.form:
                path = f"{declared.call}/{record['id']}/{action.path}"
                try:
                    await self._calls.post(visitor, path, typed, key=_form_key(visitor))
                    return redirect_to(f"{visitor.place.home}{declared.path}/{record['id']}?done={action.path}")
                except CallRefused as refused:
                    if refused.status == 400 and all(one.startswith("body.") for one in refused.reasons):
                        problems = _form_problems(refused, action.fields, texts_of(self._context, visitor))
                    else:
                        problem = in_english_joined(refused.reasons)
            return render_page(
                self._context,
                visitor,
                "record_action.html",
                status=422 if problem or problems else 200,
                typed=typed,
                problems=problems,
                declared=declared,
                record=record,
                action=action,
                problem=problem,
                form_key=new_form_key(),
            )

        return act


def _form_key(visitor: Visitor) -> str | None:
    return visitor.form_value("form_key")[:100] or None


def _form_problems(refused: CallRefused, fields: Sequence[FormField], texts: PageTexts) -> dict[str, Markup]:
    """The sentences of a refused form under its fields; what is about none stands under the first."""
    labels = {field.member: texts.label(field.label) for field in fields}
    found: dict[str, Markup] = {}
    for reason in refused.reasons:
        name, _, rest = reason.removeprefix("body.").partition(" ")
        field = name if name in labels else next(iter(labels))
        sentence = texts.problem(labels[name], rest) if name in labels else in_english(f"{reason}.")
        found[field] = found[field] + " " + sentence if field in found else sentence
    return found
