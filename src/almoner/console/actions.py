"""Console actions. A page explains what an action does and asks for confirmation before the action is performed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NamedTuple

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import FORM_LIMITS, FormLimits, problems_by_field
from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler, redirect_to
from almoner.access.operators.domain import OperatorActionDenied
from almoner.access.people.domain import Role
from almoner.access.security_emails.domain import Kind, build_security_email
from almoner.console.context import ConsoleContext
from almoner.kit.errors import IncorrectParams, NotFound, Problem
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import LabelledValue

_REFUSED: Final = 409
STORED: Final = "stored."
"""The prefix of hidden fields with the values that were stored when the page was shown."""
_AGAIN: Final = "Check the current values, then submit the form again"


@dataclass(frozen=True, slots=True)
class ActionField:
    """A field of an action's form.

    ``choices``: the values and labels of a ``choice`` field. ``value``: the initial value. ``takes_value_from_query``:
    the query string of the page can set the initial value. A ``hidden`` field contains the version of the data that the
    page shows, so that the action can fail if the data has changed since.
    """

    name: str
    label: str
    kind: Literal["text", "area", "choice", "check", "hidden"] = "text"
    hint: str = ""
    required: bool = True
    choices: Sequence[tuple[str, str]] = ()
    value: str = ""
    maxlength: int = 2000
    takes_value_from_query: bool = False


class ActionLink(NamedTuple):
    """A link to an action. ``path``: below ``/operator``. ``shortcut_key``: a keyboard shortcut, or empty."""

    path: str
    label: str
    shortcut_key: str


@dataclass(frozen=True, slots=True)
class ActionPage:
    """The confirmation page of an action.

    ``back``: the path below ``/operator`` to return to. ``sentences``: explain what will happen, and who is affected.
    ``mails``: the heading and content of each email that will be sent. ``preview``: the label of a button that shows a
    preview and changes nothing. ``closed``: the reason why the action is not available, or None. If set, the page has
    no form, and a form that was opened before is refused.
    ``remedy``: a button that makes the action available, as its label and the value that it posts to ``back``.
    """

    title: str
    button: str
    back: str
    back_label: str
    sentences: Sequence[str]
    fields: Sequence[ActionField] = ()
    facts: Sequence[LabelledValue] = ()
    mails: Sequence[tuple[str, Markup]] = ()
    preview: str = ""
    closed: str | None = None
    remedy: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ConsoleAction:
    """One action of the console.

    ``path``: contains ``{id}`` if the action is for a record. ``describe`` returns the confirmation page, or raises
    NotFound. ``perform`` returns the path below ``/operator`` to redirect to. It raises IncorrectParams for invalid
    input, and one of ``refusal_errors`` if a rule forbids the action. ``requires_reauthentication``: requires a recent
    reauthentication, for money, secrets and decisions. ``limits``: the size limits of the form.
    """

    path: str
    roles: frozenset[Role]
    describe: Callable[[Tx, SignedInRequest], Awaitable[ActionPage]]
    perform: Callable[[Tx, SignedInRequest, Mapping[str, str]], Awaitable[str]]
    refusal_errors: tuple[type[Exception], ...] = field(default=())
    requires_reauthentication: bool = False
    limits: FormLimits = FORM_LIMITS


class ActionPages:
    """Builds the routes of console actions."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, *actions: ConsoleAction) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(
                one.path,
                self._answer(one),
                *sorted(one.roles),
                requires_reauthentication=one.requires_reauthentication,
                limits=one.limits,
            )
            for one in actions
        ]

    def _answer(self, action: ConsoleAction) -> VisitorHandler:
        async def answer(visitor: SignedInRequest) -> Response:
            problems: dict[str, str] = {}
            refused = ""
            sent = bool(visitor.form) and not is_preview_request(visitor)
            if sent:
                try:
                    if done := await self._perform(action, visitor):
                        return redirect_to(visitor.portal.home + done)
                except IncorrectParams as error:
                    problems = problems_by_field(error, "what")
                except NotFound:
                    raise
                except Exception as error:
                    if not isinstance(error, (OperatorActionDenied, Problem, *action.refusal_errors)):
                        raise
                    refused = (" ".join(error.reasons) or error.message) if isinstance(error, Problem) else str(error)
            async with self._context.db.write() as tx:
                page = await action.describe(tx, visitor)
            status = 422 if problems else _REFUSED if refused or (sent and page.closed) else 200
            typed = {one.name: _shown(visitor, one) for one in page.fields}
            return await self._context.render_console_page(
                visitor, "action.html", status=status, page=page, typed=typed, problems=problems, refused=refused
            )

        return answer

    async def _perform(self, action: ConsoleAction, visitor: SignedInRequest) -> str:
        """Perform the action once for each form; the path to redirect to, empty if the page is closed."""
        async with self._context.db.write() as tx:
            return await visitor.apply_form_once(tx, partial(self._apply, tx, action, visitor), str)

    async def _apply(self, tx: Tx, action: ConsoleAction, visitor: SignedInRequest) -> str:
        page = await action.describe(tx, visitor)
        return "" if page.closed else await action.perform(tx, visitor, parse_form_values(visitor, page.fields))


