"""Limit the requests in flight, per client and in total.

Requests that move money are refused last, health checks never. Admitted requests wait for their share of the database
(``platform.database.fair_queue``).
"""

from collections.abc import Hashable
from typing import Final

from starlette.types import Scope

from almoner.kit.errors import ServiceUnavailable
from almoner.platform.database.fair_queue import FairShareClient
from almoner.platform.outbound.addresses import client_network_for_rate_limit

MOST_OF_CLIENT: Final = 400
MOST: Final = 800
MOST_WITH_MONEY: Final = 1000
PROBES: Final = ("/healthz", "/readyz", "/metrics")
"""Requested from inside the network, where there is no certificate."""
_MONEY_PAGES: Final = ("/give/", "/callbacks/")


class InFlightRequestLimiter:
    """Counts this process's requests in flight by client and refuses those above the limits."""

    def __init__(self) -> None:
        self._clients: dict[Hashable, int] = {}
        self._total = 0

    def admit_and_identify_client(self, scope: Scope) -> FairShareClient | None:
        """Admit a request; returns its client (None: health check). Raises ServiceUnavailable."""
        method, path = scope["method"], scope["path"]
        if path in PROBES:
            return None
        client = client_network_for_rate_limit(scope["client"][0]) if scope.get("client") else ""
        clients = self._clients
        of_client = clients.get(client, 0)
        if self._total >= (MOST if method == "GET" else MOST_WITH_MONEY) or of_client >= MOST_OF_CLIENT:
            raise ServiceUnavailable
        self._total += 1
        clients[client] = of_client + 1
        return FairShareClient(client, method == "POST" and path.startswith(_MONEY_PAGES))

    def release_request(self, fair_share_client: FairShareClient | None) -> None:
        """Record that an admitted request has ended."""
        if fair_share_client is None:
            return
        self._total -= 1
        left = self._clients[fair_share_client.key] - 1
        if left:
            self._clients[fair_share_client.key] = left
        else:
            del self._clients[fair_share_client.key]
