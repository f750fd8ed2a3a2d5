"""The questions of an application form: list, add, edit, move and remove them, with a preview of the hosted form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from babel import UnknownLocaleError
from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import LONG_FORM_LIMITS
from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import (
    PageTexts,
    build_page_texts,
    join_reasons_as_english,
    language_choices,
    mark_as_english,
)
from almoner.access.partners import service as partners
from almoner.dashboard.configuration_pages import FormPreviewRenderer
from almoner.dashboard.domain import roles_with_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record
from almoner.dashboard.question_forms import (
    KINDS,
    QuestionForm,
    QuestionProblem,
    QuestionTranslation,
    add_language,
    build_questions_request_body,
    find_question_problems,
    hash_questions,
    move_question,
    parse_question_form,
    parse_questions,
    problems_from_api_reasons,
    question_form_from_field,
    replace_question,
)
from almoner.dashboard.record_lists import CONFIGURATIONS
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound, PreconditionFailed
from almoner.kit.language import is_language_tag
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import formats
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.domain import MAX_FIELDS, PartnerField, label_in_language

_DONE: Final = ("added", "saved", "moved", "removed")
_ADD_LANGUAGE: Final = "language"
"""The name of the button that adds a language's texts instead of saving."""
Problems = dict[str, Markup]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why questions were not stored.

    ``record``: the current configuration. ``stale``: its questions have changed since the member loaded them.
    """

    record: Record
    stale: bool = False
    reasons: Sequence[str] = ()


class QuestionPages:
    """The pages about the questions of one configuration."""

    def __init__(
        self, context: PageContext, calls: MemberApiClient, records: RecordPages, render: FormPreviewRenderer
    ) -> None:
        self._context = context
        self._calls = calls
        self._records = records
        self._render = render

    def routes(self) -> list[Route]:
        """Starlette routes."""
        assert CONFIGURATIONS.form is not None
        roles, path = sorted(roles_with_scope(CONFIGURATIONS.form.scope)), f"{CONFIGURATIONS.path}/{{id}}/questions"
        route = partial(self._context.route, limits=LONG_FORM_LIMITS)
        return [
            route(path, self.list_questions, *roles),
            route(f"{path}/new", self.add, *roles),
            route(f"{path}/edit", self.edit, *roles),
            route(f"{path}/remove", self.remove, *roles),
            route(f"{path}/preview", self.preview_questions, *roles),
        ]

    async def list_questions(self, visitor: SignedInRequest) -> Response:
        """List all questions with buttons that move them.

        Each names the new position, so that repeating it changes nothing.
        """
        record = await self._records.get_record(visitor, CONFIGURATIONS)
        fields, refusal = parse_questions(record), None
        if visitor.form:
            question_id, _, place = visitor.form_value("move").partition(".")
            moved = move_question(fields, question_id, int(place)) if place in map(str, range(len(fields))) else fields
            refusal = await self._store(visitor, record, moved)
            if refusal is None:
                return self._stored(visitor, record, "moved")
            record, fields = refusal.record, parse_questions(refusal.record)
        done = visitor.query.get("done")
        language = build_page_texts(self._context, visitor).language.catalogue
        return self._page(
            visitor,
            "questions.html",
            record,
            refusal=refusal,
            version=hash_questions(fields),
            questions=[(field, label_in_language(field.labels, language)) for field in fields],
            most=MAX_FIELDS,
            message=f"dashboard.questions.{done}" if done in _DONE else "",
        )

    async def add(self, visitor: SignedInRequest) -> Response:
        """Add a question at the end."""
        record = await self._records.get_record(visitor, CONFIGURATIONS)
        blank = QuestionForm(
            languages=(QuestionTranslation(build_page_texts(self._context, visitor).language.catalogue),)
        )
        form, fields = _submitted_form(visitor) if visitor.form else blank, parse_questions(record)
        question = parse_question_form(form)
        if question in fields and _is_sent(visitor):  # the form was submitted twice
            return self._stored(visitor, record, "added")
        return await self._change(visitor, record, form, (*fields, question), "added")

    async def edit(self, visitor: SignedInRequest) -> Response:
        """Edit a question; its ID stays, since answers are stored by it."""
        record = await self._records.get_record(visitor, CONFIGURATIONS)
        fields = parse_questions(record)
        if not visitor.form:
            return await self._change(
                visitor, record, question_form_from_field(_requested_question(visitor, fields)), fields, "saved"
            )
        form = replace(_submitted_form(visitor), id=visitor.query.get("question", ""))
        entered, known = parse_question_form(form), any(field.id == form.id for field in fields)
        # The question was removed meanwhile: show what was entered, so that it can be added again.
        changed = replace_question(fields, entered) if known else (*fields, entered)
        return await self._change(visitor, record, form, changed, "saved")

    async def _change(
        self, visitor: SignedInRequest, record: Record, form: QuestionForm, fields: Sequence[PartnerField], done: str
    ) -> Response:
        """Show the form of one question, or store it. ``fields``: the configuration's questions, with this one."""
        texts, problems = build_page_texts(self._context, visitor), dict[str, Markup]()
        refusal: _Refusal | None = None
        version = visitor.form_value("version") if visitor.form else hash_questions(parse_questions(record))
        place = next(place for place in reversed(range(len(fields))) if fields[place].id == form.id)
        tag = visitor.form_value("language").strip()
        if visitor.form and tag:
            languages = add_language(form.languages, tag)
            if languages is None:
                problems["language"] = texts.language.html(
                    "dashboard.question.no_language", typed=Markup("<bdi>{}</bdi>").format(tag)
                )
            else:
                form, tag = replace(form, languages=languages), ""
        elif _is_sent(visitor):
            found = find_question_problems(form, fields, place)
            refusal = None if found else await self._store(visitor, record, fields)
            if refusal is None and not found:
                return self._stored(visitor, record, done)
            if refusal is not None and refusal.stale:
                record, version = refusal.record, hash_questions(parse_questions(refusal.record))
            elif refusal is not None:
                found = problems_from_api_reasons(refusal.reasons, place)
            problems = _problems_by_field(found, form, texts)
        return self._page(
            visitor,
            "question.html",
            record,
            refusal=refusal,
            stored=_shown_questions(parse_questions(record), form.id, texts) if refusal and refusal.stale else [],
            version=version,
            form=form,
            texts=[(one, _language_name(one.tag, texts)) for one in form.languages],
            kinds=[(kind, texts.value_label(kind)) for kind in KINDS],
            adding=done == "added",
            another=tag,
            languages=language_choices(self._context.page_renderer.catalogues.offered_languages, texts),
            shown_in=texts.language.catalogue,
            problems=problems,
        )

    async def remove(self, visitor: SignedInRequest) -> Response:
        """Ask for confirmation, then remove a question."""
        record = await self._records.get_record(visitor, CONFIGURATIONS)
        fields, refusal = parse_questions(record), None
        if visitor.form and all(field.id != visitor.query.get("question") for field in fields):
            return self._stored(visitor, record, "removed")  # the form was submitted twice
        question = _requested_question(visitor, fields)
        if visitor.form:
            refusal = await self._store(visitor, record, [one for one in fields if one != question])
            if refusal is None:
                return self._stored(visitor, record, "removed")
            record, fields = refusal.record, parse_questions(refusal.record)
            question = _requested_question(visitor, fields)
        label = label_in_language(question.labels, build_page_texts(self._context, visitor).language.catalogue)
        return self._page(
            visitor,
            "question_remove.html",
            record,
            refusal=refusal,
            version=hash_questions(fields),
            question=question,
            label_text=label,
        )

    async def preview_questions(self, visitor: SignedInRequest) -> Response:
        """Preview the questions, as stored or with the entered one. Nothing is saved."""
        partner = partner_from_request(visitor)
        name = visitor.path.removeprefix(f"{visitor.portal.home}{CONFIGURATIONS.path}/").split("/")[0]
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner)
            shown = await configurations.find(tx, partner, self._context.parse_id(CONFIGURATIONS.id_type, name))
        if shown is None:
            raise NotFound
        language = visitor.language
        if visitor.form:
            form = _submitted_form(visitor)
            form, fields = replace(form, id=visitor.query.get("question") or form.id), shown.partner_fields
            entered, known = parse_question_form(form), {field.id for field in fields}
            fields = replace_question(fields, entered) if entered.id in known else (*fields, entered)
            shown, language = replace(shown, partner_fields=fields), visitor.form_value("shown_in")
        return self._render(account, shown, self._context.page_renderer.language_for_tag(language), "questions")

    async def _store(self, visitor: SignedInRequest, record: Record, fields: Sequence[PartnerField]) -> _Refusal | None:
        """Store the questions if they changed; None unless they were refused."""
        before = parse_questions(record)
        if tuple(fields) == before:
            return None
        version, partner = hash_questions(before), partner_from_request(visitor)
        configuration_id = self._context.parse_id(CONFIGURATIONS.id_type, record["id"])

        async def ensure_unchanged(tx: Tx) -> None:
            locked = await configurations.get_for_update(tx, partner, configuration_id)
            if hash_questions(locked.partner_fields) != version:
                raise PreconditionFailed

        stale = visitor.form_value("version") != version
        if not stale:
            path, body = f"{CONFIGURATIONS.api_path}/{record['id']}", build_questions_request_body(fields)
            try:
                await self._calls.patch(visitor, path, body, precondition=ensure_unchanged)
            except ApiCallRejected as refused:
                if refused.code != PreconditionFailed.code:
                    return _Refusal(record, reasons=refused.reasons)
                stale = True
        return _Refusal(await self._records.get_record(visitor, CONFIGURATIONS), stale=True) if stale else None

    def _stored(self, visitor: SignedInRequest, record: Record, done: str) -> Response:
        return redirect_to(f"{visitor.portal.home}{CONFIGURATIONS.path}/{record['id']}/questions?done={done}")

    def _page(
        self, visitor: SignedInRequest, template: str, record: Record, *, refusal: _Refusal | None = None, **facts: Any
    ) -> Response:
        """Render a page. ``refusal``: why the submitted questions were not stored."""
        return render_page(
            self._context,
            visitor,
            template,
            status=422 if refusal or facts.get("problems") else 200,
            record=record,
            stale=refusal is not None and refusal.stale,
            problem=join_reasons_as_english(refusal.reasons) if refusal and refusal.reasons else None,
            own=f"{visitor.portal.home}{CONFIGURATIONS.path}/{record['id']}",
            declared=CONFIGURATIONS,
            shows_frames=True,
            **{"problems": {}, **facts},
        )


