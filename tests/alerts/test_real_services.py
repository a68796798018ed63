"""A degraded node's alert arrives, and a healed one resolves: through Alertmanager itself, and through Prometheus' rules on metrics.prom."""

import datetime
import io
import json
import re

import pytest
from monitoring import EXAMPLES, MISSING, SAYS, alertmanager, monitoring, until

from fleetcheck.alerts import command
from fleetcheck.report import textfile
from fleetcheck.report.key_measurements import UNDER_LOAD

pytestmark = pytest.mark.skipif(bool(MISSING), reason=SAYS)
DASHBOARD = json.loads((EXAMPLES / "prometheus" / "grafana-dashboard.json").read_text())


def notified(receiver, status, node, name="FleetcheckNodeDegraded"):
    """Whether a notification has come that says so."""
    return [alert for body in receiver.bodies if "groupKey" in body for alert in body["alerts"]
            if (status, node, name) == (alert["status"], alert["labels"].get("node"), alert["labels"]["alertname"])]


def tell(site, address):
    screen = io.StringIO()
    inventory = site.inventory(f"alertmanager: {{urls: '{address}'}}")
    return command.run(inventory, site.folder / "reports", True, screen, datetime.datetime.now(datetime.UTC)), screen.getvalue()


def test_alertmanager_is_told_and_notifies(site, receiver, tmp_path):
    with alertmanager(tmp_path, receiver.url) as address:
        site.night(1, hot=["n03"])
        code, said = tell(site, address)
        assert 0 == code, said
        [alert, *_] = until("the alert arrives", lambda: notified(receiver, "firing", "n03"))
        assert ("ticket", "n03 degraded: GPU 1: 95 °C") == (alert["labels"]["severity"], alert["annotations"]["summary"])
        site.night(2)
        assert 0 == tell(site, address)[0]
        [ended, *_] = until("it resolves", lambda: notified(receiver, "resolved", "n03"))
        assert "certified in 20261102-031500-quaa" == ended["annotations"]["resolved"]


def test_prometheus_rules_on_the_metrics_notify(site, receiver, tmp_path):
    with monitoring(tmp_path, receiver.url) as services:
        publish(site.night(1, hot=["n03"]), services)
        [alert, *_] = until("the alert arrives", lambda: notified(receiver, "firing", "n03"))
        assert ("ticket", "n03 degraded: isolate") == (alert["labels"]["severity"], alert["annotations"]["summary"])
        assert [] == broken_queries(services)
        publish(site.night(2), services)
        until("it resolves", lambda: notified(receiver, "resolved", "n03"))


def test_prometheus_rules_page_once_for_a_silent_rack(site, receiver, tmp_path):
    with monitoring(tmp_path, receiver.url) as services:
        publish(site.night(1, silent=["n09", "n10", "n11", "n12"], hot=["n03"], racks=True), services)
        until("the page arrives", lambda: notified(receiver, "firing", None, "FleetcheckCommonCause"))
        until("the ticket of another node arrives", lambda: notified(receiver, "firing", "n03"))
        assert [] == notified(receiver, "firing", "n09", "FleetcheckNodeUnreachable")
        publish(site.night(2, silent=["n09"], racks=True), services)
        until("a node that stays silent is a ticket", lambda: notified(receiver, "firing", "n09", "FleetcheckNodeUnreachable"))


def publish(run, services):
    measured = {"n03": dict.fromkeys(UNDER_LOAD.values(), 1.0)}
    textfile.publish(services.textfiles, run, measured, floor=3)


def broken_queries(services):
    """Queries of the dashboard that Prometheus refuses."""
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    answers = [(query, services.asks("/api/v1/query", query=re.sub(r"\$fleet", "made", query.replace("$tier", "quick")))) for query in queries]
    return [(query, answer) for query, answer in answers if answer["status"] != "success"]
