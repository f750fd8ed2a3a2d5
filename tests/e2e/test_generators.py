"""Linters and generators of others find nothing in the description, and the clients they make call the sandbox."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import Running
from tools import reference

pytestmark = pytest.mark.long  # fetches the generators, and needs Node and Java

HERE = Path(__file__).parent / "generators"
DESCRIPTION = reference.PROJECT / "openapi.json"
GENERATE = ["venv/bin/openapi-generator-cli", "generate", "-i", str(DESCRIPTION)]
# Its Python templates leave out the types of webhooks' bodies, which no client sends.
WITHOUT_WEBHOOKS = ["--global-property", "apis,models,supportingFiles"]
TSC = [
    *("node_modules/.bin/tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--types", "node"),
    *("--module", "commonjs", "--moduleResolution", "node10", "--outDir", "out"),
]


def run(command: list[str], folder: Path) -> str:
    """What a tool prints, which must have gone well."""
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generators, beside the configurations of the linters and the callers."""
    folder = tmp_path_factory.mktemp("generators")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    run(["npm", "install", "--silent", "--no-audit", "--no-fund"], folder)
    run([sys.executable, "-m", "venv", "venv"], folder)
    run(["venv/bin/pip", "install", "--quiet", "-r", "requirements.txt"], folder)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["node_modules/.bin/redocly", "lint", str(DESCRIPTION)],
        ["node_modules/.bin/spectral", "lint", "--fail-severity=hint", str(DESCRIPTION)],
        ["venv/bin/openapi-generator-cli", "validate", "-i", str(DESCRIPTION)],
    ],
    ids=["redocly", "spectral", "openapi-generator"],
)
def test_linters_find_nothing(command: list[str], tools: Path) -> None:
    printed = run(command, tools).lower()
    assert not any(word in printed for word in (" warnings", "recommendation"))


@pytest.mark.parametrize(
    ("command", "caller"),
    [
        (["node_modules/.bin/openapi-typescript", str(DESCRIPTION), "-o", "types.ts"], "call_types"),
        (["node_modules/.bin/openapi-ts", "-i", str(DESCRIPTION), "-o", "hey"], "call_hey"),
        ([*GENERATE, "-g", "typescript-fetch", "-o", "fetch"], "call_fetch"),
    ],
    ids=["openapi-typescript", "hey-api", "openapi-generator"],
)
def test_a_typescript_client_compiles_and_calls_the_sandbox(
    command: list[str], caller: str, tools: Path, sandbox: Running
) -> None:
    run(command, tools)
    run([*TSC, f"{caller}.ts"], tools)
    run(["node", f"out/{caller}.js", sandbox.base_url, sandbox.secret_key], tools)


def test_openapi_python_client_makes_a_client_without_a_warning_that_calls_the_sandbox(
    tools: Path, sandbox: Running
) -> None:
    (tools / "config.yaml").write_text("post_hooks: []\n")
    command = ["venv/bin/openapi-python-client", "generate", "--meta", "none", "--output-path", "made", "--overwrite"]
    assert "Warning" not in run([*command, "--config", "config.yaml", "--path", str(DESCRIPTION)], tools)
    run(["venv/bin/python", "call_openapi_python_client.py", ".", sandbox.base_url, sandbox.secret_key], tools)


def test_openapi_generator_makes_a_python_client_that_calls_the_sandbox(tools: Path, sandbox: Running) -> None:
    run([*GENERATE, "-g", "python", "-o", "python", *WITHOUT_WEBHOOKS], tools)
    run(["venv/bin/pip", "install", "--quiet", "-r", "python/requirements.txt"], tools)
    run(["venv/bin/python", "call_openapi_generator.py", "python", sandbox.base_url, sandbox.secret_key], tools)


@pytest.mark.parametrize("language", ["java", "go", "csharp"])
def test_openapi_generator_makes_a_client(language: str, tools: Path) -> None:
    printed = run([*GENERATE, "-g", language, "-o", f"made-{language}"], tools)
    assert [line for line in printed.splitlines() if "ERROR" in line] == []