def _shown_questions(
    stored: Sequence[PartnerField], question_id: str, texts: PageTexts
) -> list[tuple[PartnerField, str, QuestionForm | None, list[tuple[QuestionTranslation, str]]]]:
    """The stored question with its texts in all languages, or the labels of all if it is not stored."""
    language = texts.language.catalogue
    found = []
    for field in [one for one in stored if one.id == question_id] or stored:
        form = question_form_from_field(field) if field.id == question_id else None
        named = [(one, _language_name(one.tag, texts)) for one in form.languages] if form else []
        found.append((field, label_in_language(field.labels, language), form, named))
    return found


def _is_sent(visitor: SignedInRequest) -> bool:
    """Whether the question is to be saved, not just shown with one more language."""
    return bool(visitor.form) and visitor.form_value("do") != _ADD_LANGUAGE


def _requested_question(visitor: SignedInRequest, fields: Sequence[PartnerField]) -> PartnerField:
    """The question named in the URL. Raises NotFound."""
    for field in fields:
        if field.id == visitor.query.get("question"):
            return field
    raise NotFound


def _submitted_form(visitor: SignedInRequest) -> QuestionForm:
    """The submitted form."""

    def entered(name: str) -> str:
        return visitor.form_value(name).replace("\r\n", "\n")

    tags = dict.fromkeys(tag for one in visitor.form.getlist("tag") if is_language_tag(tag := str(one)))
    return QuestionForm(
        entered("id").strip(),
        next((kind for kind in KINDS if kind == entered("type")), KINDS[0]),
        entered("required") == "yes",
        entered("values"),
        tuple(QuestionTranslation(tag, entered(f"label-{tag}"), entered(f"answers-{tag}")) for tag in tags),
    )


