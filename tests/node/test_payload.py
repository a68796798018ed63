"""The archive that travels to the node: reproducible, Python 3.6, standard library and pynvml only."""

from __future__ import annotations

import ast
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from nodecode import pythons

from fleetcheck import payload

SOURCES = sorted(payload.NODE.rglob("*.py"))
NAMES = [path.relative_to(payload.NODE).as_posix() for path in SOURCES]
ALLOWED = sys.stdlib_module_names | {"pynvml", "fleetcheck"}

NEWER = {
    "removeprefix", "removesuffix", "isascii", "fromisoformat", "time_ns", "monotonic_ns", "prod", "isqrt", "get_running_loop",
    "capture_output", "missing_ok", "dirs_exist_ok", "waitstatus_to_exitcode", "pidfd_open", "zoneinfo", "tomllib",
    "dataclass", "dataclasses", "contextvars", "cached_property", "cache", "TypedDict", "Literal", "Final", "Protocol",
}
"""Names of the standard library after 3.6 that node code might reach for."""


def test_two_builds_are_the_same_bytes():
    first = payload.payload()
    payload.payload.cache_clear()
    assert hashlib.sha256(first).digest() == hashlib.sha256(payload.payload()).digest()


def test_it_holds_the_node_code_and_pynvml_and_nothing_else():
    with zipfile.ZipFile(io.BytesIO(payload.payload())) as archive:
        names = archive.namelist()
        assert sorted(["fleetcheck/__init__.py", "pynvml.py", *(f"fleetcheck/node/{name}" for name in NAMES)]) == names
        assert b"import" not in archive.read("fleetcheck/__init__.py")
        assert {(1980, 1, 1, 0, 0, 0)} == {entry.date_time for entry in archive.infolist()}


def test_it_stays_small():
    """It crosses the wire once per node and probe."""
    assert len(payload.payload_for(["system", "gpu"])) < 160_000
    assert len(payload.payload_for(["load_start"])) < 300_000


def test_collectors_that_read_do_without_the_code_that_exercises():
    reading, loading, ranks = (names_for(name) for name in ("system", "load_poll", "rank_run"))
    assert not [name for name in reading if set(name.split("/")) & {"loads", "supervisor", "ranks"}]
    assert {"loads", "supervisor"} == {name.split("/")[2] for name in set(loading) - set(reading)}
    assert "fleetcheck/node/ranks/main.py" in ranks and not [name for name in ranks if "/loads/" in name]
    assert {"fleetcheck/node/collectors/load_start.py", "fleetcheck/node/collectors/rank_run.py"} <= set(reading)


def names_for(collector):
    with zipfile.ZipFile(io.BytesIO(payload.payload_for([collector]))) as archive:
        return archive.namelist()


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_node_code_is_python_3_6(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {keyword.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords}
    used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set() == used & NEWER
    assert not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_node_code_imports_the_standard_library_and_itself(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.partition(".")[0])
            assert not node.module.startswith("fleetcheck") or node.module.startswith("fleetcheck.node")
    assert set() == imported - ALLOWED - ({"torch"} if {"loads", "ranks"} & set(path.parts) else set())


def test_the_controller_ships_node_code_and_never_imports_it():
    controller = [path for path in payload.NODE.parent.rglob("*.py") if payload.NODE not in path.parents]
    offenders = [path.name for path in controller for node in ast.walk(ast.parse(path.read_text()))
                 if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fleetcheck.node."))
                 or (isinstance(node, ast.Import) and any(alias.name.startswith("fleetcheck.node.") for alias in node.names))]
    assert [] == offenders


@pytest.mark.parametrize("python", pythons())
def test_every_module_imports_under_each_python(python, tmp_path):
    (tmp_path / "code.zip").write_bytes(payload.payload())
    modules = ["fleetcheck.node." + name[:-3].replace("/", ".").removesuffix(".__init__").removesuffix("__init__") for name in NAMES]
    modules = [name.rstrip(".") for name in modules if ".loads." not in name]
    script = f"import sys; sys.path.insert(0, {str(tmp_path / 'code.zip')!r}); import " + ", ".join(modules)
    done = subprocess.run([python, "-ISB", "-c", script], capture_output=True, text=True, check=False)
    assert "" == done.stderr


def test_it_is_built_from_an_installed_wheel_too(tmp_path):
    """Nothing but the package's own folder and pynvml is needed."""
    import shutil

    shutil.copytree(payload.NODE.parent, tmp_path / "fleetcheck", ignore=shutil.ignore_patterns("__pycache__"))
    script = "from fleetcheck.payload import payload; import hashlib; print(hashlib.sha256(payload()).hexdigest())"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})
    assert hashlib.sha256(payload.payload()).hexdigest() == done.stdout.strip()
    assert not list(Path(tmp_path).rglob("*.zip"))
