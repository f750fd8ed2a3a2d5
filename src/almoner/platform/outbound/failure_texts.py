"""Texts for failed calls, with the one fact that helps to fix them."""

import errno
import ssl
from collections.abc import Iterator
from typing import Final

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

_CERTIFICATES: Final = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is self-signed: use one that a public authority has issued",
    19: "the certificate comes from a private authority: use one that a public authority has issued",
    20: "the certificate's chain is incomplete, or its authority is not public: send the intermediate certificates too",
    21: "the certificate's chain is incomplete, or its authority is not public: send the intermediate certificates too",
    23: "the certificate has been revoked",
    62: "the certificate is for another host name",
    64: "the certificate is for another address",
}
"""Texts by OpenSSL's verification codes (``X509_V_ERR_...``)."""
_OLD: Final = ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE")
_PLAIN: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "NOT_SSL")
_TLS: Final = "The TLS connection failed: {}"


def tls_failure_message(error: BaseException) -> str | None:
    """Why TLS failed; None if something else did."""
    for one in _causes(error):
        if isinstance(one, aiohttp.ClientError):
            continue  # aiohttp's own errors say less than the OpenSSL errors that they wrap
        if isinstance(one, ssl.SSLCertVerificationError):
            told = _CERTIFICATES.get(one.verify_code, f"the certificate is not valid ({one.verify_message})")
            return _TLS.format(told)
        if isinstance(one, ssl.SSLError):
            return _TLS.format(_handshake_text(one.reason or ""))
    return _TLS.format("there is no TLS on this port") if isinstance(error, aiohttp.ClientSSLError) else None


def _handshake_text(reason: str) -> str:
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server demands a client certificate, and none is sent"
    if any(mark in reason for mark in _OLD):
        return "the server does not speak TLS 1.2 or later"
    if any(mark in reason for mark in _PLAIN):
        return "there is no TLS on this port"
    if "HANDSHAKE_FAILURE" in reason:
        return "the server shares no cipher with us, or demands a client certificate"
    return f"the server ended the handshake ({reason.lower().replace('_', ' ')})" if reason else "it was cut off"


def connection_failure_message(error: aiohttp.ClientConnectorError) -> str:
    """Why the connection failed."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "The connection failed: the host name does not resolve"
    if isinstance(error.os_error, ConnectionResetError):
        return "The connection failed: the server dropped it before it was established"
    match error.os_error.errno:
        case errno.ECONNREFUSED:
            return "The connection failed: no server is listening on this port"
        case errno.EHOSTUNREACH | errno.ENETUNREACH:
            return "The connection failed: there is no route to the host"
        case _:
            return "The connection failed: no server answers"


def response_failure_message(error: aiohttp.ClientError | HttpProcessingError) -> str:
    """Why the response is incomplete."""
    for one in _causes(error):
        if isinstance(one, LineTooLong) or "Got more than" in str(one):
            return "The response has a header line of more than 8 kB"
        if isinstance(one, aiohttp.ClientPayloadError) and "headers are larger" in str(one):
            return "The response has more than 16 kB of headers"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "The server closed the connection without a response"
    if isinstance(error, aiohttp.ClientOSError):
        return "The server dropped the connection before the whole response had come"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "The response ended before all of it had come"
    return "The response is not valid HTTP"


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = (
            getattr(one, "certificate_error", None),
            getattr(one, "os_error", None),
            one.__cause__,
            one.__context__,
        )
        waiting += [cause for cause in inner if isinstance(cause, BaseException)]
