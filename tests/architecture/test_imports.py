"""Who may import whom: the rules of docs/architecture.md, read from the source."""

import ast
import doctest
import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import fleetcheck
from fleetcheck.checkbook import shipped_checks

PACKAGE = Path(fleetcheck.__file__).parent
CHECKS = shipped_checks()
PURE = ("verdict", "verdict_rules", "common_cause", "reconcile", "exitcode", "plan", "outcome", "bound", "view", "absent",
        "outliers", "consistency", "exchanged", "measured", "installed", "history_queries",
        *(f"collective/{name}" for name in ("bench", "ranks", "figures", "reading_ranks", "members", "talk", "way", "aside", "curve", "nccl_tests")),
        "standing", "report/prometheus", "report/key_measurements", *(f"alerts/{name}" for name in ("alert", "due", "healing", "payload")),
        *(f"imports/{name}" for name in ("draft", "writing", "slurm_records", "ansible_variables")),
        *(f"isolation/{name}" for name in ("act", "budgets", "guards", "isolations", "mark", "page", "proof", "releases", "standing", "terms", "wish")),
        *(f"acceptance/{name}" for name in ("standing", "restart", "hours", "limits")),
        *(f"collective/{name}" for name in ("campaign/course", "campaign/ran", "trial", "topology", "rounds", "slow", "observation", "ledger", "switches", "plane", "wide", "merge",
                                            "localise", "suspects", "widening", "bisection", "finding", "need")))
WORLD = {"os", "subprocess", "socket", "shutil", "pathlib", "io", "tempfile", "threading", "urllib", "http"}


def imported(path):
    """Every module a file imports, by its full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def offenders(files, forbidden):
    return sorted(f"{path.relative_to(path.parents[2])}: {name}" for path in files for name in set(imported(path)) if forbidden(name))


def sources(*folders):
    return [path for folder in folders for path in folder.rglob("*.py")]


def top(name):
    return name.partition(".")[0]


def is_node_code(name):
    return name == "fleetcheck.node" or name.startswith("fleetcheck.node.")


def test_checks_import_pytest_and_fleetcheck_only():
    assert [] == offenders(sources(CHECKS), lambda name: top(name) not in {"pytest", "fleetcheck", "__future__", "collections"})


def test_checks_never_touch_transports_or_the_sandbox():
    closed = ("fleetcheck.transport", "fleetcheck.exchange", "fleetcheck.sandbox", "fleetcheck.node", "fleetcheck.plugin")
    assert [] == offenders(sources(CHECKS), lambda name: name.startswith(closed) and not name.startswith("fleetcheck.nodes"))


def test_node_code_imports_the_standard_library_pynvml_and_itself():
    ours = {*sys.stdlib_module_names, "pynvml", "torch"}
    assert [] == offenders(sources(PACKAGE / "node"), lambda name: top(name) not in ours and not is_node_code(name) and name != "fleetcheck")


def test_torch_is_imported_by_loads_and_ranks_only():
    others = [path for path in sources(PACKAGE / "node") if not {"loads", "ranks"} & set(path.parts)]
    assert [] == offenders(others, lambda name: top(name) == "torch")


def test_the_controller_ships_node_code_and_never_imports_it():
    controller = [path for path in sources(PACKAGE) if PACKAGE / "node" not in path.parents]
    assert [] == offenders(controller, is_node_code)


def test_nobody_imports_the_plugin():
    assert [] == offenders(sources(PACKAGE, CHECKS), lambda name: name == "fleetcheck.plugin")


@pytest.mark.parametrize("name", PURE)
def test_judging_does_no_input_or_output(name):
    assert [] == offenders([PACKAGE / f"{name}.py"], lambda module: top(module) in WORLD)


def modules():
    found = pkgutil.walk_packages([str(PACKAGE)], "fleetcheck.")
    return [each.name for each in found if not each.name.startswith("fleetcheck.node") and not each.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_hold(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert 0 == failed