def _problems_by_field(found: Sequence[QuestionProblem], form: QuestionForm, texts: PageTexts) -> Problems:
    """The error sentences by form field."""
    problems: Problems = {}
    first = next((one.tag for one in form.languages), "")
    for one in found:
        tag = one.language_tag or first
        name = _language_name(tag, texts)
        field, label = {
            "label": (f"label-{tag}", texts.text("dashboard.question.label", language=name)),
            "answers": (f"answers-{tag}", texts.text("dashboard.question.answers", language=name)),
            "values": ("values", texts.field_label("answerValues")),
            "type": ("type", texts.field_label("type")),
            "id": ("id", texts.field_label("questionId")),
        }[one.field_name]
        if not one.reason:
            sentence = texts.language.html("dashboard.question.unmatched", label=label)
        elif one.reason.startswith("body."):
            sentence = mark_as_english(f"{one.reason}.")
        else:
            reason = one.reason if one.line is None else f"in line {one.line} {one.reason}"
            sentence = texts.field_error(label, reason)
        problems[field] = problems[field] + " " + sentence if field in problems else sentence
    return problems


def _language_name(tag: str, texts: PageTexts) -> str:
    """The name of any language; its tag if there is none."""
    try:
        return formats.language_name(tag, texts.language.locale)
    except (UnknownLocaleError, ValueError):
        return tag
