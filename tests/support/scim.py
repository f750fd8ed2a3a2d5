"""SCIM as an identity provider uses it, with one partner's key."""

import itertools
import json
from types import TracebackType
from typing import Any, Final, Self

import httpx

from tests.support.service import Service, Tenant

USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE: Final = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
BULK: Final = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"
SEARCH: Final = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
MEDIA_TYPE: Final = "application/scim+json"

_numbers = itertools.count(1)


def user(name: str | None = None, /, **given: Any) -> dict[str, Any]:
    """The body of a new user."""
    name = name or f"person{next(_numbers)}@example.org"
    return {"schemas": [USER], "userName": name, "active": True, **given}


def group(name: str | None = None, /, *members: str, **given: Any) -> dict[str, Any]:
    """The body of a new group with users by their IDs."""
    body = {"schemas": [GROUP], "displayName": name or f"Group {next(_numbers)}", **given}
    return body | ({"members": [{"value": member} for member in members]} if members else {})


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    """The body of a PATCH."""
    return {"schemas": [PATCH], "Operations": list(operations)}


def bulk(*operations: dict[str, Any], **given: Any) -> dict[str, Any]:
    """The body of a bulk request."""
    return {"schemas": [BULK], "Operations": list(operations), **given}


class ScimClient:
    """Calls below /scim/v2. Bodies are sent as application/scim+json."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    @classmethod
    def of(cls, service: Service, key: str | None, *, address: str = "127.0.0.1") -> "ScimClient":
        """In this process, with HTTP messages."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        transport = httpx.ASGITransport(service.app, client=(address, 50000))
        base = service.db.deployment.base_urls.api + "/scim/v2"
        return cls(httpx.AsyncClient(transport=transport, base_url=base, headers=headers))

    @classmethod
    async def for_partner(cls, service: Service, tenant: Tenant) -> "ScimClient":
        """With a new key of a partner."""
        return cls.of(service, await service.key(tenant.partner, "scim"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def call(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        """Send any request; bytes are sent unchanged."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        kind = {} if content is None else {"Content-Type": MEDIA_TYPE}
        return await self.http.request(
            method, path, content=content, params=query or None, headers={**kind, **(headers or {})}
        )

    async def get(self, path: str, *, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        """GET; ``filter_`` is ``filter``."""
        return await self.call("GET", path, headers=headers, **{name.rstrip("_"): one for name, one in query.items()})

    async def post(self, path: str, body: object, **options: Any) -> httpx.Response:
        """POST."""
        return await self.call("POST", path, body, **options)

    async def put(self, path: str, body: object, **options: Any) -> httpx.Response:
        """PUT."""
        return await self.call("PUT", path, body, **options)

    async def patch(self, path: str, *operations: dict[str, Any], **options: Any) -> httpx.Response:
        """PATCH with operations."""
        return await self.call("PATCH", path, patch(*operations), **options)

    async def delete(self, path: str, **options: Any) -> httpx.Response:
        """DELETE."""
        return await self.call("DELETE", path, **options)

    async def new_user(self, name: str | None = None, /, **given: Any) -> dict[str, Any]:
        """Create a user."""
        return made(await self.post("/Users", user(name, **given)))

    async def new_group(self, name: str | None = None, /, *members: str, **given: Any) -> dict[str, Any]:
        """Create a group."""
        return made(await self.post("/Groups", group(name, *members, **given)))

    async def names(self, **query: Any) -> list[str]:
        """The userNames that a search returns, in order."""
        return [one["userName"] for one in found(await self.get("/Users", **query))]


def _body(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, f"{answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == MEDIA_TYPE
    body: dict[str, Any] = answer.json()
    return body


def made(answer: httpx.Response) -> dict[str, Any]:
    """The resource of a 201 response."""
    return _body(answer, 201)


def shown(answer: httpx.Response) -> dict[str, Any]:
    """The resource or list of a 200 response."""
    return _body(answer, 200)


def found(answer: httpx.Response) -> list[dict[str, Any]]:
    """The resources of a list."""
    resources: list[dict[str, Any]] = shown(answer).get("Resources", [])
    return resources


def refused(answer: httpx.Response, status: int, scim_type: str | None = None) -> str:
    """The detail of an error (RFC 7644 3.12)."""
    body = _body(answer, status)
    assert body["schemas"] == [ERROR]
    assert body["status"] == str(status)
    assert body.get("scimType") == scim_type, body
    assert body["detail"]
    return str(body["detail"])
