"""The links in the console's navigation.

They are in a separate module because the module of a page is imported only when the page is first requested.
"""

from collections.abc import Mapping
from typing import Final

from almoner.access.accounts.domain import OPERATOR_START_PAGE, NavigationLink
from almoner.access.people.domain import OPERATOR_ROLES, Role

EVERYBODY: Final[frozenset[Role]] = frozenset(OPERATOR_ROLES)
REVIEWERS: Final[frozenset[Role]] = frozenset({"reviewer"})
FINANCE: Final[frozenset[Role]] = frozenset({"finance"})
ADMINISTRATORS: Final[frozenset[Role]] = frozenset({"administrator"})
DATA_READERS: Final[frozenset[Role]] = ADMINISTRATORS | REVIEWERS
WATCHLIST_SEARCH: Final = "/watch-lists/search"
"""The path of the page that looks up a name in the watchlists."""


def _link(words: str, path: str, roles: frozenset[Role], group: str) -> NavigationLink:
    return NavigationLink(words, path, roles, for_operators=True, group=group)


_DESK: Final = (_link("Home", OPERATOR_START_PAGE, EVERYBODY, "Home"),)
_REVIEWS: Final = (
    _link("Open reviews", "/reviews", REVIEWERS, "Reviews"),
    _link("Second looks", "/reviews/second-looks", REVIEWERS, "Reviews"),
    _link("Review figures", "/reviews/figures", ADMINISTRATORS, "Reviews"),
)
_MONEY: Final = tuple(
    _link(words, path, FINANCE, "Money")
    for words, path in (
        ("Money inbox", "/money"),
        ("Bank statements", "/bank-statements"),
        ("Lines to match", "/bank-statement-lines"),
        ("Settlements", "/settlements"),
        ("Donation requests", "/donation-requests"),
        ("Unallocated payments", "/unallocated-payments"),
        ("Refunds", "/refunds"),
        ("Disputes", "/disputes"),
        ("Disbursements", "/disbursements"),
        ("Payment files", "/payment-files"),
        ("Payee accounts", "/payee-accounts"),
        ("Receipt donees", "/receipt-donees"),
        ("Gift Aid claims", "/gift-aid-claims"),
        ("Ledger", "/ledger"),
        ("Month end", "/month-end"),
    )
)
_DATA: Final = (
    _link("Registers", "/registers", ADMINISTRATORS, "Data"),
    _link("Register imports", "/register-imports", ADMINISTRATORS, "Data"),
    _link("Watchlists", "/watch-lists", ADMINISTRATORS, "Data"),
    _link("Search watchlists", WATCHLIST_SEARCH, DATA_READERS, "Data"),
    _link("Organisations", "/organisations", DATA_READERS, "Data"),
    _link("Activities", "/activities", DATA_READERS, "Data"),
)
_PARTNERS: Final = (_link("Partners", "/partners", ADMINISTRATORS, "Partners"),)
_HEALTH: Final = (
    _link("Overview", "/health", EVERYBODY, "Health"),
    _link("Incidents", "/health/incidents", EVERYBODY, "Health"),
    _link("Queues", "/health/queues", EVERYBODY, "Health"),
    _link("Failed jobs", "/health/jobs", EVERYBODY, "Health"),
    _link("Periodic jobs", "/health/periodic", EVERYBODY, "Health"),
    _link("Webhook receivers", "/health/receivers", EVERYBODY, "Health"),
    _link("Emails not delivered", "/health/emails", ADMINISTRATORS, "Health"),
    _link("Self-check", "/health/findings", EVERYBODY, "Health"),
    _link("Processes and backups", "/health/processes", EVERYBODY, "Health"),
    _link("Audit log", "/audit-log", ADMINISTRATORS, "Health"),
    _link("Audit chain", "/audit-chains", ADMINISTRATORS, "Health"),
)

LINKS: Final = (*_DESK, *_REVIEWS, *_MONEY, *_DATA, *_PARTNERS)
"""The first navigation links, in display order.

The links of the section People follow, from ``access.operators.pages.LINKS``.
"""
LAST_LINKS: Final = (_link("Sessions", "/sessions", ADMINISTRATORS, "People"), *_HEALTH)
"""The last navigation links. They follow the links of the section People."""

RECORD_PAGES: Final[Mapping[str, str]] = {
    "operator": "/operators",
    "organisation": "/organisations",
    "partner": "/partners",
    "bankline": "/bank-statement-lines",
    "donationrequest": "/donation-requests",
    "heldpayment": "/unallocated-payments",
    "refund": "/refunds",
    "dispute": "/disputes",
    "disbursement": "/disbursements",
    "bankfile": "/payment-files",
    "payeeaccount": "/payee-accounts",
    "receiptdonee": "/receipt-donees",
    "giftaidclaim": "/gift-aid-claims",
    "validationrequest": "/reviews",
    "agentverification": "/reviews",
    "screeningmatch": "/reviews",
    "screeningsubject": "/reviews",
    "appeal": "/reviews",
    "incident": "/health/incidents",
}
"""The path of the pages of a record, by the type of the record's ID."""
