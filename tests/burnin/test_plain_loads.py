"""The loads that need no torch: cores, memory, disk and the vendor's diagnostic, run as the supervisor runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hostmachine import Machine
from loadnode import PATH, LoadNode, archive_with, base_below, processes_with

from fleetcheck.facts import dcgm
from fleetcheck.node.supervisor.loadprocess import LoadProcess
from fleetcheck.nodes import Node
from fleetcheck.payload import payload

DATA = Path(__file__).parents[1] / "data"
MIB = 1 << 20
COMMAND = [sys.executable, "-IBS", "-c", "import sys; sys.path.insert(0, sys.argv[1]); from fleetcheck.node.loads.main import main; main()"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "node.zip"
    path.write_bytes(payload())
    return path


@pytest.fixture
def run(archive, tmp_path):
    """Runs a load to its end: (result, metric lines); faults as on a simulated node."""
    def load(name, seconds=1.0, settings=None, scratch="", faults=(), **environment):
        request = {"load": name, "seconds": seconds, "ends_in": seconds + 30, "device": "cpu", "devices": [0], "uuids": [""],
                   "settings": settings or {}, "scratch": str(scratch), "seed": 3}
        environment |= {"FLEETCHECK_LOAD_FAULTS": json.dumps(list(faults))}
        done = subprocess.run([*COMMAND, str(archive)], input=json.dumps(request), capture_output=True, text=True, timeout=100,
                              env={**os.environ, **environment})
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, done.stderr
        return lines[-1]["result"], lines[:-1]

    return load


def only(result):
    device, = result["devices"]
    return device


def test_every_core_is_loaded_and_its_results_are_known(run):
    result, lines = run("cpu", seconds=2.5)
    cpu = only(result)
    assert result["ok"] and "1 of 1" == result["coverage"] and "" == cpu["error"]
    assert 0 == cpu["mismatch_count"] and cpu["metrics"]["verified_rounds"] >= 2 and cpu["metrics"]["rounds_s"] > 0
    assert {str(core) for core in os.sched_getaffinity(0)} == set(cpu["cores"])
    assert {"rounds_s", "processor_share"} == {line["metric"] for line in lines} and 0 < cpu["metrics"]["processor_share"] <= 1.05


def test_a_core_that_computes_wrongly_is_named(run):
    core = sorted(os.sched_getaffinity(0))[-1]
    result, _ = run("cpu", faults=[{"load": "cpu", "device": core, "flip": 2}])
    cpu = only(result)
    assert 1 == cpu["mismatch_count"]
    wrong, = cpu["mismatches"]
    assert (f"core {core}", "integers") == (wrong["where"], wrong["pattern"]) and wrong["expected"] != wrong["got"]


def test_a_core_whose_process_dies_is_named_and_the_others_go_on(run):
    core = sorted(os.sched_getaffinity(0))[0]
    result, _ = run("cpu", seconds=2, faults=[{"load": "cpu", "device": core, "die": 0.2}])
    assert not result["ok"] and f"core {core}: its process ended without a word (signal 9)" in result["error"] + only(result)["error"]
    assert only(result)["metrics"]["verified_rounds"] >= 1


def test_a_slow_core_is_slower(run):
    core = sorted(os.sched_getaffinity(0))[-1]
    result, _ = run("cpu", seconds=2, faults=[{"load": "cpu", "device": core, "slow": 20}])
    rates = only(result)["cores"]
    assert rates[str(core)] < min(rate for other, rate in rates.items() if other != str(core)) / 2


def test_memory_keeps_what_was_written(run):
    result, _ = run("dram", settings={"bytes": 8 * MIB, "workers": 2})
    memory = only(result)
    assert result["ok"] and 0 == memory["mismatch_count"] and 8 * MIB == memory["metrics"]["tested_bytes"]
    assert memory["metrics"]["verified_bytes"] >= 6 * 8 * MIB and memory["metrics"]["dram_gb_s"] > 0
    assert 0 < memory["metrics"]["tested_fraction"] < 0.5


@pytest.mark.parametrize(("fault", "bit"), [({"stuck": 3 * MIB + 5}, 0x10 << 40), ({"flip": 1}, 1)])
def test_a_bit_that_does_not_hold_is_told_with_its_place(run, fault, bit):
    result, _ = run("dram", settings={"bytes": 8 * MIB, "workers": 2}, faults=[{"load": "dram", **fault}])
    memory = only(result)
    assert memory["mismatch_count"] >= 1
    for wrong in memory["mismatches"]:
        assert bit == int(wrong["expected"], 16) ^ int(wrong["got"], 16)
        assert wrong.get("address") or wrong["where"].startswith("offset 0x")
    patterns = {wrong["pattern"] for wrong in memory["mismatches"]}
    assert {"zeros"} == patterns if "flip" in fault else {"zeros", "checkerboard inverted"} <= patterns
    physical = [wrong["address"] for wrong in memory["mismatches"] if "address" in wrong]  # told to root, where it has CAP_SYS_ADMIN
    assert all(address % 4096 == 0 for address in physical)


@pytest.mark.parametrize(("settings", "message"), [
    ({"fraction": 0.99}, "settings.fraction of dram is 0.99; expected a number above 0, at most 0.9"),
    ({"bytes": "all"}, "settings.bytes of dram is 'all'; expected a whole number"),
])
def test_a_share_that_is_none_is_refused(run, settings, message):
    assert message in run("dram", settings=settings)[0]["error"]


def test_a_simulated_node_takes_little_of_the_machine_it_shares(run, tmp_path):
    result, _ = run("dram", FLEETCHECK_ROOT=str(tmp_path))
    assert 64 * MIB == only(result)["metrics"]["tested_bytes"]


def test_a_disk_gives_back_what_was_written_and_keeps_nothing(run, tmp_path):
    result, _ = run("disk", settings={"bytes": 12 * MIB}, scratch=tmp_path)
    disk = only(result)
    assert result["ok"] and f"disk {tmp_path}" == disk["name"] and 0 == disk["mismatch_count"]
    assert disk["metrics"]["disk_write_mb_s"] > 0 and disk["metrics"]["disk_read_mb_s"] > 0
    assert 12 * MIB == disk["metrics"]["tested_bytes"] <= disk["metrics"]["verified_bytes"] and 0 <= disk["metrics"]["uncached_fraction"] <= 1
    assert [] == list(tmp_path.iterdir())


def test_a_disk_that_changes_what_was_written_is_found(run, tmp_path):
    result, _ = run("disk", settings={"bytes": 8 * MIB}, scratch=tmp_path, faults=[{"load": "disk", "corrupt": True}])
    wrong = only(result)["mismatches"][0]
    assert "offset 1234 of the file" == wrong["where"]
    assert 4 == int(wrong["expected"][:2], 16) ^ int(wrong["got"][:2], 16)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("make", "message"), [
    (lambda path: "", "disk needs a folder to write to: scratch: in the inventory"),
    (lambda path: path / "nosuch", "no such file or directory"),
    (lambda path: linked(path), "is a link; declare where it leads"),
    (lambda path: filed(path), "not a directory"),
    (lambda path: Path("/dev/null"), "not a directory"),
], ids=["none", "missing", "link", "file", "device"])
def test_a_place_that_is_no_plain_folder_is_refused(run, tmp_path, make, message):
    before = sorted(tmp_path.iterdir())
    result, _ = run("disk", scratch=make(tmp_path))
    assert not result["ok"] and message in result["error"]
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".fleetcheck")] == before


def linked(path):
    (path / "real").mkdir()
    (path / "link").symlink_to("real")
    return path / "link"


def filed(path):
    (path / "file").touch()
    return path / "file"


def test_a_disk_load_that_is_killed_leaves_no_file(archive, tmp_path):
    request = {"load": "disk", "seconds": 60, "device": "cpu", "devices": [0], "settings": {"bytes": 4 * MIB}, "scratch": str(tmp_path)}
    load = subprocess.Popen([*COMMAND, str(archive)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    load.stdin.write(json.dumps(request).encode())
    load.stdin.close()
    assert load.stdout.readline()
    load.send_signal(signal.SIGKILL)
    load.wait()
    load.stdout.close()
    assert [] == list(tmp_path.iterdir())


def test_at_most_a_tenth_of_the_free_space_is_taken(run, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", tmp_path]).returncode:
        pytest.skip("mounts need root")
    try:
        result, _ = run("disk", scratch=tmp_path)
        assert 4 * MIB == only(result)["metrics"]["tested_bytes"]
        (tmp_path / "full").write_bytes(bytes(50 * MIB))
        assert "too little for a block" in run("disk", scratch=tmp_path)[0]["error"]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.fixture
def simulated(tmp_path):
    return Machine(tmp_path / "root")


@pytest.mark.parametrize("schema", [3, 4])
def test_the_diagnostic_hands_over_what_it_printed(run, simulated, schema):
    result_of = {3: {"gpu_ids": "0,1", "status": "PASS"}, 4: {"entity_group": "GPU", "entity_id": 0, "status": "Fail", "warnings": [{"warning": "GPU 0 bad"}]}}
    tests = [{"category": "Hardware", "tests": [{"name": "memory", "results": [result_of[schema]]}]}]
    simulated.program("dcgmi", json.dumps({"DCGM Diagnostic": {"test_categories": tests}}), status=0 if schema == 3 else 226)
    result, _ = run("dcgm", FLEETCHECK_ROOT=str(simulated.root))
    assert result["ok"] and 1 == result["level"]
    judged = dcgm.judge(dcgm.parse(result["output"]))
    assert ({0: "passed", 1: "passed"} if schema == 3 else {0: "failed"}) == {gpu: each.outcome for gpu, each in judged.items()}


def test_without_the_program_or_its_words_nothing_is_measured(run, simulated):
    assert "not installed: dcgmi" == run("dcgm", FLEETCHECK_ROOT=str(simulated.root))[0]["error"]
    simulated.program("dcgmi", stderr="Error: unable to establish a connection to the specified host: localhost", status=1)
    result, _ = run("dcgm", FLEETCHECK_ROOT=str(simulated.root))
    assert not result["ok"] and "ended with 1 and printed nothing: Error: unable to establish a connection" in result["error"]


def test_the_supervisor_runs_them_all_and_leaves_nothing(tmp_path, monkeypatch, simulated):
    root = simulated.root
    (root / "scratch").mkdir()
    monkeypatch.setenv("FLEETCHECK_ROOT", str(root))
    monkeypatch.setenv("PATH", PATH)
    node = LoadNode(Node(name="n1", address="n1", profile="small", transport="local"), base_below(root), payload())
    try:
        entries = [{"load": "cpu", "seconds": 1}, {"load": "dram", "seconds": 6, "settings": {"bytes": 16 * MIB}},
                   {"load": "disk", "seconds": 1}, {"load": "dcgm", "seconds": 1}]
        node.start(*entries, scratch="/scratch", seconds=90)
        group = None
        if os.geteuid() == 0:
            node.until(lambda told: told["current"] == "dram" and any(window["load"] == "dram" and window["metrics"] for window in told["windows"]))
            group = node.file("cgroups.json")["cgroups"]
            members = [line.split()[0] for line in processes_with(str(node.base)) if "loads.main" in line]
            scores = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in members]
            assert scores and {"1000"} == set(scores)
            if group:
                assert set(members) <= set((Path(group[0]) / "cgroup.procs").read_text().split())
        told = node.ended()
        results = told["results"]
        assert {"cpu", "dram", "disk", "dcgm"} == set(results) and all(results[name]["ok"] for name in ("cpu", "dram", "disk"))
        assert not results["dcgm"]["ok"] and [] == list((root / "scratch").iterdir())
        assert not group or not Path(group[0]).exists()
    finally:
        node.close()
    assert [] == processes_with(str(root)) and not node.base.exists()


def test_a_load_that_takes_too_much_is_killed_and_says_so_and_others_run_on(monkeypatch, simulated):
    """By the kernel in its cgroup, where this machine lets one be made; elsewhere the load stands in for the kernel."""
    greedy = """
