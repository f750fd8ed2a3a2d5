"""Fill in the hosted application form in tests."""

from typing import Any, Final

from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.service import Service

INVITES: Final = "/v1/validation-invites"
CONFIGURATIONS: Final = "/v1/validation-submission-configurations"
PERSON: Final = {"first_name": "Amina", "last_name": "El-Sayed", "email": "amina@relief.example", "title": "Treasurer"}
QUESTIONS: Final[list[dict[str, Any]]] = [
    {
        "id": "reason",
        "type": "long_text",
        "required": True,
        "labels": {"en": "Why do you apply?", "ar": "لماذا تتقدّمون بالطلب؟"},
    },
    {"id": "staff", "type": "number", "required": False, "labels": {"en": "How many people work for you?"}},
    {
        "id": "size",
        "type": "choice",
        "required": True,
        "labels": {"en": "How large is your nonprofit?"},
        "choices": [
            {"value": "small", "labels": {"en": "Small"}},
            {"value": "large", "labels": {"en": "Large"}},
        ],
    },
    {"id": "blog", "type": "url", "required": False, "labels": {"en": "Blog"}},
]
ANSWERS: Final = {"q-reason": "We feed people.\nEvery day.", "q-staff": "12", "q-size": "small", "q-blog": ""}


async def configured(api: Client, **body: Any) -> dict[str, Any]:
    """Create a submission configuration."""
    made: dict[str, Any] = data(await api.post(CONFIGURATIONS, body))
    return made


async def invited(api: Client, **body: Any) -> dict[str, Any]:
    """Create an invite."""
    made: dict[str, Any] = data(await api.post(INVITES, body))
    return made


class Form:
    """One browser without a display, with one form. ``home``: the form's URL path."""

    def __init__(self, service: Service, invite: dict[str, Any], address: str = "198.51.100.9") -> None:
        self.service = service
        self.invite = invite
        self.browser = Browser(service.app, service.db.deployment.base_urls.pages, address)
        self.home = f"/apply/{invite['id']}"

    async def open(self) -> str:
        """Open the link; returns the first page."""
        answer = await self.browser.open(self.invite["url"])
        assert answer.status_code == 200, answer.text
        return answer.text

    async def page(self, step: str = "") -> str:
        """Open one page; redirects are followed."""
        return (await self.browser.open(f"{self.home}{step}")).text

    async def answer(self, step: str, form: dict[str, str]) -> str:
        """Submit a step that must be valid; returns where it redirects."""
        await self.browser.open(f"{self.home}{step.removesuffix('/done').removesuffix('/remove')}")
        answer = await self.browser.post(f"{self.home}{step}", form)
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    async def upload(
        self, content: bytes, media_type: str, *, source: str = "", name: str = "proof", **fields: str
    ) -> Any:
        """Upload a document; returns the response. ``source``: the query of the form's URL."""
        await self.browser.open(f"{self.home}/documents")
        sent = {"csrf": self.browser.csrf, "type": "validation_request", **fields}
        files = {"file": (name, content, media_type)}
        headers = {"Sec-Fetch-Site": "same-origin"}
        return await self.browser.request(
            "POST", f"{self.home}/documents{source}", data=sent, files=files, headers=headers
        )

    async def fill(self, organisation: str | None = None, **person: str) -> None:
        """Fill in every step of the usual configuration, up to the review page."""
        named = organisation or await factories.nonprofit(self.service, name="Hill Road Relief")
        await self.answer("/nonprofit", {"organisation": named})
        await self.answer("/person", {**PERSON, **person})
        await self.answer("/documents/done", {})

    async def send(self) -> str:
        """Submit the application; returns where it redirects."""
        return await self.answer("/review", {})
