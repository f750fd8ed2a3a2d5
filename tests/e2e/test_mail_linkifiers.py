"""H11 by programs of others: none of them makes a link of what somebody typed into a mail (npm, linkify-it-py)."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from linkify_it import LinkifyIt

from tests.support.figures import Figures
from tests.support.linkifier import ShownHtml
from tests.unit.test_mail_links import BESIDE_WORDS, HOSTILE, OWN, in_every_language, rendered

HERE = Path(__file__).parent / "linkifiers"
pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("npm") is None, reason="not installed: npm")]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of npm, by their lock file."""
    folder = tmp_path_factory.mktemp("linkifiers")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return folder


def ask(programs: Path, texts: list[str]) -> dict[str, list[tuple[int, str]]]:
    """What each program makes a link of: the text's place, and the link."""
    done = subprocess.run(
        ["node", "find.mjs"], cwd=programs, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    found = {name: [(place, link) for place, link in links] for name, links in json.loads(done.stdout).items()}
    linkifier = LinkifyIt()
    found["linkify-it-py"] = [
        (place, match.raw) for place, text in enumerate(texts) for match in linkifier.match(text) or ()
    ]
    return found


def shown_texts() -> Iterator[tuple[str, str, str]]:
    """Mail, language and each text that a reader sees, without our own links."""
    for mail, tag in in_every_language():
        for typed in HOSTILE if tag == "en" else BESIDE_WORDS:
            for made in rendered(mail, tag, typed):
                html = ShownHtml(made.html)
                for text in (made.subject, made.text, *html.blocks):
                    yield mail, tag, text.replace(OWN, " ")


def test_no_program_makes_a_link_of_what_was_typed(programs: Path, figures: Figures) -> None:
    shown = list(dict.fromkeys(shown_texts()))
    found = ask(programs, [text for *_, text in shown])
    bare = {name: len({place for place, _ in links}) for name, links in ask(programs, list(HOSTILE)).items()}
    figures.write(
        "mail-links",
        "What other programs make links of in our mails",
        f"{len(in_every_language())} mails in their languages with {len(HOSTILE)} hostile values in English and "
        f"{len(BESIDE_WORDS)} in others: {len(shown):,} different texts, without our own links",
        *(
            f"{name}: {len(found[name])} links; {count} of the {len(HOSTILE)} values become links as they were typed"
            for name, count in bare.items()
        ),
    )
    named = {name: [(*shown[place][:2], link) for place, link in links] for name, links in found.items() if links}
    assert named == {}
    assert min(bare.values()) >= 8, bare
    assert len(bare) == 4
