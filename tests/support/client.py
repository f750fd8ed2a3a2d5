"""Call the service as a partner does, in this process, with HTTP messages."""

import json
from typing import Any

import httpx
from starlette.types import ASGIApp


class Client:
    """Calls with one key. Every method returns an ``httpx.Response``; redirects are not followed."""

    def __init__(self, app: ASGIApp, base_url: str, key: str | None, address: str = "127.0.0.1") -> None:
        self.key = key or ""
        transport = httpx.ASGITransport(app, client=(address, 50000))
        headers = {"Authorization": key} if key else {}
        self._http = httpx.AsyncClient(transport=transport, base_url=base_url, headers=headers)

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send any request; ``options`` are those of httpx."""
        return await self._http.request(method, path, **options)

    async def get(self, path: str, *, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        """GET; ``query`` values may be lists."""
        return await self._http.get(path, params=query or None, headers=headers)

    async def post(
        self,
        path: str,
        body: object = None,
        *,
        idempotency_key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """POST with a JSON body, or without one."""
        keyed = {"Idempotency-Key": idempotency_key} if idempotency_key is not None else {}
        return await self._send("POST", path, body, {**keyed, **(headers or {})})

    async def patch(self, path: str, body: object) -> httpx.Response:
        """PATCH with a JSON body."""
        return await self._send("PATCH", path, body, {})

    async def put(self, path: str, body: object = None) -> httpx.Response:
        """PUT with a JSON body, or without one."""
        return await self._send("PUT", path, body, {})

    async def delete(self, path: str) -> httpx.Response:
        """DELETE."""
        return await self._http.delete(path)

    async def options(self, path: str, *, headers: dict[str, str] | None = None) -> httpx.Response:
        """OPTIONS."""
        return await self._http.options(path, headers=headers)

    async def upload(self, path: str, field: str, name: str, content: bytes, media_type: str) -> httpx.Response:
        """POST one file as multipart/form-data."""
        return await self._http.post(path, files={field: (name, content, media_type)})

    async def close(self) -> None:
        """Discard cookies and connections."""
        await self._http.aclose()

    async def _send(self, method: str, path: str, body: object, headers: dict[str, str]) -> httpx.Response:
        if body is None:
            return await self._http.request(method, path, headers=headers)
        raw = json.dumps(body).encode()
        return await self._http.request(
            method, path, content=raw, headers={"Content-Type": "application/json", **headers}
        )


def data(answer: httpx.Response) -> Any:
    """The record or records of a successful response; fails with the whole response otherwise."""
    assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
    return answer.json()["data"]
