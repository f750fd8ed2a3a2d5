"""The faces of the hosted page: from what is known to the templates."""

from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from almoner.giving.donations.domain import Donation
from almoner.giving.gateway.domain import Amounts
from almoner.giving.gateway.schemas import Problems, TypedGift
from almoner.giving.gateway.service import Giving
from almoner.platform.pages import formats
from almoner.platform.pages.catalogue import Language
from almoner.platform.pages.headers import origin_of
from almoner.platform.pages.rendering import Pages

_WIDE: Final = 7
"""An amount of more characters than this needs half the width of a small window."""


class Views:
    """Renders every state. ``provider_origin``: where the form leads after the post."""

    def __init__(self, pages: Pages, provider_origin: str) -> None:
        self._pages = pages
        self._provider_origin = provider_origin

    def language(self, giving: Giving) -> Language:
        """The language of a session's pages."""
        return self._pages.language(giving.session.language)

    def gift(
        self,
        giving: Giving,
        amounts: Amounts,
        typed: TypedGift,
        *,
        action: str,
        csrf: str,
        status: int,
        problems: Problems,
        notice: str | None,
        alert: bool,
        pay_url: str | None,
    ) -> Response:
        """The form."""
        language = self.language(giving)
        shown = [formats.money(minor, amounts.currency, language.locale, short=True) for minor in amounts.suggested]
        return self._pages.page(
            "gift.html",
            language,
            status=status,
            form_targets=self._targets(giving),
            cause=_cause(giving, language),
            amounts=amounts,
            wide=max(map(len, shown)) > _WIDE,
            typed=typed,
            problems=problems,
            values=_values(amounts, language),
            notice=notice,
            notice_is_problem=alert,
            pay_url=pay_url,
            action=action,
            csrf=csrf,
            currency_name=formats.currency_name(amounts.currency, language.locale),
            symbol=formats.symbol(amounts.currency, language.locale),
            expires_at=giving.session.expires_at,
        )

    def waiting(self, giving: Giving, donation: Donation, again: str, pay_url: str | None) -> Response:
        """The provider has not confirmed the payment yet."""
        language = self.language(giving)
        return self._pages.page(
            "waiting.html", language, cause=_cause(giving, language), donation=donation, again=again, pay_url=pay_url
        )

    def thanks(self, giving: Giving, donation: Donation) -> Response:
        """The money is here."""
        language = self.language(giving)
        return self._pages.page(
            "thanks.html",
            language,
            cause=_cause(giving, language),
            donation=donation,
            reference=self._pages.deployment.ids.text("donation", donation.id),
            masked_email=masked(donation.email or ""),
        )

    def closed(self, giving: Giving) -> Response:
        """The nonprofit cannot take gifts now."""
        return self.tell(giving, "closed", 409, "info")

    def tell(self, giving: Giving, kind: str, status: int, icon: str) -> Response:
        """A page that only says something, in the session's language."""
        language = self.language(giving)
        return self._pages.message(f"give.{kind}", language, status=status, icon=icon, organisation=giving.cause.name)

    def say(self, request: Request, kind: str, status: int, icon: str) -> HTMLResponse:
        """A page that only says something, for somebody of whom no session is known."""
        return self._pages.message(f"give.{kind}", self._pages.preferred(request), status=status, icon=icon)

    def slow_down(self, request: Request, seconds: int) -> Response:
        """Too many tries from this address."""
        response = self.say(request, "slow_down", 429, "clock")
        response.headers["Retry-After"] = str(seconds)
        return response

    def broken(self, request: Request, error: Exception) -> Response:
        """Something failed that nobody expected: a page for the donor, and the error for the log."""
        return _Broken(self.say(request, "broken", 500, "info"), error)

    def _targets(self, giving: Giving) -> tuple[str, ...]:
        success = giving.session.success_url
        own = origin_of(success) if success else None
        return (self._provider_origin, own) if own else (self._provider_origin,)


class _Broken(Response):
    """Sends the page, then raises: the edge writes the log line and finds that an answer was sent."""

    def __init__(self, page: HTMLResponse, error: Exception) -> None:
        self._page = page
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._page(scope, receive, send)
        raise self._error


def masked(email: str) -> str:
    """Enough of an address for its owner: ``a•••@example.org``."""
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}•••@{domain}"


def _cause(giving: Giving, language: Language) -> dict[str, str]:
    cause = giving.cause
    return {
        "name": cause.name,
        "monogram": cause.monogram,
        "place": cause.place(language.locale),
        "register": cause.register,
        "number": cause.number,
    }


def _values(amounts: Amounts, language: Language) -> dict[str, str]:
    """What the sentences about amounts name. The example shows the language's own decimal mark."""
    locale = language.locale
    example = amounts.suggested[1] + (amounts.suggested[1] - amounts.suggested[0]) // 2
    return {
        "minimum": formats.money(amounts.least, amounts.currency, locale, short=True),
        "maximum": formats.money(amounts.most, amounts.currency, locale, short=True),
        "example": formats.plain(example, amounts.currency, locale),
    }
