"""The examples hold: rules, routes, dashboard and CI files say only what there is."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from fleetrun import CHECKS, ROOT
from monitoring import EXAMPLES

from fleetcheck.alerts.alert import NAMES
from fleetcheck.report import prometheus
from fleetcheck.standing import Ran

FOLDER = EXAMPLES / "prometheus"
RULES = yaml.safe_load((FOLDER / "fleetcheck.rules.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
METRIC = re.compile(r"\b(fleetcheck_[a-z0-9_]+)\b")
TESTED = """
rule_files: ["{rules}"]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'fleetcheck_last_complete_run_timestamp_seconds{{fleet="a",tier="quick",instance="c"}}', values: '0x1700'}}
      - {{series: 'fleetcheck_last_complete_run_timestamp_seconds{{fleet="a",tier="burnin",instance="c"}}', values: '0x1700'}}
      - {{series: 'fleetcheck_run_info{{fleet="never",run="r",tier="quick",instance="c"}}', values: '1x1700'}}
      - {{series: 'fleetcheck_nodes{{fleet="a",tier="quick",verdict="healthy"}}', values: '27x1700'}}
      - {{series: 'fleetcheck_capacity_floor_nodes{{fleet="a",tier="quick"}}', values: '28x1700'}}
      - {{series: 'fleetcheck_fleet_findings{{fleet="a",tier="quick",kind="place"}}', values: '1x10 0x1690'}}
      - {{series: 'fleetcheck_node_silence_shared{{fleet="a",tier="quick",node="n1"}}', values: '1x10 stale'}}
      - {{series: 'fleetcheck_node_verdict{{fleet="a",tier="quick",node="n1",verdict="unreachable",action="none"}}', values: '1x1700'}}
      - {{series: 'fleetcheck_node_verdict{{fleet="a",tier="quick",node="n2",verdict="unreachable",action="none"}}', values: '1x10 stale'}}
    alert_rule_test:
      - {{eval_time: 26h, alertname: FleetcheckNoCompleteRun, exp_alerts: []}}
      - eval_time: 26h1m
        alertname: FleetcheckNoCompleteRun
        exp_alerts: [{{exp_labels: {{severity: page, fleet: a}}, exp_annotations: {{summary: "No complete run of fleet a for 1d 2h 1m 0s",
          description: "A narrowed, interrupted or replayed run, or one of some nodes, is none. Look at the controller's cron job and reports/latest."}}}}]
      - eval_time: 27h
        alertname: FleetcheckNeverComplete
        exp_alerts: [{{exp_labels: {{severity: page, fleet: never}}, exp_annotations: {{summary: "Fleet never runs, and never had a complete run"}}}}]
      - eval_time: 5m
        alertname: FleetcheckCapacityLow
        exp_alerts: [{{exp_labels: {{severity: page, fleet: a, tier: quick}}, exp_annotations: {{summary: "27 healthy nodes of fleet a, fewer than its floor"}}}}]
      - eval_time: 5m
        alertname: FleetcheckNodeUnreachable
        exp_alerts: [{{exp_labels: {{severity: ticket, fleet: a, tier: quick, node: n2}}, exp_annotations: {{summary: "n2 cannot be reached"}}}}]
      - eval_time: 5m
        alertname: FleetcheckCommonCause
        exp_alerts: [{{exp_labels: {{severity: page, fleet: a, tier: quick, kind: place}},
          exp_annotations: {{summary: "Fleet a, tier quick: 1 findings of kind place", description: "Many nodes at once: the controller, the configuration, or a place (leaf switch, rack, power); no node is blamed. The run's page names it."}}}}]
      - eval_time: 15m
        alertname: FleetcheckNodeUnreachable
        exp_alerts: [{{exp_labels: {{severity: ticket, fleet: a, tier: quick, node: n1}}, exp_annotations: {{summary: "n1 cannot be reached"}}}}]
  - interval: 1m
    input_series: []
    alert_rule_test:
      - {{eval_time: 14m, alertname: FleetcheckMetricsAbsent, exp_alerts: []}}
      - eval_time: 16m
        alertname: FleetcheckMetricsAbsent
        exp_alerts: [{{exp_labels: {{severity: page}}, exp_annotations: {{summary: "No fleet's metrics arrive",
          description: "node_exporter on the controller is down, or its textfile directory is not the metrics_dir of the inventory."}}}}]
