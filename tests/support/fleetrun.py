"""Starting pytest as a user does, in a process of its own, and reading what the run left."""

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fleetcheck.checkbook import shipped_checks

CHECKS = shipped_checks()
ROOT = CHECKS.parent


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str
    reports: Path

    @property
    def run(self) -> Path:
        """The run that ``latest`` names."""
        return (self.reports / "latest").resolve()

    @property
    def verdicts(self):
        return json.loads((self.run / "verdicts.json").read_text())

    def lines(self, name):
        return read_lines(self.run / f"{name}.jsonl")

    def outcomes(self):
        """{check name[node]: outcome}."""
        return {f"{each['check']}[{each['node']}]": each["outcome"] for each in self.lines("results")}


def read_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def clean_environment(**extra):
    """This environment without what an outer pytest put there."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHONWARNINGS"))}
    return {**kept, **extra}


def command(*argv, python=()):
    return [sys.executable, *python, "-m", "pytest", *map(str, argv)]


def run_pytest(*argv, cwd, python=(), timeout=120, reports=None, file_bytes=None, **environment) -> Outcome:
    """``pytest ARGV`` in this folder; its output has no colours. file_bytes: how long a file may grow, as on a full disk."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))) if file_bytes else None
    done = subprocess.run(command(*argv, python=python), cwd=cwd, env=clean_environment(**environment), timeout=timeout,
                          preexec_fn=limit, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return Outcome(done.returncode, done.stdout, Path(reports or Path(cwd) / "reports"))


def start(*argv, cwd, output, **environment) -> subprocess.Popen:
    """The same, left running in a process group of its own; output: the file that takes what it prints."""
    with Path(output).open("wb") as stream:
        return subprocess.Popen(command(*argv), cwd=cwd, env=clean_environment(**environment), stdin=subprocess.DEVNULL,
                                stdout=stream, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=attentive)


def attentive() -> None:
    """Ctrl-C and a lost terminal count, though whoever runs the tests was started in the background, where they are ignored."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
