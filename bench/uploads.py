"""Uploads of documents: time, and the memory of server and children, one by one and 100 at once (U1)."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from io import BytesIO

import httpx
import psutil
from PIL import Image

from bench.stage import Stage, server, staged
from tests.support import hostile_pdfs

AT_ONCE = 100
LIMIT = 5_242_880
MEGABYTE = 2**20
REQUEST = {
    "name": "Relief",
    "registryName": "IRS",
    "registryId": "53-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
}
_LOOK_SECONDS = 0.02


@dataclass
class Seen:
    """Memory of the server and its child processes, sampled continuously."""

    pid: int
    server: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    async def watch(self, stop: asyncio.Event) -> None:
        """Sample until stopped."""
        process = psutil.Process(self.pid)
        while not stop.is_set():
            self.server.append(process.memory_info().rss)
            total = 0
            for child in process.children(recursive=True):
                try:
                    total += child.memory_full_info().uss
                except psutil.Error:
                    continue
            self.below.append(total)
            await asyncio.sleep(_LOOK_SECONDS)


def files() -> dict[str, tuple[bytes, str]]:
    """Files of the maximum size, and ordinary ones."""
    page = hostile_pdfs.pdf(hostile_pdfs.stream(os.urandom(LIMIT - 700)))
    noise = Image.effect_noise((1800, 1300), 90)
    photo, shot = BytesIO(), BytesIO()
    noise.resize((2800, 2100)).convert("RGB").save(photo, "JPEG", quality=90)
    noise.resize((1500, 1100)).convert("RGB").save(shot, "PNG")
    return {
        "a PDF of 5 MiB": (page, "application/pdf"),
        "a PDF of 1 kB": (hostile_pdfs.plain(), "application/pdf"),
        f"a photo, 5.9 million pixels, {len(photo.getvalue()) / MEGABYTE:.1f} MiB": (photo.getvalue(), "image/jpeg"),
        f"a PNG, 1.7 million pixels, {len(shot.getvalue()) / MEGABYTE:.1f} MiB": (shot.getvalue(), "image/png"),
    }


async def _upload(client: httpx.AsyncClient, file: tuple[bytes, str], key: str) -> float:
    headers = {"Authorization": key}
    record = (await client.post("/v1/validation-requests", json=REQUEST, headers=headers)).json()["data"]["id"]
    path = f"/v1/validation-requests/{record}/document"
    started = time.monotonic()
    answer = await client.post(path, files={"file": ("x", *file)}, headers=headers)
    assert answer.status_code == 200, answer.text
    return time.monotonic() - started


async def _too_large(client: httpx.AsyncClient, port: int, key: str) -> float:
    """Seconds from the first byte over the limit to the response, while more is being sent."""
    record = (await client.post("/v1/validation-requests", json=REQUEST)).json()["data"]["id"]
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: image/png\r\n\r\n'
    head = (
        f"POST /v1/validation-requests/{record}/document HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(part) + LIMIT + 1000}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + part + bytes(LIMIT))
    await writer.drain()
    await asyncio.sleep(1)  # everything sent has been read
    crossed = time.monotonic()
    # The parser holds back a possible start of a boundary: as many bytes as a boundary has.
    writer.write(b"\x00" * 8)
    answer = await reader.readline()
    took = time.monotonic() - crossed
    writer.close()
    assert answer.split()[1] == b"400", answer
    return took


async def _measure(stage: Stage, port: int, pid: int) -> list[str]:
    headers = {"Authorization": stage.keys[0]}
    limits = httpx.Limits(max_connections=AT_ONCE)
    url = f"http://127.0.0.1:{port}"
    given = files()
    lines = ["| one after the other, 20 times each | p50 ms | slowest ms | server grew by, MiB an upload |"]
    lines.append("|---|---|---|---|")
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=300) as client:
        for file, key in zip(given.values(), stage.keys, strict=False):
            await _upload(client, file, key)  # connections, the first child, caches
        keys = dict(zip(given, stage.keys, strict=False))  # one partner each: a day's limit is a gigabyte
        for name, file in given.items():
            times, grown = [], 0.0
            for _ in range(20):
                seen, stop = Seen(pid), asyncio.Event()
                watching = asyncio.create_task(seen.watch(stop))
                await asyncio.sleep(0)
                times.append(await _upload(client, file, keys[name]))
                stop.set()
                await watching
                grown = max(grown, (max(seen.server) - seen.server[0]) / MEGABYTE)
            middle = sorted(times)[len(times) // 2]
            lines.append(f"| {name} | {middle * 1000:.0f} | {max(times) * 1000:.0f} | at most {grown:.1f} |")
        lines += ["", f"| {AT_ONCE} at once | all done in s | server before | at most | processes below it, MiB |"]
        lines.append("|---|---|---|---|---|")
        for name, file in given.items():
            seen, stop = Seen(pid), asyncio.Event()
            watching = asyncio.create_task(seen.watch(stop))
            started = time.monotonic()
            await asyncio.gather(*(_upload(client, file, keys[name]) for _ in range(AT_ONCE)))
            took = time.monotonic() - started
            stop.set()
            await watching
            before, most, below = (each / MEGABYTE for each in (seen.server[0], max(seen.server), max(seen.below)))
            lines.append(f"| {name} | {took:.1f} | {before:.0f} | {most:.0f} | at most {below:.0f} |")
        late = sorted([await _too_large(client, port, stage.keys[0]) for _ in range(20)])
        lines += [
            "",
            f"A byte too much is refused within {late[-1] * 1000:.0f} ms (20 times; p50 {late[10] * 1000:.0f}).",
        ]
    return lines


def measure() -> list[str]:
    """Tables in Markdown."""
    with staged() as stage, server(stage, "almoner", "-m", "almoner", "serve") as running:
        return asyncio.run(_measure(stage, running.port, running.pid))


if __name__ == "__main__":
    print("\n".join(measure()))
