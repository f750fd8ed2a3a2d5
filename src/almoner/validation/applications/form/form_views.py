"""Renders the pages of the hosted form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_args

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from almoner.nonprofits.registries.domain import Registry
from almoner.platform.pages import formats
from almoner.platform.pages.headers import origin_of_url
from almoner.platform.pages.rendering import PageRenderer, bidi_isolated
from almoner.platform.pages.translations import Language
from almoner.validation.applications.configurations.domain import MAX_ANSWER_LENGTHS, PartnerField, label_in_language
from almoner.validation.applications.documents.domain import Document
from almoner.validation.applications.form import drafts, view_models
from almoner.validation.applications.form.drafts import ApplicantDetails, FormStep, Problems, UnlistedNonprofit
from almoner.validation.applications.form.service import Application
from almoner.validation.applications.submission_documents.domain import SubmissionDocument

_OTHER: Final = "nonprofit/other"
EXTRA_PAGES: Final = ("colleague", _OTHER)
"""Pages that are not steps."""


@dataclass(frozen=True, slots=True)
class FormNotice:
    """A notice above the form, by its text key."""

    text_key: str
    is_alert: bool = False


class DocumentRow(NamedTuple):
    """A file of the documents page, with its record's ID and kind."""

    document: Document
    id_text: str
    kind: str


@dataclass(frozen=True, slots=True)
class FormContext:
    """What all pages of one form session share. ``base_path``: their base path."""

    application: Application
    base_path: str
    csrf_token: str
    language: Language

    def step_url(self, step: FormStep) -> str:
        """The address of a step."""
        return f"{self.base_path}/{step}"