import os, time
TORCH = False
SCOPE = "node"
def memory_limit(settings): return 8 << 20
def run(request, tell):
    time.sleep(1)
    held = []
    while len(held) < 32:
        held.append(bytearray(b"x") * (16 << 20))
    os.kill(os.getpid(), 9)
"""
    monkeypatch.setenv("FLEETCHECK_ROOT", str(simulated.root))
    monkeypatch.setenv("PATH", PATH)
    node = LoadNode(Node(name="n1", address="n1", profile="small", transport="local"), base_below(simulated.root), archive_with({"greedy": greedy}))
    try:
        node.start({"load": "greedy", "seconds": 5}, {"load": "fake", "seconds": 1})
        node.until(lambda told: told["current"] == "greedy" or told["results"])
        held = bool(node.file("cgroups.json").get("cgroups"))
        told = node.ended()
        assert "killed by signal 9" in told["results"]["greedy"]["error"]
        limited = "its own memory limit, which tells nothing of the node" in told["results"]["greedy"]["error"]
        assert held <= limited and told["results"]["fake"]["ok"]  # the cgroup may be gone before it is looked for
        assert ["cut" if limited else "process"] == [event["kind"] for event in told["events"] if event["text"].startswith("greedy")]
    finally:
        node.close()


def test_the_kernels_counts_tell_its_own_limit_from_want_of_memory_and_from_a_kill(tmp_path):
    """A folder stands in for the cgroup: a process is only killed, killed and counted there, killed at the cgroup's limit."""
    count = tmp_path / "memory.events"
    count.write_text("low 0\noom_kill 3\n")
    program = "import os, sys; sys.stdin.read(); open(sys.argv[1], 'w').write(sys.argv[2]) if sys.argv[2:] else None; os.kill(os.getpid(), 9)"

    def ended(*words):
        started = LoadProcess([sys.executable, "-c", program, *words], {"ends_in": 20}, [{"index": 0, "uuid": ""}], {}, str(tmp_path), print)
        started.popen.wait(20)
        result = started.end()
        return result["error"], result["devices"][0]["cut"]

    error, cut = ended()
    assert "killed by signal 9" in error and "want of memory" not in error and not cut
    error, cut = ended(str(count), "oom 0\noom_kill 4\n")
    assert "killed by signal 9" in error and "by the kernel for want of memory" in error and "limit" not in error and not cut
    error, cut = ended(str(count), "oom 1\noom_kill 5\n")
    assert error.startswith("it came to its own memory limit, which tells nothing of the node") and "killed by signal 9" in error and cut


def test_a_worker_that_the_own_limit_ended_excuses_the_load_but_not_what_it_found(tmp_path):
    """The load itself lives on and tells a result: its error is ours, a wrong word that it met before is the node's."""
    (tmp_path / "memory.oom_control").write_text("oom_kill 0\n")
    (tmp_path / "memory.failcnt").write_text("3\n")
    result = {"ok": False, "error": "", "coverage": "0 of 1", "seconds": 2.0, "devices": [
        {"index": 0, "error": "worker 1: its process ended without a word (signal 9)", "mismatch_count": 1, "mismatches": [{"where": "x"}]}]}
    program = "import os, sys; sys.stdin.read(); open(sys.argv[1], 'w').write('oom_kill 1'); print(sys.argv[2])"
    told = LoadProcess([sys.executable, "-c", program, str(tmp_path / "memory.oom_control"), json.dumps({"result": result})], {"ends_in": 20},
                       [{"index": 0, "uuid": ""}], {}, str(tmp_path), print)
    told.popen.wait(20)
    device = only(told.end())
    assert device["cut"] and "its own memory limit" in device["error"] and "signal 9" in device["error"] and 1 == device["mismatch_count"]
    assert str(os.getpid()) not in (tmp_path / "cgroup.procs").read_text()
