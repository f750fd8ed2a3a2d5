"""The interface's routes exist, take the keys that the table says, and answer every method as HTTP asks."""

import re

import pytest

from tests.spec.routes import NOT_BUILT_YET, ROUTES, Route, bare
from tests.support.client import Client
from tests.support.service import Service

KINDS = {"S": "secret", "P": "publishable", "-": "none", "C": "scim"}
BUILT = tuple(route for route in ROUTES if not NOT_BUILT_YET.search(route.name))
PATHS = sorted({route.path for route in BUILT})
EVERY_METHOD = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def concrete(path: str) -> str:
    """The path with ids that belong to nothing."""
    return path.replace("{id}", "unknown")


def methods_of(path: str) -> set[str]:
    """The methods that the table gives to a path, with those that follow."""
    named = {route.method for route in BUILT if route.path == path}
    return named | {"OPTIONS"} | ({"HEAD"} if "GET" in named else set())


def test_k6_the_declared_routes_are_those_of_the_interface(service: Service) -> None:
    declared = {f"{endpoint.method} {bare(endpoint.path)}": endpoint.key.value for endpoint in service.endpoints}
    assert declared == {route.name: KINDS[route.keys] for route in BUILT}


def test_every_route_of_a_later_delivery_is_in_the_table_once() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert all(re.fullmatch(r"[SPC-]", route.keys) for route in ROUTES)


def test_k6_every_route_with_a_key_names_a_scope(service: Service) -> None:
    unscoped = [
        endpoint.route for endpoint in service.endpoints if (endpoint.scope is None) != (endpoint.key.value == "none")
    ]
    assert unscoped == []


@pytest.mark.parametrize("path", PATHS)
async def test_head_options_and_allow_are_complete(path: str, api: Client) -> None:
    allowed = methods_of(path)
    answer = await api.options(concrete(path))
    assert (answer.status_code, answer.content) == (204, b"")
    assert set(answer.headers["allow"].split(", ")) == allowed
    for method in sorted({*EVERY_METHOD, "TRACE"} - allowed):
        refused = await api.request(method, concrete(path))
        assert refused.status_code == 405, method
        assert set(refused.headers["allow"].split(", ")) == allowed, method
        if method != "HEAD":
            assert refused.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("route", [route for route in BUILT if route.method == "GET"], ids=lambda route: route.path)
async def test_head_answers_as_get_without_a_body(route: Route, api: Client) -> None:
    got, head = [await api.request(method, concrete(route.path)) for method in ("GET", "HEAD")]
    assert head.status_code == got.status_code
    assert head.content == b""
    assert head.headers.get("content-length") == got.headers.get("content-length")


@pytest.mark.parametrize("route", BUILT, ids=lambda route: route.name)
async def test_cors_is_open_on_publishable_routes_only(route: Route, api: Client) -> None:
    asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": route.method}
    preflight = await api.options(concrete(route.path), headers=asked)
    listed = [name.strip() for name in preflight.headers.get("access-control-allow-methods", "").split(",")]
    open_to_pages = route.keys in "P-"
    assert (route.method in listed) is open_to_pages
    answer = await api.request(route.method, concrete(route.path), headers={"Origin": "https://shop.example"})
    assert ("access-control-allow-origin" in answer.headers) is open_to_pages
    assert "access-control-allow-credentials" not in answer.headers
