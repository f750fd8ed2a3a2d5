"""Linters and generators of others find nothing in the description, and the clients they make call the sandbox."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.running import Running
from tools import reference

FETCHED = pytest.mark.long  # fetches the generators, and needs Node and Java
PEERS = Path(sysconfig.get_path("data")) / "peers"

HERE = Path(__file__).parent / "generators"
DESCRIPTION = reference.PROJECT / "openapi.json"
GENERATE = ["venv/bin/openapi-generator-cli", "generate", "-i", str(DESCRIPTION)]
# Its Python templates leave out the types of webhooks' bodies, which no client sends.
WITHOUT_WEBHOOKS = ["--global-property", "apis,models,supportingFiles"]
# Events embed `Event`, whose own UnmarshalJSON would read them without their data.
GO = ["--additional-properties", "generateUnmarshalJSON=false"]
# `wait` is a parameter of ours, and a final method of every object in Java.
JAVA = [
    *("--library", "native", "--additional-properties"),
    *(
        "openApiNullable=false,useJakartaEe=false,useSingleRequestParameter=true",
        "--parameter-name-mappings",
        "wait=seconds",
    ),
]
JAVA_PACKAGES = ("libhttpmime-java", "libgeronimo-annotation-1.3-spec-java")
JARS = [Path("/usr/share/java") / f"{package[3:-5]}.jar" for package in JAVA_PACKAGES]
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
    """A folder with the generators, beside the callers."""
    folder = tmp_path_factory.mktemp("generators")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    run(["npm", "install", "--silent", "--no-audit", "--no-fund"], folder)
    run([sys.executable, "-m", "venv", "venv"], folder)
    run(["venv/bin/pip", "install", "--quiet", "-r", "requirements.txt"], folder)
    return folder


@pytest.fixture(scope="session")
def linters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the linters and their configurations."""
    folder = tmp_path_factory.mktemp("linters")
    shutil.copytree(HERE / "linters", folder, dirs_exist_ok=True)
    run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    return folder


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["redocly", "lint", str(DESCRIPTION)], id="redocly"),
        pytest.param(
            ["spectral", "lint", "--fail-severity=hint", str(DESCRIPTION)], id="spectral", marks=pytest.mark.long
        ),
    ],
)
def test_linters_find_nothing(command: list[str], linters: Path) -> None:
    printed = run([f"node_modules/.bin/{command[0]}", *command[1:]], linters)
    assert " warnings" not in printed.lower()


@FETCHED
def test_openapi_generator_recommends_nothing(tools: Path) -> None:
    printed = run(["venv/bin/openapi-generator-cli", "validate", "-i", str(DESCRIPTION)], tools)
    assert "recommendation" not in printed.lower()


@FETCHED
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
    tmp_path: Path, sandbox: Running
) -> None:
    (tmp_path / "config.yaml").write_text("post_hooks: []\n")
    begin = "import sys; sys.path.insert(0, sys.argv.pop(1)); from openapi_python_client.cli import app; app()"
    command = [sys.executable, "-c", begin, str(PEERS), "generate", "--meta", "none", "--output-path", "made"]
    assert "Warning" not in run([*command, "--config", "config.yaml", "--path", str(DESCRIPTION)], tmp_path)
    caller = str(HERE / "call_openapi_python_client.py")
    run([sys.executable, caller, str(tmp_path), sandbox.base_url, sandbox.secret_key], tmp_path)


@FETCHED
def test_openapi_generator_makes_a_python_client_that_calls_the_sandbox(tools: Path, sandbox: Running) -> None:
    run([*GENERATE, "-g", "python", "-o", "python", *WITHOUT_WEBHOOKS], tools)
    run(["venv/bin/pip", "install", "--quiet", "-r", "python/requirements.txt"], tools)
    run(["venv/bin/python", "call_openapi_generator.py", "python", sandbox.base_url, sandbox.secret_key], tools)


@FETCHED
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Debian's golang-go")
def test_openapi_generator_makes_a_go_client_that_compiles_and_calls_the_sandbox(tools: Path, sandbox: Running) -> None:
    run([*GENERATE, "-g", "go", "-o", "go", *GO], tools)
    (tools / "go" / "call").mkdir()
    shutil.copy(tools / "call_go.go", tools / "go" / "call")
    run(["go", "run", "./call", sandbox.base_url, sandbox.secret_key], tools / "go")


@FETCHED
@pytest.mark.skipif(not all(path.exists() for path in JARS), reason=f"needs Debian's {', '.join(JAVA_PACKAGES)}")
def test_openapi_generator_makes_a_java_client_that_compiles_and_calls_the_sandbox(
    tools: Path, sandbox: Running
) -> None:
    run([*GENERATE, "-g", "java", "-o", "java", *JAVA], tools)
    (generator,) = tools.glob("venv/lib/*/site-packages/openapi_generator_cli/*.jar")  # has Jackson in it
    classes = ["-cp", ":".join(map(str, ("classes", generator, *JARS)))]
    sources = [str(path) for path in (tools / "java" / "src" / "main").rglob("*.java")]
    run(["javac", "-nowarn", "-d", "classes", *classes, *sources, "CallJava.java"], tools)
    run(["java", *classes, "CallJava", sandbox.base_url, sandbox.secret_key], tools)


@FETCHED
def test_openapi_generator_makes_a_csharp_client(tools: Path) -> None:
    printed = run([*GENERATE, "-g", "csharp", "-o", "csharp"], tools)
    assert [line for line in printed.splitlines() if "ERROR" in line] == []
