"""A judged run to report on, small or large, from records as a run leaves them."""

from types import SimpleNamespace

import pytest

from fleetcheck.inventory import Node
from fleetcheck.records import Failure, Planned, Result
from fleetcheck.verdict import RunInfo, judge

GPU = {"kind": "gpu", "label": "GPU 5", "slot": "0000:5D:00.0", "serial": "1654922003245"}
FATAL = {"outcome": "failed", "severity": "fatal", "action": "reboot"}
DEGRADED = {"outcome": "failed", "severity": "degraded", "action": "reset-gpu"}


def node(name, **settings):
    return Node(name=name, address="127.0.0.1", profile="h100", **settings)


def result(name, check="test_no_gpu_is_lost", outcome="passed", severity="fatal", action="reset-gpu", **more):
    return Result(run="20261130-031500-3f2a", stage="facts", check=check, component=more.pop("component", "gpu"),
                  node=name, outcome=outcome, severity=severity, action=action,
                  nodeid=more.pop("nodeid", f"checks/node/test_gpu.py::{check}[{name}]"), **more)


def plan(results):
    return [Planned(run="r", stage=each.stage, check=each.check, node=each.node, nodeid=each.nodeid,
                    component=each.component, severity=each.severity, action=each.action) for each in results]


def judged(results, nodes, failures=None, planned=None, **info):
    about = {"run": "20261130-031500-3f2a", "fleet": "rack12", "tier": "quick", "started": "2026-11-30T03:15:00+00:00"}
    return judge(RunInfo(**{**about, **info}), nodes, planned or plan(results), results, failures or {})


@pytest.fixture
def made():
    return SimpleNamespace(node=node, result=result, plan=plan, judged=judged, Failure=Failure, GPU=GPU, FATAL=FATAL,
                           DEGRADED=DEGRADED)
