"""Find out how long the certificate of one of our servers is valid, as clients see it."""

import asyncio
import ssl
from datetime import UTC, datetime

from almoner.platform.outbound.lookups import connect_to_host


async def fetch_certificate_expiry(host: str, port: int, context: ssl.SSLContext | None = None) -> datetime:
    """When the server's certificate expires.

    ``context``: the trusted authorities; the system's by default. Raises ssl.SSLError for a certificate that clients
    refuse, OSError if the server cannot be reached.
    """
    connection = await connect_to_host(host, port)
    _, writer = await asyncio.open_connection(
        sock=connection, ssl=context or ssl.create_default_context(), server_hostname=host
    )
    try:
        shown = writer.get_extra_info("peercert")
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(shown["notAfter"]), UTC)
    finally:
        writer.close()
