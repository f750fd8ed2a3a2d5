"""Change what guards money and secrets in small ways and see that a test notices: mutmut, with a gate on its score.

mutmut itself ends well however many mutants survive. Mutants that no unit test reaches are SQL, which the tests of the
stores and of concurrency prove, and are counted apart.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parents[1]
STATISTICS = PROJECT / "mutants" / "mutmut-cicd-stats.json"
EVIDENCE = PROJECT / "docs" / "evidence" / "mutation.md"
LEAST_KILLED = 0.9


def main() -> int:
    """Run, tell, write, and fail below the gate."""
    shutil.rmtree(PROJECT / "mutants", ignore_errors=True)
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    ran = subprocess.run([mutmut, "run", "--max-children", "2"], cwd=PROJECT, check=False)
    subprocess.run([mutmut, "export-cicd-stats"], cwd=PROJECT, check=True)
    counts: dict[str, int] = json.loads(STATISTICS.read_text())
    killed = counts["killed"] + counts.get("timeout", 0)
    tried = killed + counts["survived"]
    share = killed / tried if tried else 0.0
    survivors = subprocess.run([mutmut, "results"], cwd=PROJECT, capture_output=True, text=True, check=False).stdout
    lines = ["# Mutation", "", f"{time.strftime('%Y-%m-%d')}. Repeat with `python tools/mutation.py`.", ""]
    lines += [f"- {killed} of {tried} mutants killed: {share:.1%} (gate {LEAST_KILLED:.0%})"]
    lines += [
        f"- {counts.get('no_tests', 0)} more are in lines that only tests with a database reach",
        "",
        "Survivors:",
        "",
    ]
    lines += [f"    {line.strip()}" for line in survivors.splitlines() if "survived" in line]
    EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
    EVIDENCE.write_text("\n".join([*lines, ""]))
    print("\n".join(lines))
    return int(ran.returncode != 0 or share < LEAST_KILLED)


if __name__ == "__main__":
    sys.exit(main())
