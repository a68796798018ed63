"""What people saw on real nodes and asked about, each as a simulated node: exactly the right checks speak, in the right words.

A node of ``nodes/*.yaml``: ``about`` and ``source``; ``sandbox``: what lies behind it; ``verdict`` and, where it matters, ``action``;
``findings``: check → severity, all there are; ``unmeasured``: checks, all there are, or ``all-gpu`` (what only a GPU could tell) or
``everything``, or ``naming``: words of which the reason of each holds one; ``passed`` and ``skipped``: checks
among others; ``parts`` and ``words``: what the findings name.
"""

from __future__ import annotations

import json

import caserun
import pytest

NODES = caserun.described()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return caserun.run(tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_judged_as_its_case_asks(run, name):
    expected, verdict = NODES[name], run.verdicts["nodes"][name]
    findings = {check: each["severity"] for check, each in run.ended(name, "failed").items()}

    assert (expected.get("findings", {}), expected["verdict"]) == (findings, verdict["verdict"]), verdict
    assert expected.get("action", verdict["action"]) == verdict["action"]
    assert verdict["certified"] is False or not expected.get("findings")


@pytest.mark.parametrize("name", NODES)
def test_what_could_not_be_told_is_not_measured_and_nothing_else(run, name):
    expected, unmeasured = NODES[name].get("unmeasured", []), set(run.ended(name, "error"))

    if expected == "everything":
        assert not run.ended(name, "passed") and not run.ended(name, "failed") and unmeasured
    elif expected == "all-gpu":
        assert {"test_all_gpus_visible", "test_no_gpu_is_lost"} <= unmeasured and not run.ended(name, "passed").keys() & unmeasured
    elif isinstance(expected, dict):
        messages = [each["message"] for each in run.ended(name, "error").values()]
        assert messages and [] == [message for message in messages if not any(word in message for word in expected["naming"])]
    else:
        assert set(expected) == unmeasured, {check: each["message"] for check, each in run.ended(name, "error").items()}


@pytest.mark.parametrize("name", [name for name, entry in NODES.items() if {"passed", "skipped", "parts", "words"} & set(entry)])
def test_the_right_part_is_named_and_the_look_alike_passes(run, name):
    expected, said = NODES[name], json.dumps(list(run.ended(name, "failed").values()), ensure_ascii=False)

    assert set(expected.get("passed", [])) <= set(run.ended(name, "passed"))
    assert set(expected.get("skipped", [])) <= set(run.ended(name, "skipped"))
    assert [] == [word for word in [*expected.get("parts", []), *expected.get("words", [])] if word not in said]


def test_no_node_that_told_nothing_is_isolated(run):
    isolated = {name for name, node in run.verdicts["nodes"].items() if node["verdict"] == "failed"}
    assert {name for name, entry in NODES.items() if entry["verdict"] == "failed"} == isolated
    assert [] == [each for each in run.verdicts["fleet_findings"] if each["failed"]]
