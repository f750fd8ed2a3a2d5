"""Change what guards money and secrets in small ways and see that a test notices: mutmut, with a gate on its score.

mutmut itself ends well however many mutants survive. Mutants that no unit test reaches are SQL, which the tests of the
stores and of concurrency prove, and are counted apart.
"""

import json
import shutil
import subprocess
import sys
import time
import tomllib
from hashlib import sha256
from pathlib import Path

PROJECT = Path(__file__).parents[1]
MARK = PROJECT / "mutants" / "of"
STATISTICS = PROJECT / "mutants" / "mutmut-cicd-stats.json"
EVIDENCE = PROJECT / "docs" / "evidence" / "mutation.md"
LEAST_KILLED = 0.9


def main() -> int:
    """Run, tell, write, and fail below the gate. What is ended (Ctrl-C) goes on the next time with the mutants left.

    mutmut keeps what it found for each mutant until its function changes; other tests or settings begin anew.
    """
    tested = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["mutmut"]
    files = [PROJECT / path for path in tested["pytest_add_cli_args_test_selection"]]
    mark = sha256(b"".join([json.dumps(tested).encode(), *(path.read_bytes() for path in files)])).hexdigest()
    if not MARK.exists() or MARK.read_text() != mark:
        shutil.rmtree(MARK.parent, ignore_errors=True)
        MARK.parent.mkdir()
        MARK.write_text(mark)
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    with subprocess.Popen([mutmut, "run", "--max-children", "2"], cwd=PROJECT) as running:
        try:
            running.wait()
        except KeyboardInterrupt:  # mutmut was told, too, and keeps what it has found
            running.wait()
    subprocess.run([mutmut, "export-cicd-stats"], cwd=PROJECT, check=True)
    counts: dict[str, int] = json.loads(STATISTICS.read_text())
    tried = sum(number for name, number in counts.items() if name not in {"total", "check_was_interrupted_by_user"})
    if running.returncode != 0 or tried < counts["total"]:
        print("Not all mutants were tried; the next run goes on from here.")
        return 1
    killed = counts["killed"] + counts.get("timeout", 0)
    judged = killed + counts["survived"]
    share = killed / judged if judged else 0.0
    survivors = subprocess.run([mutmut, "results"], cwd=PROJECT, capture_output=True, text=True, check=False).stdout
    lines = ["# Mutation", "", f"{time.strftime('%Y-%m-%d')}. Repeat with `make soak only=mutation`.", ""]
    lines += [f"- {killed} of {judged} mutants killed: {share:.1%} (gate {LEAST_KILLED:.0%})"]
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
    return int(share < LEAST_KILLED)


if __name__ == "__main__":
    sys.exit(main())
