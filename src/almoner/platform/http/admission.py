"""Which requests are let in: so many at once, of one client and in all, whatever proxy stands before it.

What moves money is turned away last, health checks never. Whoever is let in waits for its share of the database
(``platform.database.places``).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from starlette.types import Scope

from almoner.kit.errors import ServiceUnavailable
from almoner.platform.database.places import Claimant, claiming
from almoner.platform.outbound.addresses import client_network

MOST_OF_CLIENT: Final = 400
MOST: Final = 800
MOST_WITH_MONEY: Final = 1000
PROBES: Final = ("/healthz", "/readyz", "/metrics")
"""Asked from inside, where there is no certificate."""
_MONEY_PAGES: Final = ("/give/", "/callbacks/")


class Admission:
    """The requests in flight of one process, by client."""

    def __init__(self) -> None:
        self._clients: Counter[str] = Counter()
        self._total = 0

    @contextmanager
    def admit(self, scope: Scope) -> Iterator[None]:
        """Let a request in for as long as it takes. Raises ServiceUnavailable."""
        if scope["path"] in PROBES:
            yield
            return
        client = client_network(scope["client"][0]) if scope.get("client") else ""
        moves_money = scope["method"] == "POST" and scope["path"].startswith(_MONEY_PAGES)
        most = MOST if scope["method"] == "GET" else MOST_WITH_MONEY
        if self._total >= most or self._clients[client] >= MOST_OF_CLIENT:
            raise ServiceUnavailable
        self._total += 1
        self._clients[client] += 1
        try:
            with claiming(Claimant(client, moves_money)):
                yield
        finally:
            self._total -= 1
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
