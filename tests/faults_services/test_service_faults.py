"""Faults of services and software, each on a node of its own of one simulated fleet, from SSH to verdict."""

from __future__ import annotations

import copy
import functools
import socket
from pathlib import Path

import checking
import pytest
import servicefaults as faults
import yaml
from fleetrun import CHECKS, run_pytest
from tracked import tracked

from fleetcheck.inventory import load

FILES = ("services", "kernel_settings", "container", "scheduler", "monitoring", "security", "software_stack", "storage_probe", "reachability")
ALTERNATIVES = {("test_host_keys_are_private", "security", "host_keys")}
"""(check, collector, key): how many keys there are is nobody's promise."""
READ = {"source": "test", "date": "2026-11-30"}
WELL = ("site-gpu", "site", "tray", "site", "site")
BY_NODE_CODE = {"test_endpoints_answer", "test_scratch_takes_a_file", "test_scratch_is_quick", "test_scratch_does_not_hang"}
"""No program answers these: the node code asks itself."""
BY_SYSTEMCTL = {
    "test_services_run", "test_no_unit_has_failed", "test_jobs_may_lock_memory", "test_jobs_may_open_files", "test_fabric_manager_runs",
    "test_container_runtimes_answer", "test_containers_can_have_gpus", "test_scheduler_sees_the_node_alive", "test_no_prolog_or_epilog_failed",
    "test_no_drain_is_unexplained",
    "test_scheduler_counts_all_gpus", "test_exporters_answer", "test_exporters_are_fresh", "test_exporters_see_all_gpus", "test_xid_gauges_are_clear"}
SIGHTED = {  # blind node → what it still tells
    "no-programs": BY_NODE_CODE | {"test_services_run", "test_no_unit_has_failed", "test_jobs_may_lock_memory", "test_jobs_may_open_files", "test_fabric_manager_runs"},
    "no-words": BY_NODE_CODE | {"test_command_line_has_its_words", "test_command_line_has_no_refused_word", "test_login_environment_slows_no_collectives",
                                "test_package_repositories_are_the_sites"}}


def choice(*allowed):
    return {"allowed": list(allowed), **READ}


def profiles(port, closed):
    """name → what it says: a host, a GPU node, a tray; and the same with one expectation that a healthy node does not meet."""
    site = {
        "services": {"ignored_failed": choice("snap.*")},
        "kernel": {"sysctls": {"kernel.numa_balancing": {"equals": 0, "unit": "", **READ}}, "command_line": choice("iommu=pt"), "refused_words": choice("pci=noaer")},
        "security": {"ports": choice("22", "5555", "6666", "6818", "9100", "9400"), "users": choice("ops")},
        "software": {"torch": choice("2.8.0"), "cuda": choice("12.8"), "nccl": choice("2.27.3"), "plugin": choice("libnccl-net.so.0.0.0"),
                     "repositories": choice("http://mirror.fleet.example/ubuntu/")},
        "reach": {"default_route": True, "names": choice("head-01"), "endpoints": [{"name": "store", "host": "127.0.0.1", "port": port, "mtu_bytes": 9000}]},
    }
    hasty = {name: {"limits": {f"{name}_seconds": {"high": 1e-9, "unit": "s", **READ}}} for name in ("scratch", "torch_import")}
    return {
        "site": {"extends": "cpu-host", **site}, "site-gpu": {"extends": "h100-sxm5-8", **site}, "tray": {"extends": "gb200-nvl72-tray"},
        "closed": {"extends": "site", "reach": {"endpoints": [{"name": "store", "host": "127.0.0.1", "port": closed}]}},
        "hasty": {"extends": "site", **hasty["scratch"]}, "hasty-gpu": {"extends": "site-gpu", **hasty["torch_import"]},
    }


