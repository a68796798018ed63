"""Prometheus, Alertmanager and node_exporter as they are, on free ports of loopback, ended with the test."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("prometheus", "prometheus-alertmanager", "prometheus-node-exporter")
MISSING = [name for name in PROGRAMS if not shutil.which(name)]
SAYS = f"{', '.join(MISSING)} not installed: apt install {' '.join(PROGRAMS)}"
PATIENCE = 90
EXAMPLES = Path(__file__).parents[2] / "examples"
ROUTES = """
route: {{receiver: here, group_by: [alertname, node], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}}
receivers:
  - name: here
    webhook_configs: [{{url: "{url}/notified", send_resolved: true}}]
"""
SCRAPED = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs: [{{job_name: controller, static_configs: [{{targets: ["127.0.0.1:{exporter}"]}}]}}]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["127.0.0.1:{manager}"]}}]}}]}}
"""


@dataclass(frozen=True)
class Monitoring:
    """Their addresses, and the directory of the textfile collector."""

    alertmanager: str
    prometheus: str
    textfiles: Path

    def asks(self, path, **query):
        """What an API answers."""
        with urllib.request.urlopen(f"{self.prometheus}{path}?{urllib.parse.urlencode(query)}", timeout=20) as answer:
            return json.load(answer)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(what, ask):
    """Ask until it is so; what: how a failure is said."""
    end = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < end, f"{what}: not within {PATIENCE} s"
        time.sleep(0.1)
    return found


def answers(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except OSError:
        return False


@contextmanager
def alertmanager(folder, told):
    """told: the address of whom it notifies."""
    port = free_port()
    (folder / "am.yml").write_text(ROUTES.format(url=told))
    with _running(folder, "prometheus-alertmanager", f"--config.file={folder}/am.yml", f"--storage.path={folder}/am",
                  f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", ready=f"http://127.0.0.1:{port}/-/ready"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def monitoring(folder, told):
    """All three, with the example rules."""
    ports, textfiles = (free_port(), free_port()), folder / "textfiles"
    textfiles.mkdir()
    with alertmanager(folder, told) as manager:
        (folder / "prometheus.yml").write_text(SCRAPED.format(rules=EXAMPLES / "prometheus" / "fleetcheck.rules.yml", exporter=ports[0],
                                                              manager=manager.rpartition(":")[2]))
        with (
            _running(folder, "prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{ports[0]}", "--collector.disable-defaults",
                     "--collector.textfile", f"--collector.textfile.directory={textfiles}", ready=f"http://127.0.0.1:{ports[0]}/metrics"),
            _running(folder, "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                     f"--web.listen-address=127.0.0.1:{ports[1]}", ready=f"http://127.0.0.1:{ports[1]}/-/ready"),
        ):
            yield Monitoring(manager, f"http://127.0.0.1:{ports[1]}", textfiles)


@contextmanager
def _running(folder, name, *words, ready):
    with (folder / f"{name}.log").open("w") as log:
        started = subprocess.Popen([name, *words], cwd=folder, stdout=log, stderr=log)
    try:
        until(f"{name} is ready", lambda: started.poll() is None and answers(ready))
        yield
    finally:
        started.terminate()
        started.wait(30)
