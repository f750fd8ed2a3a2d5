"""Alert rules and dashboard ask for metrics that there are, and the runbook says what each alert means."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from almoner.platform.observability.telemetry import Telemetry

PROJECT = Path(__file__).parents[2]
RULES = PROJECT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = PROJECT / "deploy" / "grafana" / "almoner.json"
RUNBOOK = (PROJECT / "docs" / "runbooks" / "alerts.md").read_text()
ALERTS = re.findall(r"^      - alert: (\w+)$", RULES.read_text(), re.MULTILINE)
PROMTOOL = shutil.which("promtool")
WITHOUT_A_DISK = {"almoner_disk_free_bytes", "almoner_disk_free_inodes"}
FIRING = {
    "AlmonerErrors": {
        'almoner_requests_total{status="500"}': "0+60x60",
        'almoner_requests_total{status="200"}': "0+60x60",
    },
    "AlmonerCheckFailed": {'almoner_check_failed{check="mail server"}': "1x60"},
    "AlmonerCheckWarning": {'almoner_check_warning{check="certificate"}': "1x60"},
    "AlmonerQueueGrows": {'almoner_queue_jobs{state="outstanding"}': "20000+100x60"},
    "AlmonerDeliveriesFail": {'almoner_deliveries_total{result="failed"}': "0+60x90"},
    "AlmonerNoWorker": {'almoner_requests_total{status="200"}': "0+60x60"},
    "AlmonerUploadsKilled": {'almoner_upload_check_seconds_count{outcome="killed"}': "0+1x60"},
}
"""Series a minute that must raise the alert within an hour."""


def known() -> set[str]:
    """The names that a process shows."""
    shown = Telemetry(lambda _: None).render_metrics().decode()
    names = {family.name for family in text_string_to_metric_families(shown)}
    return (
        names | {f"{name}{end}" for name in names for end in ("_total", "_bucket", "_count", "_sum")} | WITHOUT_A_DISK
    )


def queries() -> list[str]:
    """Those of the dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def test_every_metric_exists_and_every_gauge_is_shown() -> None:
    for text in (RULES.read_text(), "\n".join(queries())):
        assert set(re.findall(r"\balmoner_[a-z_]+", text)) <= known()


def test_every_metric_is_set_somewhere() -> None:
    source = "".join(path.read_text() for path in (PROJECT / "src" / "almoner").rglob("*.py"))
    metrics = {name for name in vars(Telemetry(lambda _: None)) if not name.startswith("_")} - {"registry"}
    assert metrics - set(re.findall(r"(?:telemetry\.|self\.(?=\w+\.labels\())(\w+)", source)) == set()


def test_the_runbook_says_what_to_do_for_each_alert() -> None:
    assert re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE) == ALERTS
    for part in RUNBOOK.split("\n## ")[1:]:
        name, severity, action = [one for one in part.strip().split("\n\n") if one]
        assert severity.startswith(("**Page", "**Ticket")), name
        assert action, name


@pytest.mark.long
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_runs_all_queries(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    checked = subprocess.run([PROMTOOL, "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tests = []
    for alert, series in FIRING.items():
        given = [{"series": name, "values": values} for name, values in series.items()]
        # Some of the annotations are read with values, so that only their being there is asked for.
        asked = [{"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": "1h"}]
        asked[0]["exp_samples"] = [{"labels": "{}", "value": 1}]  # type: ignore[assignment]
        tests.append({"interval": "1m", "input_series": given, "promql_expr_test": asked})
    tests.append(
        {
            "interval": "1m",
            "input_series": [],
            "promql_expr_test": [{"expr": query, "eval_time": "1h"} for query in queries()],
        }
    )
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "tests": tests}))
    done = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
