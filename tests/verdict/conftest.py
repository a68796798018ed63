"""Builders of nodes, plans and results for the rules' tables."""

from types import SimpleNamespace

import pytest

from fleetcheck.inventory import Node
from fleetcheck.records import Failure, Planned, Result
from fleetcheck.verdict import RunInfo, judge


def node(name, **settings):
    return Node(name=name, address="127.0.0.1", profile="h100", **settings)


def result(name, check="test_ecc", outcome="passed", severity="fatal", action="reset-gpu", **more):
    return Result(run="r", stage="facts", check=check, component=more.pop("component", "gpu"), node=name, outcome=outcome, severity=severity,
                  action=action, nodeid=more.pop("nodeid", f"checks/node/test_gpu.py::{check}[{name}]"), **more)


def plan(results):
    return [Planned(run="r", stage=each.stage, check=each.check, node=each.node, nodeid=each.nodeid,
                    component=each.component, severity=each.severity, action=each.action) for each in results]


def info(**changes):
    return RunInfo(**{"run": "r", "fleet": "rack", "tier": "quick", "started": "2026-11-30T03:00:00+00:00", **changes})


def judged(results, nodes=None, failures=None, run=None, planned=None, **more):
    names = dict.fromkeys(each.node for each in results if each.node)
    return judge(run or info(), [node(name) for name in names] if nodes is None else nodes,
                 plan(results) if planned is None else planned, results, failures or {}, **more)


@pytest.fixture
def made():
    return SimpleNamespace(node=node, result=result, plan=plan, info=info, judged=judged, Failure=Failure)
