"""A browser without a display: it keeps cookies, follows redirects, and submits the forms it has loaded."""

import html
import re
from collections.abc import Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy
from http.cookies import SimpleCookie
from typing import Any

import httpx
from starlette.types import ASGIApp

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_VERSION = re.compile(r'name="version" value="([^"]+)"')


class Browser:
    """``cookies``: all of them, even Secure ones. ``page``: the last response."""

    def __init__(self, app: ASGIApp, base_url: str, address: str = "127.0.0.1", agent: str = "Firefox") -> None:
        transport = httpx.ASGITransport(app, client=(address, 50000))
        self._http = httpx.AsyncClient(transport=transport, base_url=base_url, headers={"User-Agent": agent})
        self.cookies: dict[str, str] = {}
        self.page: httpx.Response | None = None

    @property
    def csrf(self) -> str:
        """The CSRF token of the last page's forms."""
        assert self.page is not None, "nothing was opened yet"
        found = _CSRF.search(self.page.text)
        assert found, self.page.text
        return html.unescape(found[1])

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Get a URL; redirects are returned, not followed."""
        return await self._ask("GET", path, headers)

    async def open(self, path: str) -> httpx.Response:
        """Get a URL and follow redirects."""
        answer = await self.get(path)
        for _ in range(8):
            if answer.status_code != 303:
                return answer
            answer = await self.get(answer.headers["location"])
        raise AssertionError(f"{path} leads in circles")

    async def post(
        self,
        path: str,
        form: Mapping[str, str | Sequence[str]] | None = None,
        *,
        site: str = "same-origin",
        **fields: str,
    ) -> httpx.Response:
        """Post the last page's form, or another with its token and version; redirects are returned, not followed."""
        sent = {**(form or {}), **fields}
        if "csrf" not in sent:
            sent["csrf"] = self.csrf
            if "version" not in sent and self.page and (version := _VERSION.search(self.page.text)):
                sent["version"] = version[1]
        return await self._ask("POST", path, {"Sec-Fetch-Site": site}, data=sent)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send any other request."""
        return await self._ask(method, path, options.pop("headers", {}), **options)

    async def _ask(self, method: str, path: str, headers: dict[str, str], **options: Any) -> httpx.Response:
        cookies = (
            {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        )
        answer = await self._http.request(method, path, headers={**cookies, **headers}, **options)
        for line in answer.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(line).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
        if answer.text:
            self.page = answer
        return answer

    async def close(self) -> None:
        """Close the client."""
        await self._http.aclose()


def localhost_cookies() -> CookieJar:
    """Send Secure cookies to localhost, as browsers do."""
    return CookieJar(DefaultCookiePolicy(secure_protocols=("http", "https")))
