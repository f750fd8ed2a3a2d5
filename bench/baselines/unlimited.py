"""``almoner serve`` without the limits of its edge, to measure their cost.

Omitted: admission by client, shares of the database, statement timeouts, limits of slow and many connections, the
checks of RFC 9112, and refusing writes while the disk is nearly full.
"""

from contextvars import Token
from typing import Any

from starlette.types import Receive, Scope, Send

from almoner.cli import serve, write_coalescing
from almoner.cli.connection_limits import ConnectionLimitedHttpProtocol
from almoner.platform.database.disk_space import DiskSpace
from almoner.platform.database.fair_queue import FairShareClient, set_fair_share_client
from almoner.platform.database.transactions import Database, Mode, Tx
from almoner.platform.http import edge, service
from bench import baselines

REST_SECONDS = 75


async def _admit(self: edge.OutermostMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
    await self._app(scope, receive, send)


def _plain_protocol(_connections: object, **given: Any) -> write_coalescing.WriteCoalescingHttpProtocol:
    given["config"].timeout_keep_alive = REST_SECONDS
    return write_coalescing.WriteCoalescingHttpProtocol(**given)


def _build_transaction(self: Database, connection: Any, mode: Mode) -> Tx:
    return Tx(connection, self.deployment, mode)


def _set_no_client(_client: FairShareClient | None) -> Token[FairShareClient | None]:
    return set_fair_share_client(None)


def _ensure_nothing(_self: DiskSpace) -> None:
    pass


if __name__ == "__main__":
    baselines.replace(edge.OutermostMiddleware, edge.OutermostMiddleware._admit, _admit)  # noqa: SLF001 (what is measured)
    baselines.replace(service, set_fair_share_client, _set_no_client)
    baselines.replace(Database, Database.build_transaction, _build_transaction)
    baselines.replace(DiskSpace, DiskSpace.ensure_writable, _ensure_nothing)
    baselines.replace(serve, ConnectionLimitedHttpProtocol, _plain_protocol)
    serve.serve()
