"""Parts of pages are asked for by a few attributes, none of which runs a text as a program."""

import re
from hashlib import sha256
from pathlib import Path

from almoner.platform.pages import assets

SOURCE = Path(__file__).parents[2] / "src" / "almoner"
ALLOWED = {
    "hx-get",
    "hx-post",
    "hx-push-url",
    "hx-trigger",
    "hx-target:inherited",
    "hx-select:inherited",
    "hx-swap:inherited",
    "hx-push-url:inherited",
}
"""``hx-on``, ``js:`` in values and filters of triggers would need ``unsafe-eval``."""
PINNED = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"


def test_templates_have_these_attributes_alone() -> None:
    found = {
        name
        for path in SOURCE.glob("**/*.html")
        for name in re.findall(r"[\s\"'](?:data-)?(hx-[\w:-]+)\s*=", path.read_text("utf-8"))
    }
    assert found == ALLOWED
    triggers = {
        value
        for path in SOURCE.glob("**/*.html")
        for value in re.findall(r"hx-trigger\s*=\s*\"([^\"]*)\"", path.read_text("utf-8"))
    }
    assert triggers == {"load delay:2s"}, "a filter in brackets would be code"


def test_the_library_is_the_published_file() -> None:
    assert sha256(assets.HTMX.content).hexdigest() == PINNED