def build_security_email_preview(kind: Kind, partner_name: str) -> tuple[str, Markup]:
    """A preview of the email to the owners of a partner, as an item of ``ActionPage.mails``."""
    mail = build_security_email(kind, {"place": partner_name}, {})
    return "The email", Markup("<p><strong>{}</strong></p><p>{}</p><p>{}</p>").format(
        mail.subject, mail.text, mail.after
    )


def is_preview_request(visitor: SignedInRequest) -> bool:
    """Whether the visitor asked for a preview instead of performing the action."""
    return bool(visitor.form_value("preview"))


def _initial(visitor: SignedInRequest, one: ActionField) -> str:
    """The initial value of a form field."""
    return visitor.query.get(one.name, one.value)[: one.maxlength] if one.takes_value_from_query else one.value


def _shown(visitor: SignedInRequest, one: ActionField) -> str:
    """What a field shows: what was typed, or the current value if nobody touched it."""
    if not visitor.form or one.kind == "hidden":
        return _initial(visitor, one)
    typed = visitor.form_value(one.name)
    return one.value if _has_changed(visitor, one) and _lines(typed) == _lines(_value_before(visitor, one)) else typed


def _value_before(visitor: SignedInRequest, one: ActionField) -> str:
    """The value that was stored when the page was shown; the current one if the form does not say."""
    return visitor.form_value(name) if (name := f"{STORED}{one.name}") in visitor.form else one.value


def _has_changed(visitor: SignedInRequest, one: ActionField) -> bool:
    """Whether the stored value has changed since the page was shown, so that saving would undo another change."""
    return _lines(_value_before(visitor, one)) != _lines(one.value)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def parse_form_values(visitor: SignedInRequest, fields: Sequence[ActionField]) -> dict[str, str]:
    """Read the values of the form. Raises IncorrectParams, which lists all missing, too long or invalid fields."""
    found, reasons = {}, []
    for one in fields:
        value = visitor.form_value(one.name).strip()
        if one.required and not value:
            verb = "choose one" if one.kind == "choice" else "tick this box" if one.kind == "check" else "enter a value"
            reasons.append(f"{one.name}: {one.label}: {verb}")
        elif len(value) > one.maxlength:
            reasons.append(f"{one.name}: {one.label}: at most {one.maxlength} characters")
        elif value and one.kind == "choice" and value not in [choice for choice, _ in one.choices]:
            reasons.append(f"{one.name}: {one.label}: choose an option from the list")
        elif _has_changed(visitor, one) and _lines(value) != _lines(one.value):
            reasons.append(f"{one.name}: {one.label}: changed since you opened this page. {_AGAIN}")
        found[one.name] = value
    if reasons:
        raise IncorrectParams(*reasons)
    return found
