"""All pages of the console. This module is imported at the first request to one of the pages."""

from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.console import (
    data_pages,
    health_pages,
    money_pages,
    partner_pages,
    people_session_pages,
    review_pages,
)
from almoner.console.context import ConsoleContext
from almoner.console.operator_start_page import OperatorStartPage, StartPageSection

TEMPLATES: Final = Path(__file__).parent / "templates"

_PARTS: Final = (review_pages, money_pages, data_pages, partner_pages, people_session_pages, health_pages)
"""The sections of the console.

Each module has ``routes(context)``, ``start_page_sections(context)`` and ``COUNTERS``.
"""


def routes(context: ConsoleContext) -> list[Route]:
    """The Starlette routes of all sections."""
    sections: list[StartPageSection] = []
    made: list[Route] = []
    for part in _PARTS:
        context.pending_item_counters_by_path.update(part.COUNTERS)
        sections += part.start_page_sections(context)
        made += part.routes(context)
    return [*OperatorStartPage(context, sections).routes(), *made]
