"""The hosted form as applicants will see it, shown to the partner in a frame."""

from typing import Literal

from starlette.responses import Response

from almoner.access.partners.domain import PartnerAccount
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import Language
from almoner.validation.applications.configurations.domain import Configuration
from almoner.validation.applications.form.drafts import ApplicationDraft
from almoner.validation.applications.form.form_views import FormContext, FormViews, build_question_view_models
from almoner.validation.applications.form.service import Application
from almoner.validation.applications.invites.domain import LIFETIME, Invite

_NOWHERE = "#"
"""The target of links in the preview: there is no invite."""


def render_form_preview(
    pages: PageRenderer,
    account: PartnerAccount,
    configuration: Configuration,
    language: Language,
    page: Literal["start", "questions"] = "start",
) -> Response:
    """Render a page of the form as an invite created now would show it. ``pages``: the renderer of the form."""
    now = pages.deployment.clock.now()
    invite = Invite(
        id=configuration.id,
        partner_id=account.id,
        configuration_id=configuration.id,
        redirect_url=None,
        language=language.tag,
        metadata=None,
        stored_status="open",
        created_at=now,
        expires_at=now + LIFETIME,
    )
    context = FormContext(Application(invite, account, configuration, ApplicationDraft()), _NOWHERE, "", language)
    if page == "questions":
        questions = build_question_view_models(configuration.partner_fields, language.catalogue)
        return FormViews(pages).render_page(
            context, "apply_questions.html", "questions", frame_ancestors=("'self'",), questions=questions
        )
    return FormViews(pages).render_page(
        context, "apply_start.html", "start", frame_ancestors=("'self'",), has_started=False, next=_NOWHERE
    )
