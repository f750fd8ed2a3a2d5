"""Pages and forms with their worst input, and all pages and forms that signed-in people can reach by links."""

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.types import ASGIApp

from tests.support import costs
from tests.support.browsing import Browser
from tests.support.costs import PAGE_SECONDS, Cost, Request
from tests.support.hostile_text import SHAPES

LONGEST_FORM: Final = 60_000
_TEXTS: Final = re.compile(r"<(?:input|textarea)\b[^>]*>")
_CHOSEN: Final = re.compile(r'type="(?:checkbox|radio|submit|hidden|file)"')
_ENDING: Final = re.compile(r"[%&+\r\n]")
_NAME: Final = re.compile(r'\bname="([^"]+)"')
_HIDDEN: Final = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
_LINK: Final = re.compile(r'href="([^"#]+)')
_FORM: Final = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.DOTALL)
_ACTION: Final = re.compile(r'\baction="([^"]*)"')
_ID: Final = re.compile(r"[a-z_]*_[0-9a-z]{26}|\d{2,}")
_LEAVES: Final = ("sign-out", "leave")


async def above(
    app: ASGIApp, requests: Mapping[str, Request] | Iterable[tuple[str, Request]], budget: float = PAGE_SECONDS
) -> dict[str, Cost]:
    """The requests that cost more than allowed, or fail. The most expensive is also checked for memory."""
    requests = dict(requests)
    found = {name: await costs.least_cost(app, request, enough=budget * 0.8) for name, request in requests.items()}
    worst = requests[max(found, key=lambda name: found[name].seconds)]
    assert await costs.peak_bytes(app, worst) - len(worst.body) <= costs.MOST_BYTES
    return {name: cost for name, cost in found.items() if cost.seconds > budget or cost.status >= 500}


def texts(page: str) -> list[str]:
    """The names of text inputs on a page."""
    tags = [tag for tag in _TEXTS.findall(page) if not _CHOSEN.search(tag)]
    return list(dict.fromkeys(name[1] for tag in tags if (name := _NAME.search(tag))))


def _posted(text: str) -> str:
    """As short as a client can encode it: only characters that would end the value are encoded."""
    return _ENDING.sub(lambda found: quote(found[0]), text)


def posts(
    browser: Browser, path: str, names: list[str], shapes: Iterable[str] = SHAPES, **chosen: str
) -> Iterator[tuple[str, Request]]:
    """The last page's form with all its texts hostile, up to the longest form."""
    assert names, f"{path} has nothing to type into"
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {
        "cookie": cookies, "sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"
    }  # fmt: skip
    for number, (shape, make) in enumerate((shape, SHAPES[shape]) for shape in shapes):
        length = LONGEST_FORM // len(names)
        while len(_posted(make(length))) * len(names) > LONGEST_FORM:
            length = length * 3 // 4
        for longest in (length, min(length, 250)):
            form = {
                **({} if "csrf" in chosen else {"csrf": browser.csrf}),
                **chosen,
                **dict.fromkeys(names, make(longest)),
            }
            body = "&".join(f"{name}={_posted(value)}" for name, value in form.items()).encode()
            # Each from another network: wrong passwords are throttled by network.
            yield (
                f"{shape}, {longest}",
                Request("POST", path, b"", body, headers, f"2001:db8:{number:x}:{longest:x}::1"),
            )


@dataclass
class Reached:
    """All reachable URLs and forms, once per kind of page: parameters by path; forms by action."""

    parameters: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    forms: dict[str, tuple[list[str], dict[str, str]]] = field(default_factory=dict)

    def add(self, path: str, page: str) -> None:
        """Add a page's forms with text inputs."""
        for tag, content in _FORM.findall(page):
            action = html.unescape(found[1]) if (found := _ACTION.search(tag)) else path
            if not (names := texts(content)):
                continue
            if 'method="post"' in tag:
                hidden = {name: html.unescape(value) for name, value in _HIDDEN.findall(content)}
                self.forms.setdefault(f"{_ID.sub('ID', action)} {names}", (names, hidden | {"action of": action}))
            else:
                self.parameters[urlsplit(action).path].update(names)


async def follow_links(browser: Browser, start: str, inside: str, *, most: int = 120) -> Reached:
    """Find every kind of page below a path that links lead to."""
    reached, waiting, seen = Reached(), [start], {_ID.sub("ID", start)}
    for _ in range(most):
        if not waiting:
            break
        path = waiting.pop(0)
        answer = await browser.open(path)
        if answer.status_code != 200 or "text/html" not in answer.headers["content-type"]:
            continue
        reached.add(urlsplit(path).path, answer.text)
        for link in map(html.unescape, _LINK.findall(answer.text)):
            parts = urlsplit(link)
            if not parts.path.startswith(inside) or any(word in parts.path for word in _LEAVES):
                continue
            reached.parameters[parts.path].update(name for name, _ in parse_qsl(parts.query))
            kind = _ID.sub("ID", parts.path)
            if kind not in seen:
                seen.add(kind)
                waiting.append(link)
    return reached


def requests(browser: Browser, reached: Reached, shapes: Iterable[str]) -> Iterator[tuple[str, Request]]:
    """Requests to everything reachable with hostile texts."""
    cookies = {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    kinds = {_ID.sub("ID", path): (path, asked) for path, asked in reached.parameters.items() if asked}
    for path, asked in kinds.values():
        for shape in shapes:
            text = SHAPES[shape](12_000 // len(asked))
            query = urlencode(dict.fromkeys(asked, text), errors="replace").encode()[:16_000]
            yield f"{path}, {shape}", Request("GET", path, query, b"", cookies)
    for names, hidden in reached.forms.values():
        path = hidden.pop("action of")
        for shape, request in posts(browser, path, names, shapes, **{"csrf": "", **hidden}):
            yield f"{path}, {shape}", request
