"""What a multipart body may cost before its file is checked: 50 ms of the processor for each MiB, 8 MB of memory."""

from collections.abc import Callable
from typing import Final

import pytest

from almoner.platform.http.uploads import OVERHEAD
from tests.support import costs
from tests.support.costs import Request
from tests.support.service import Service, Tenant

LONGEST: Final = 1024 * 1024
_PART: Final = b"--x\r\nContent-Disposition: form-data"
_FILE: Final = _PART + b'; name="file"; filename="a"\r\nContent-Type: image/png\r\n\r\n'
_TEXT: Final = _PART + b'; name="a"\r\n\r\n'

BODIES: Final[dict[str, Callable[[int], bytes]]] = {
    "empty parts": lambda n: b"--x\r\n\r\n\r\n" * (n // 9) + b"--x--\r\n",
    "parts of nothing": lambda n: b"--x\r\nA:b\r\n\r\n\r\n" * (n // 14) + b"--x--\r\n",
    "a long header": lambda n: b"--x\r\nA:" + b"b" * n + b"\r\n\r\n--x--\r\n",
    "a long name": lambda n: (
        b'--x\r\nContent-Disposition: form-data; name="' + b'\\"' * (n // 2) + b'"\r\n\r\n\r\n--x--\r\n'
    ),
    "many options": lambda n: (
        b"--x\r\nContent-Disposition: form-data" + b';a="b"' * (n // 6) + b"\r\n\r\n\r\n--x--\r\n"
    ),
    "text": lambda n: _TEXT + b"a" * n + b"\r\n--x--\r\n",
    "a file of line ends": lambda n: _FILE + b"\r\n" * (n // 2) + b"\r\n--x--\r\n",
    "a file of boundaries": lambda n: _FILE + b"\r\n--" * (n // 4) + b"\r\n--x--\r\n",
    "a file of near boundaries": lambda n: _FILE + b"\r\n--y" * (n // 5) + b"\r\n--x--\r\n",
    "before the first": lambda n: b"\r\n" * (n // 2) + b"--x--\r\n",
    "after the last": lambda n: _FILE + b"a\r\n--x--\r\n" + b"-" * n,
}


@pytest.mark.parametrize("shape", BODIES)
async def test_a_multipart_body_costs_little(shape: str, service: Service, tenant: Tenant) -> None:
    ids = service.db.deployment.ids
    path = f"/v1/categories/{ids.example_id('category')}/image"
    headers = {"authorization": f"Bearer {tenant.secret}", "content-type": "multipart/form-data; boundary=x"}
    whole, half, short = (
        Request("POST", path, b"", BODIES[shape](size), headers) for size in (LONGEST, LONGEST // 2, OVERHEAD // 2)
    )
    await costs.least_cost(service.app, short, enough=1)
    cost = await costs.least_cost(service.app, whole, enough=costs.NOTICED_SECONDS)
    less = await costs.least_cost(service.app, half, enough=costs.NOTICED_SECONDS)
    assert cost.status < 500
    assert cost.seconds <= costs.PAGE_SECONDS
    assert cost.seconds <= costs.MOST_GROWTH * less.seconds + costs.NOTICED_SECONDS
    assert await costs.peak_bytes(service.app, short) <= costs.MOST_BYTES
    assert await costs.peak_bytes(service.app, whole) - len(whole.body) <= costs.MOST_BYTES