"""


def known():
    """Every metric there is."""
    empty = {"run": "r", "fleet": "f", "tier": "quick", "complete": True, "started": "", "replay_of": "", "nodes": {}, "fleet_findings": [],
             "counts": {"items": dict.fromkeys(("passed", "failed", "error", "skipped"), 0)}}
    return set(re.findall(r"^# TYPE (\S+) gauge$", prometheus.text(prometheus.of_run(Ran(empty), {})), re.MULTILINE))


def expressions():
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    variables = [each["definition"] for each in DASHBOARD["templating"]["list"] if "definition" in each]
    return [*panels, *variables, *(rule["expr"] for rule in RULES)]


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_that_is_asked_for_exists(expression):
    assert set() == set(METRIC.findall(expression)) - known()


def test_every_metric_is_documented():
    page = (ROOT / "docs" / "alerts.md").read_text()
    assert [] == [name for name in known() if f"`{name}`" not in page and f"`_{name.partition('_')[2]}`" not in page and not named_as_key(name)]


def named_as_key(name):
    return name.removeprefix("fleetcheck_node_") in {key.name for key in prometheus.KEYS}


def test_rules_and_the_command_agree_on_severities():
    assert {} == {rule["alert"]: rule["labels"]["severity"] for rule in RULES if NAMES.get(rule["alert"], rule["labels"]["severity"]) != rule["labels"]["severity"]}


def test_the_dashboard_is_one_that_grafana_takes():
    panels = DASHBOARD["panels"]
    assert len(panels) == len({panel["id"] for panel in panels})
    assert all(panel["type"] in ("stat", "timeseries", "table", "bargauge") and panel["targets"] and panel["title"] for panel in panels)
    assert all({"refId", "expr", "datasource"} <= set(target) for panel in panels for target in panel["targets"])
    assert {"${datasource}"} == {panel["datasource"]["uid"] for panel in panels}
    assert ["datasource", "fleet", "tier"] == [each["name"] for each in DASHBOARD["templating"]["list"]]
    assert isinstance(DASHBOARD["schemaVersion"], int) and DASHBOARD["uid"]


def test_panels_do_not_overlap():
    cells = [(x, y) for panel in DASHBOARD["panels"] for place in [panel["gridPos"]]
             for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool not installed: apt install prometheus")
@pytest.mark.parametrize("words", [("check", "rules", str(FOLDER / "fleetcheck.rules.yml")), ("test", "rules", "tested.yml")], ids=["check", "test"])
def test_promtool_finds_the_rules_right(tmp_path, words):
    (tmp_path / "tested.yml").write_text(TESTED.format(rules=FOLDER / "fleetcheck.rules.yml"))
    done = subprocess.run(["promtool", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert 0 == done.returncode and "FAILED" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("amtool"), reason="amtool not installed: apt install prometheus-alertmanager")
def test_the_routes_are_ones_that_alertmanager_takes():
    done = subprocess.run(["amtool", "check-config", str(FOLDER / "alertmanager.yml")], capture_output=True, text=True, timeout=60)
    assert 0 == done.returncode, done.stdout + done.stderr


def in_ci(folder, *words, before=None):
    environment = {**os.environ, "PYTHON": sys.executable, "FLEETCHECK_CHECKS": str(CHECKS), "PYTHONPATH": str(ROOT)}
    return subprocess.run([str(EXAMPLES / "ci" / "run.sh"), *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_ci_script_leaves_files_and_the_exit_code(healthy_run, tmp_path):
    done = in_ci(tmp_path, "--replay", healthy_run)
    assert 0 == done.returncode, done.stdout
    assert {"junit.xml", "report.html", "verdicts.json", "metrics.prom"} == {path.name for path in (tmp_path / "fleetcheck-run").iterdir()}
    assert not any(path.is_symlink() for path in (tmp_path / "fleetcheck-run").iterdir())


def test_where_nothing_ran_ci_collects_nothing_old(tmp_path):
    (tmp_path / "fleetcheck-run").mkdir()
    (tmp_path / "reports" / "old").mkdir(parents=True)
    (tmp_path / "reports" / "latest").symlink_to("old")
    (tmp_path / "reports" / "old" / "junit.xml").write_text("<testsuites/>")
    assert 4 == in_ci(tmp_path, "--inventory", "nowhere.yaml").returncode
    assert not (tmp_path / "fleetcheck-run").exists()


def test_gitlab_reads_junit_and_knows_what_is_a_warning():
    job = yaml.safe_load((EXAMPLES / "ci" / ".gitlab-ci.yml").read_text())["fleetcheck"]
    assert "fleetcheck-run/junit*.xml" == job["artifacts"]["reports"]["junit"]
    assert ({"exit_codes": [6]}, "always") == (job["allow_failure"], job["artifacts"]["when"])


def test_jenkins_reads_junit_and_its_braces_close():
    text = (EXAMPLES / "ci" / "Jenkinsfile").read_text()
    assert "junit testResults: 'fleetcheck-run/junit*.xml'" in text
    assert text.count("{") == text.count("}") and text.count("(") == text.count(")")


def test_every_exit_code_is_documented():
    page = (ROOT / "docs" / "ci.md").read_text()
    assert [0, 1, 2, 3, 4, 6] == [int(code) for code in re.findall(r"^\| (\d) \| ", page, re.MULTILINE)]
