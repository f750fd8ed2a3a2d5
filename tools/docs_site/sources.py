"""The pages of the site as Markdown, in one folder: those of docs/ for partners and operators, and made ones.

A link to what is not in the site, such as a decision, becomes the path of a file in the repository.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final

from tools.docs_site.reference_pages import ReferencePages

_OUTSIDE: Final = ("architecture.md", "README.md", "releases.md")
_COPIED: Final = ("guides", "runbooks", "reference", "concepts", "images")
_LINK: Final = re.compile(r"(?<!\!)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_COMMENT: Final = re.compile(r"^<!--.*?-->\n+", re.DOTALL | re.MULTILINE)
"""What is for contributors alone."""
_DRAWING: Final = re.compile(r"!\[[^\]]*\]\(\.\./(images/lifecycles/[a-z-]+\.svg)\)")
_ELSEWHERE: Final = {
    "clients/python.md": "clients/python/README.md",
    "clients/typescript.md": "clients/typescript/README.md",
    "changelog.md": "CHANGELOG.md",
}
"""Pages that lie beside docs/, and where."""
_TITLES: Final = {"clients/python.md": "Python client", "clients/typescript.md": "TypeScript client"}
"""Of pages whose own title is the name of a package, which two of them have."""


def write_sources(project: Path, folder: Path) -> Mapping[str, str]:
    """Write all pages; gives the text of each by its path."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in _COPIED:
        shutil.copytree(project / "docs" / name, folder / name)
    for file in sorted((project / "docs").iterdir()):
        if file.is_file() and file.name not in _OUTSIDE:
            shutil.copy(file, folder / file.name)
    reference = ReferencePages(json.loads((project / "openapi.json").read_text("utf-8")))
    pages = dict(_pages(project, folder)) | dict(reference.pages())
    for name, content in reference.script_data():
        (folder / "_static").mkdir(exist_ok=True)
        (folder / "_static" / name).write_text(json.dumps(content), "utf-8")
    for path, text in pages.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return pages


def _pages(project: Path, folder: Path) -> Iterator[tuple[str, str]]:
    places = {f"docs/{file.relative_to(folder).as_posix()}": file.relative_to(folder).as_posix()
              for file in sorted(folder.rglob("*")) if file.is_file()}  # fmt: skip
    places |= {source: path for path, source in _ELSEWHERE.items()}
    places["docs/README.md"] = places["README.md"] = "index.md"
    for source, path in places.items():
        if path.endswith(".md") and path != "index.md":
            text = _COMMENT.sub("", (project / source).read_text("utf-8"))
            if title := _TITLES.get(path):
                text = re.sub(r"^# .+", f"# {title}", text, count=1)
            yield (
                path,
                _draw_in(project / "docs", _rewrite_links(text, PurePosixPath(source), PurePosixPath(path), places)),
            )
    index = (Path(__file__).parent / "index.md").read_text("utf-8")
    guides = sorted(path.removesuffix(".md") for path in places.values() if re.fullmatch(r"guides/[^/]+\.md", path))
    unlisted = [guide for guide in guides if not re.search(rf"^{guide}$", index, re.MULTILINE)]
    yield "index.md", index.replace("%more%", "\n".join(unlisted))


def _rewrite_links(text: str, source: PurePosixPath, page: PurePosixPath, places: Mapping[str, str]) -> str:
    """Links lead to other pages of the site; what it lacks is named by its path."""

    def rewritten(link: re.Match[str]) -> str:
        target = normpath(source.parent / link[2])
        if target in places:
            return f"[{link[1]}]({relpath(places[target], page.parent)}{link[3] or ''})"
        return f"{link[1]} (`{target}` in the repository)"

    return _LINK.sub(rewritten, text)


def _draw_in(docs: Path, text: str) -> str:
    """Drawings of states stand in the page itself, where they take its colours."""

    def drawn(image: re.Match[str]) -> str:
        return re.sub("<style>.*?</style>", "", (docs / image[1]).read_text("utf-8"))

    return _DRAWING.sub(drawn, text)
