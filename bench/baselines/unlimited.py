"""``almoner serve`` without the limits of its edge, to measure their cost.

Omitted: admission by client, shares of the database, statement timeouts, limits of slow and many connections, the
checks of RFC 9112, and refusing writes while the disk is nearly full.
"""

from typing import Any, Final

from starlette.types import Receive, Scope, Send

from almoner.cli import serve, write_coalescing
from almoner.platform.database.transactions import Database, Mode, Tx
from almoner.platform.http import edge, service

REST_SECONDS = 75


async def _admit(self: edge.EdgeMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
    await self._app(scope, receive, send)


def _plain_protocol(_connections: object, **given: Any) -> write_coalescing.WriteCoalescingHttpProtocol:
    given["config"].timeout_keep_alive = REST_SECONDS
    return write_coalescing.WriteCoalescingHttpProtocol(**given)


def _begin(self: Database, connection: Any, mode: Mode) -> Tx:
    return Tx(connection, self.deployment, mode)


REPLACED: Final[tuple[tuple[object, str, object], ...]] = (
    (edge.EdgeMiddleware, "_admit", _admit),
    (service, "begin_claim", lambda _claimant: None),
    (service, "Claimant", lambda _key, _money: None),
    (Database, "begin", _begin),
    (serve, "ConnectionLimitedHttpProtocol", _plain_protocol),
)

if __name__ == "__main__":
    for owner, name, nothing in REPLACED:
        setattr(owner, name, nothing)
    serve.serve()