def fleet():
    """Node → its profile and what is injected into it."""
    found = {f"fault-{number:02d}": (profile, injected) for number, (profile, injected, *_) in enumerate(faults.FAULTS.values())}
    found |= {f"alike-{name}": ("site-gpu" if "log" in name or "mismatch" in name else "site", injected) for name, injected in faults.LOOKALIKES.items()}
    found |= {f"blind-{name}": ("site-gpu", injected) for name, injected in faults.BLIND.items()}
    return found | {f"well-{number}": (profile, {}) for number, profile in enumerate(WELL)}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The one run."""
    folder = tmp_path_factory.mktemp("services")
    (folder / "profiles").mkdir()
    nodes = fleet()
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))   # taken, so that nobody else listens there, and silent
        for name, said in profiles(listening.getsockname()[1], bound.getsockname()[1]).items():
            (folder / "profiles" / f"{name}.yaml").write_text(yaml.safe_dump(said))
        (folder / "fleet.yaml").write_text(faults.counted_from_now({
            "fleet": "services", "defaults": {"scratch": "/tmp"},
            "nodes": {name: {"profile": profile, **({"torch_python": "torch-python"} if "gpu" in profile else {})} for name, (profile, _) in nodes.items()},
            "sandbox": {"nodes": {name: injected for name, (_, injected) in nodes.items()}}}))
        return run_pytest(*(CHECKS / "node" / f"test_{name}.py" for name in FILES), "--inventory", "fleet.yaml", "-n", "6", "-p", "no:cacheprovider",
                          cwd=folder, timeout=500)


@pytest.fixture(scope="module")
def results(ended):
    """{node: {check: result}}."""
    assert 1 == ended.status, ended.output
    found = {name: {} for name in fleet()}
    for line in ended.lines("results"):
        found[line["node"]][line["check"]] = line
    return found


def told(results, node, *wanted):
    return {check: result["message"] for check, result in results[node].items() if result["outcome"] in wanted}


@pytest.mark.parametrize("number", range(len(faults.FAULTS)), ids=list(faults.FAULTS))
def test_each_fault_fails_exactly_its_check_in_an_operators_words(results, number):
    check, (_, _, words, severity, action) = list(faults.FAULTS.items())[number]
    node = f"fault-{number:02d}"
    assert {check} == set(told(results, node, "failed")), told(results, node, "failed", "error")
    assert words in results[node][check]["message"]
    assert (severity, action) == (results[node][check]["severity"], results[node][check]["action"])


@pytest.mark.parametrize("name", faults.LOOKALIKES)
def test_look_alikes_are_silent(results, name):
    assert {} == told(results, f"alike-{name}", "failed", "error")


def test_healthy_nodes_raise_nothing_and_everything_is_measured(results):
    assert {} == {name: said for name in (f"well-{number}" for number in range(len(WELL))) if (said := told(results, name, "failed", "error"))}
    assert set(faults.FAULTS) - set(faults.TRAYS) - {"test_kubernetes_may_allot_all_gpus"} == set(told(results, "well-0", "passed"))


@pytest.mark.parametrize("name", faults.BLIND)
def test_what_was_not_told_never_passes(results, name):
    node = f"blind-{name}"
    assert {} == told(results, node, "failed")
    assert SIGHTED.get(name, set(told(results, "well-0", "passed")) - BY_SYSTEMCTL) == set(told(results, node, "passed"))


def test_no_fault_is_held_back_as_a_common_cause(ended, results):
    verdicts = ended.verdicts["nodes"]
    wanted = {f"fault-{number:02d}": [check] for number, check in enumerate(faults.FAULTS)}
    assert wanted == {name: [each["check"] for each in verdicts[name]["findings"]] for name in wanted}


def test_nothing_of_the_probe_stays_in_the_scratch_path(results):
    assert [] == sorted(Path("/tmp").glob(".fleetcheck-*"))


@pytest.fixture(scope="module")
def benches(results, ended):
    """node → the checks as the run made them, over what that node answered."""
    modules = tuple(checking.module(f"checks/node/test_{name}.py") for name in FILES)
    found = {}
    for line in ended.lines("evidence"):
        found.setdefault(line["node"], {}).update({name: answer["data"] for name, answer in line["answers"].items()})
    nodes = {each.name: (each, loaded.profiles[each.profile]) for loaded in [load(ended.run.parents[1] / "fleet.yaml")] for each in loaded.nodes}
    return {name: (checking.Bench(modules, checking.module("checks/node/conftest.py"), *nodes[name]), found[name]) for name in ("well-0", "well-2")}


@pytest.mark.parametrize("name", ["well-0", "well-2"])
def test_a_leaf_that_was_not_told_lets_no_check_pass_that_read_it(benches, name):
    """Every leaf of a healthy answer, and of a tray's, is taken away in turn, or said to be absent."""
    bench, answers = benches[name]
    passed_anyway = set()
    for check in bench.names():
        seen = set()
        if "passed" != bench.run(check, {collector: tracked(data, (collector,), seen) for collector, data in answers.items()}).outcome:
            continue
        own = {leaf for leaf in checking.leaves(answers) if leaf[0] != "gpu"}   # what builds the GPUs' view has tests of its own
        for leaf in sorted(own & seen, key=str):
            for value in (..., {"absent": "taken away"}):
                if bench.run(check, changed(answers, leaf, value)).outcome == "passed":
                    passed_anyway.add((check, leaf))
    assert ALTERNATIVES >= {(check, *leaf[:2]) for check, leaf in passed_anyway}


def changed(answers, leaf, value):
    """A copy with another leaf; ``...`` takes it away."""
    copied = {**answers, leaf[0]: copy.deepcopy(answers[leaf[0]])}
    holder = functools.reduce(lambda inside, step: inside[step], leaf[:-1], copied)
    if value is ... and isinstance(holder, dict):
        del holder[leaf[-1]]
    else:
        holder[leaf[-1]] = {"absent": "removed"} if value is ... else value
    return copied
