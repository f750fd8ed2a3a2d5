"""What the guide of SCIM tells people to type, typed into a sandbox."""

import json
import re
import subprocess
from pathlib import Path

from tests.support.running import Running

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scim.md"
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def test_the_guide_of_scim(sandbox: Running) -> None:
    (lines,) = BLOCK.findall(GUIDE.read_text("utf-8"))
    assert sandbox.sandbox["scimKey"].startswith("scim_sandbox_")
    done = subprocess.run(
        ["sh", "-eu", "-c", lines.replace("http://localhost:8080", sandbox.base_url)],
        cwd=sandbox.data_dir.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    config, listed, group, patched = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert config["patch"] == {"supported": True}
    assert [one["userName"] for one in listed["Resources"]] == ["ada@example.org"]
    assert [one["value"] for one in group["members"]] == [patched["id"]]
    assert patched["active"] is False
