"""The pages of the console, as the service loads them."""

from starlette.routing import Route

from almoner.platform.pages import error_pages
from almoner.platform.pages.lazy_routes import LazyRoutes
from tests.support.service import Service


def console_routes(service: Service) -> list[Route]:
    """All of them, without those for addresses that are none."""
    lazy = [one for one in service.services.pages if isinstance(one, LazyRoutes)]
    routes = [route for one in lazy for route in one.load_routes()]
    return [route for route in routes if route.endpoint.__module__ != error_pages.__name__]