class FormViews:
    """Renders every state of the form."""

    def __init__(self, pages: PageRenderer) -> None:
        self.pages = pages

    def render_page(
        self,
        form_context: FormContext,
        template: str,
        form_page_name: str,
        *,
        status: int = 200,
        problems: Mapping[str, str | Markup] | None = None,
        notice: FormNotice | None = None,
        placeholder_values: Mapping[str, object] | None = None,
        **context: Any,
    ) -> HTMLResponse:
        """Render a page. ``problems``: keys or texts; ``placeholder_values``: placeholders of the texts."""
        language, reported = form_context.language, dict(placeholder_values or {})
        shown = {
            field: problem if isinstance(problem, Markup) else language.html(problem, **reported)
            for field, problem in (problems or {}).items()
        }
        return self.pages.render_page(
            template,
            language,
            status=status,
            form=self._form(form_context, form_page_name),
            partner_links=form_context.application.account.public_links,
            problems=shown,
            notice=language.html(notice.text_key, **reported) if notice else None,
            alert=bool(notice and notice.is_alert),
            **{"page_name": form_page_name, **context},
        )

    def _form(self, context: FormContext, name: str) -> dict[str, Any]:
        application, language = context.application, context.language
        configuration = application.configuration
        steps = drafts.form_steps_of(configuration)
        open_step = drafts.first_incomplete_step(application.draft, configuration)
        shown = _step_of(name)
        return {
            **view_models.build_branding_view_model(configuration, application.account),
            "until": formats.format_timestamp(
                application.invite.expires_at, language.locale, self.pages.deployment.time_zone
            ),
            "home": context.base_path,
            "csrf": context.csrf_token,
            "languages": view_models.list_language_tags_and_names(self.pages.catalogues.offered_languages),
            "language": language.catalogue,
            "place": steps.index(shown) + 1 if shown in steps else None,
            "steps": [
                {
                    "name": step,
                    "href": context.step_url(step),
                    "done": drafts.is_step_done(step, application.draft, configuration),
                    "next": step == open_step,
                }
                for step in steps
            ],
        }

    def render_start_page(self, context: FormContext, notice: FormNotice | None = None) -> Response:
        """The page with what the form requires, or the progress so far."""
        draft, configuration = context.application.draft, context.application.configuration
        started = any(drafts.is_step_done(step, draft, configuration) for step in drafts.form_steps_of(configuration))
        following = context.step_url(drafts.first_incomplete_step(draft, configuration))
        return self.render_page(
            context, "apply_start.html", "start", notice=notice, has_started=started, next=following
        )

    def render_nonprofit_search_page(
        self,
        context: FormContext,
        chosen_card: dict[str, Any] | None,
        query: str,
        search_results: dict[str, Any],
        *,
        status: int = 200,
        problems: Problems | None = None,
    ) -> Response:
        """The search page with its results and the chosen nonprofit."""
        following = context.step_url(drafts.next_step("nonprofit", context.application.configuration))
        return self.render_page(
            context,
            "apply_nonprofit.html",
            "nonprofit",
            status=status,
            problems=problems,
            script=True,
            chosen=chosen_card,
            query=query,
            next=following,
            home=context.base_path,
            csrf=context.csrf_token,
            unlisted=drafts.accepts_unlisted_nonprofits(context.application.configuration),
            **search_results,
        )

    def render_search_results_fragment(self, context: FormContext, query: str, results: dict[str, Any]) -> Response:
        """The results alone, for the script."""
        return self.pages.render_page(
            "apply_results.html",
            context.language,
            home=context.base_path,
            csrf=context.csrf_token,
            query=query,
            **results,
        )

    def render_country_choice_page(
        self,
        context: FormContext,
        country_codes: Iterable[str],
        chosen_country_code: str,
        problems: Problems | None = None,
    ) -> Response:
        """Choose the country of an unlisted nonprofit."""
        locale = context.language.locale
        named = sorted(
            ((code, formats.country_name(code, locale)) for code in country_codes), key=lambda pair: pair[1].casefold()
        )
        return self.render_page(
            context,
            "apply_country.html",
            "nonprofit",
            page_name=_OTHER,
            status=422 if problems else 200,
            problems=problems,
            countries=named,
            country=chosen_country_code,
        )

    def render_unlisted_nonprofit_page(
        self,
        context: FormContext,
        unlisted_nonprofit: UnlistedNonprofit,
        registries: Sequence[Registry],
        problems: Problems | None = None,
    ) -> Response:
        """What an unlisted nonprofit is."""
        names = {one.code: view_models.registry_display_name(one) for one in registries}
        return self.render_page(
            context,
            "apply_other.html",
            "nonprofit",
            page_name=_OTHER,
            status=422 if problems else 200,
            problems=problems,
            placeholder_values={"register": bidi_isolated(names.get(unlisted_nonprofit.registry, ""))},
            given=unlisted_nonprofit,
            registries=list(names.items()),
            country_name=formats.country_name(unlisted_nonprofit.country, context.language.locale),
        )

    def render_applicant_page(
        self, context: FormContext, applicant: ApplicantDetails, problems: Problems | None = None
    ) -> Response:
        """Who applies."""
        named = drafts.requires_applicant_name(context.application.configuration)
        labels = "give" if named else "apply.person"
        names = [
            ("first_name", f"{labels}.first_name", applicant.first_name, "given-name"),
            ("last_name", f"{labels}.last_name", applicant.last_name, "family-name"),
        ]
        if formats.is_family_name_first(context.language.locale):
            names.reverse()
            order = ("last_name", "first_name", "email", "title")
            problems = {field: problems[field] for field in order if field in problems} if problems else problems
        return self.render_page(
            context,
            "apply_person.html",
            "person",
            status=422 if problems else 200,
            problems=problems,
            given=applicant,
            names=names,
            named=named,
        )

    def render_questions_page(
        self, context: FormContext, answers: Mapping[str, str], problems: Problems | None = None
    ) -> Response:
        """The partner's own questions."""
        fields, tag = context.application.configuration.partner_fields, context.language.catalogue
        questions = build_question_view_models(fields, tag, answers)
        labels = {one["name"]: one["label"] for one in questions}
        reported = {name: context.language.html(key, label=labels[name]) for name, key in (problems or {}).items()}
        return self.render_page(
            context,
            "apply_questions.html",
            "questions",
            status=422 if problems else 200,
            problems=reported,
            questions=questions,
        )

    def render_documents_page(
        self,
        context: FormContext,
        document_rows: Sequence[DocumentRow],
        *,
        status: int = 200,
        problems: Problems | None = None,
        notice: FormNotice | None = None,
        chosen_kind: str | None = None,
    ) -> Response:
        """The page with all files and their states, and an upload form."""
        kinds = view_models.accepted_document_kinds(context.application.configuration)
        locale = context.language.locale
        return self.render_page(
            context,
            "apply_documents.html",
            "documents",
            status=status,
            problems=problems,
            notice=notice,
            kinds=kinds,
            chosen_kind=chosen_kind if chosen_kind in kinds else kinds[0],
            documents=[
                {
                    "id": row.id_text,
                    "name": row.document.file_name,
                    "state": row.document.scan_status,
                    "type": row.kind,
                    "format": view_models.FORMATS[row.document.media_type],
                    "size": view_models.format_file_size(row.document.size, locale),
                }
                for row in document_rows
            ],
        )

    def render_review_page(
        self,
        context: FormContext,
        organisation_card: dict[str, Any] | None,
        documents: Sequence[SubmissionDocument],
        problems: Problems | None = None,
        notice: FormNotice | None = None,
    ) -> Response:
        """The page with all answers before sending. ``problems``: by ``part-`` and step."""
        redirect = context.application.invite.redirect_url
        own = origin_of_url(redirect) if redirect else None
        parts = [
            {"name": step, "href": context.step_url(step), **self._part(context, step, organisation_card, documents)}
            for step in drafts.form_steps_of(context.application.configuration)[:-1]
        ]
        return self.render_page(
            context,
            "apply_review.html",
            "review",
            status=422 if notice or problems else 200,
            problems=problems,
            notice=notice,
            form_targets=(own,) if own else (),
            parts=parts,
        )

    def _part(
        self,
        context: FormContext,
        step: FormStep,
        body: dict[str, Any] | None,
        documents: Sequence[SubmissionDocument],
    ) -> dict[str, Any]:
        draft, language = context.application.draft, context.language
        match step:
            case "nonprofit" if draft.unlisted is not None:
                given = draft.unlisted
                rows = [
                    (language.text("apply.other.name"), given.name),
                    (language.text("apply.other.country"), formats.country_name(given.country, language.locale)),
                    (language.text("apply.other.register"), given.registry),
                    (language.text("apply.other.number"), given.number),
                    (language.text("apply.other.website"), given.website),
                ]
                return {"body": None, "rows": rows}
            case "nonprofit":
                return {"body": body, "rows": []}
            case "person":
                person = draft.person or ApplicantDetails()
                name = formats.full_name(person.first_name, person.last_name, language.locale)
                rows = [
                    (language.text("apply.person.name"), name),
                    (language.text("give.email"), person.email),
                    (language.text("apply.person.role"), person.title),
                ]
                return {"body": None, "rows": rows}
            case "questions":
                answers = draft.answers or {}
                rows = [
                    (
                        label_in_language(field.labels, language.catalogue),
                        _answer_text(field, answers.get(field.id, ""), language),
                    )
                    for field in context.application.configuration.partner_fields
                ]
                return {"body": None, "rows": rows}
            case _:
                listed = [
                    (
                        language.text(f"apply.documents.type.{one.type}"),
                        one.document.file_name or language.text("apply.documents.number", number=number),
                    )
                    for number, one in enumerate(documents, 1)
                ]
                return {"body": None, "rows": listed or [(language.text("apply.documents.list"), "")]}

    def render_share_form_page(
        self,
        context: FormContext,
        email: str = "",
        *,
        status: int = 200,
        problems: Problems | None = None,
        notice: FormNotice | None = None,
    ) -> Response:
        """The page to email the form to a colleague."""
        return self.render_page(
            context,
            "apply_colleague.html",
            "colleague",
            status=status,
            problems=problems,
            notice=notice,
            placeholder_values={"email": bidi_isolated(email)},
            email="" if notice and not notice.is_alert else email,
        )


def _step_of(name: str) -> FormStep | None:
    return next((step for step in get_args(FormStep) if step == name), None)


def build_question_view_models(
    fields: Iterable[PartnerField], language_tag: str, answers: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Questions as their page shows them in a language."""
    return [
        {
            "name": f"q-{field.id}",
            "kind": field.kind,
            "required": field.required,
            "label": label_in_language(field.labels, language_tag),
            "value": (answers or {}).get(field.id, ""),
            "longest": MAX_ANSWER_LENGTHS.get(field.kind),
            "choices": [(choice.value, label_in_language(choice.labels, language_tag)) for choice in field.choices],
        }
        for field in fields
    ]


def _answer_text(field: PartnerField, answer: str, language: Language) -> str:
    """An answer as people read it."""
    chosen = next((choice for choice in field.choices if choice.value == answer), None)
    return label_in_language(chosen.labels, language.catalogue) if chosen else answer
