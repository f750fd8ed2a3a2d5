"""Every sample in TypeScript that the documentation shows: all are compiled, those of calls and the quick start run."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.test_documents import FINDS_NONE
from tests.e2e.test_samples import PAGES, PROJECT, TAKEN, identifiers, operations, with_image
from tests.support.running import Running
from tools.clients.typescript_client import camel

pytestmark = pytest.mark.long  # fetches the compiler

SHOP = PROJECT / "examples" / "shop" / "typescript"
RUN = Path(__file__).parent / "typescript" / "sample.mjs"
GIVEN = Path(__file__).parent / "typescript" / "given.d.ts"
GUIDES = ("docs/guides/donations.md", "docs/guides/hosted-form.md", "docs/guides/refunds.md", "docs/guides/webhooks.md")
BLOCK = re.compile(r"```(?:ts|typescript)\n(.*?)```", re.DOTALL)


def blocks(document: str) -> list[str]:
    """The samples of a document."""
    return BLOCK.findall((PROJECT / document).read_text("utf-8"))


def variable(type_: str) -> str:
    """What a sample calls an identifier of a type."""
    return f"{camel(PAGES.content.id_names()[type_])}Id"


@pytest.fixture(scope="module")
def built(typescript_client: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all samples, compiled as strictly as the example shop: each a module of its own."""
    folder = tmp_path_factory.mktemp("samples")
    package = json.loads((SHOP / "package.json").read_text())
    package |= {"scripts": {}, "dependencies": {"almoner-client": f"file:{typescript_client}"}}
    (folder / "package.json").write_text(json.dumps(package))
    settings = json.loads((SHOP / "tsconfig.json").read_text())
    assert settings["compilerOptions"]["strict"]
    (folder / "tsconfig.json").write_text(json.dumps({**settings, "files": ["given.d.ts"], "include": ["*.ts"]}))
    ids = "".join(f"  const {variable(type_)}: string;\n" for type_ in PAGES.content.id_names())
    (folder / "given.d.ts").write_text(f"{GIVEN.read_text()}\ndeclare global {{\n{ids}}}\n")
    samples = {name: typescript for name, _, typescript in PAGES.samples()}
    samples["quickStart"] = "\n".join(blocks("docs/guides/quick-start.md"))
    for document in (*GUIDES, "docs/concepts/requests.md", "clients/typescript/README.md"):
        found = blocks(document)
        assert found
        samples |= {f"{Path(document).stem}_{at}": sample for at, sample in enumerate(found)}
    for name, sample in samples.items():
        image = with_image(folder, sample)
        (folder / f"{name}.ts").write_text(f"{image}\nexport {{}};\n")
    subprocess.run(["npm", "--silent", "--no-audit", "--no-fund", "install"], cwd=folder, check=True)
    done = subprocess.run(["npx", "tsc"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder / "build"


def test_every_sample_of_the_reference(sandbox: Running, built: Path) -> None:
    for name, (value, _, other) in TAKEN.items():
        script = built / f"{name}.js"
        script.write_text(script.read_text().replace(f'"{value}"', f'"{other}"'))
    failed, count = {}, 0
    for operation in operations(sandbox):
        count += 1
        ids = {variable(type_): id_ for type_, id_ in identifiers(sandbox, operation, 3).items()}
        given = {"key": sandbox.secret_key, "url": sandbox.base_url, "ids": ids}
        command = ["node", str(RUN), str(built / f"{operation.id}.js"), json.dumps(given)]
        done = subprocess.run(command, cwd=built, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode and not (operation.id in FINDS_NONE and "not_found" in done.stderr):
            failed[operation.id] = done.stderr
    assert count > 100
    assert failed == {}


def test_the_quick_start(sandbox: Running, built: Path) -> None:
    script = built / "quickStart.js"
    script.write_text(script.read_text().replace("http://localhost:8080", sandbox.base_url))
    folder = sandbox.data_dir.parent
    done = subprocess.run(["node", str(script)], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    for text in ("Martha", "Send the donor to", "RECEIVED_PAYMENT", "donation.payment_successful"):
        assert text.upper() in done.stdout.upper()
