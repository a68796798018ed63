"""metrics.prom says what a run found, within bounds; for the textfile collector it says how the fleet stands."""

import dataclasses
import shutil
import socket
import subprocess

import madefleet
import pytest
from fleetrun import CHECKS, run_pytest
from prometheus_client.parser import text_string_to_metric_families

from fleetcheck import rejudge
from fleetcheck.report import prometheus, textfile
from fleetcheck.report.key_measurements import KEYS, KeyMeasurements
from fleetcheck.run import RunError

CHECK = ("test_no_gpu_is_too_hot", "checks/node/test_thermal.py", "thermal", "No GPU is too hot.")
LOSS = ("test_no_gpu_is_lost", "checks/node/test_gpu.py", "gpu", "No GPU is lost.")
HOT = {"gpu.thermal.temperature_celsius": {"GPU 0": 40, "GPU 1": 61}}


def night(folder, number, failed=(), names=("n1", "n2", "n3", "n4"), heat=61, nodes="", **about):
    """A judged run of LOSS and CHECK; failed: the nodes that lost a GPU."""
    run = f"202611{number:02}-031500-aaaa"
    results = [each for name in names for each in (
        madefleet.result(run, LOSS, name, "failed" if name in failed else "passed", "fatal", "reboot", message=f"{name}: lost" * (name in failed)),
        madefleet.result(run, CHECK, name, metrics={"gpu.thermal.temperature_celsius": {"GPU 0": 40, "GPU 1": heat}}))]
    return madefleet.record(folder, run, results, [], madefleet.inventory_text(4, racks=False), tier="quick", nodes=nodes,
                            began=f"2026-11-{number:02}T03:15:00+00:00", **about)


def samples(text):
    """{name{label,…}: value}, fleet and tier left out."""
    return {each.name + str({key: value for key, value in sorted(each.labels.items()) if key not in ("fleet", "tier")}): each.value
            for family in text_string_to_metric_families(text) for each in family.samples}


def published(run, folder):
    folder.mkdir(exist_ok=True)
    rejudge.judge_again(run, str(folder))
    return samples((folder / "fleetcheck-made-quick.prom").read_text())


def test_a_run_leaves_verdicts_outcomes_and_key_measurements(tmp_path):
    run = night(tmp_path, 1, failed=("n2",))
    told = samples((run.path / "metrics.prom").read_text())
    assert 1 == told["fleetcheck_node_verdict{'action': 'reboot', 'node': 'n2', 'verdict': 'failed'}"]
    assert {"failed": 1, "healthy": 3, "unknown": 0} == {word: told[f"fleetcheck_nodes{{'verdict': '{word}'}}"] for word in ("failed", "healthy", "unknown")}
    assert {"passed": 7, "failed": 1, "error": 0} == {word: told[f"fleetcheck_run_items{{'outcome': '{word}'}}"] for word in ("passed", "failed", "error")}
    assert 61 == told["fleetcheck_node_gpu_temperature_celsius{'node': 'n1'}"]
    assert 1 == told["fleetcheck_check_failed_nodes{'check': 'test_no_gpu_is_lost', 'component': 'gpu', 'severity': 'fatal'}"]


def test_the_last_complete_run_is_dated_by_its_end(tmp_path):
    told = samples((night(tmp_path, 1).path / "metrics.prom").read_text())
    assert 1793503860 == told["fleetcheck_last_complete_run_timestamp_seconds{}"]  # 2026-11-01T03:31:00Z


@pytest.mark.parametrize(("about", "names"), [
    pytest.param({"narrowed": "-k gpu"}, ("n1", "n2", "n3", "n4"), id="partial"),
    pytest.param({"interrupted": True}, ("n1", "n2", "n3", "n4"), id="interrupted"),
    pytest.param({"nodes": "n1"}, ("n1",), id="some nodes"),
])
def test_what_is_not_a_complete_run_of_the_fleet_never_moves_the_last_complete_run(tmp_path, about, names):
    night(tmp_path, 1)
    told = published(night(tmp_path, 2, names=names, **about), tmp_path / "tf")
    assert 1793503860 == told["fleetcheck_last_complete_run_timestamp_seconds{}"]
    assert 1793590260 == told["fleetcheck_run_ended_timestamp_seconds{}"]


def test_a_replay_writes_into_its_own_folder_only(tmp_path):
    night(tmp_path, 1)
    (tmp_path / "tf").mkdir()
    replay = night(tmp_path, 2, replay_of="20261101-031500-aaaa")
    rejudge.judge_again(replay, str(tmp_path / "tf"))
    assert [] == list((tmp_path / "tf").iterdir())
    assert "last_complete_run_timestamp_seconds{" not in (replay.path / "metrics.prom").read_text()


def test_a_complete_retest_of_one_node_counts_for_it_alone(tmp_path):
    night(tmp_path, 1, failed=("n1", "n2"), heat=50)
    told = published(night(tmp_path, 2, names=("n1",), nodes="n1", heat=70), tmp_path / "tf")
    assert {"n1": "healthy", "n2": "failed"} == {name: word for name in ("n1", "n2") for word in ("healthy", "failed")
                                                  if any(key.startswith("fleetcheck_node_verdict") and name in key and word in key for key in told)}
    assert [70, 50] == [told[f"fleetcheck_node_gpu_temperature_celsius{{'node': '{name}'}}"] for name in ("n1", "n2")]
    assert 3 == told["fleetcheck_nodes{'verdict': 'healthy'}"]


def test_judging_an_older_run_again_moves_nothing_back(tmp_path):
    old, new = night(tmp_path, 1, failed=("n1",)), night(tmp_path, 2)
    before = published(new, tmp_path / "tf")
    assert before == published(old, tmp_path / "tf")


def test_node_exporter_may_read_what_is_published(tmp_path):
    published(night(tmp_path, 1), tmp_path / "tf")
    assert 0o644 == (tmp_path / "tf" / "fleetcheck-made-quick.prom").stat().st_mode & 0o777
    assert ["fleetcheck-made-quick.prom"] == [path.name for path in (tmp_path / "tf").iterdir()]


def test_nothing_a_node_tells_becomes_a_name_or_a_label():
    hostile = {'gpu.evil"} 1\nfleetcheck_nodes{verdict="healthy"': 7.0, "gpu.thermal.temperature_celsius": {'GPU 0"} 9\nx{a="': 50.0, "GPU 1": float("nan")}}
    key = KeyMeasurements()
    list(key.watched([madefleet.result("r", CHECK, "n1", metrics=hostile)]))
    assert {"gpu_temperature_celsius": 50.0} == {each.name: value for each, value in key.values["n1"].items()}


def test_series_are_bounded_by_nodes_and_checks(tmp_path):
    names = madefleet.names(4)
    results = [madefleet.result("20261101-031500-aaaa", (f"test_{number}", "checks/node/test_x.py", "gpu", "Says."), name,
                                metrics={f"gpu.thing_{number}.of_{part}": 1.0 for part in range(20)}) for name in names for number in range(30)]
    run = madefleet.record(tmp_path, "20261101-031500-aaaa", results, [], madefleet.inventory_text(4, racks=False), tier="quick")
    assert 30 + len(names) * (7 + len(KEYS)) > len(samples((run.path / "metrics.prom").read_text()))


def test_the_worst_part_counts_in_base_units():
    key = KeyMeasurements()
    list(key.watched([madefleet.result("r", CHECK, "n1", metrics={
        "gpu.thermal.margin_celsius": {"GPU 0": 30, "GPU 1": 4}, "clock.offset_seconds": {"a": -0.5, "b": 0.25},
        "gemm.devices.metrics.tflops_bf16": {"GPU 0": 640.0, "GPU 1": 600.0}, "gemm.tflops_bf16_of_peers": 0.9,
        "hbm.metrics.copy_gb_s": {"GPU 0": 2600.0, "GPU 1": 2500.0}, "peerlink.links.gb_s": {"GPU 0 → GPU 1": 370.0, "GPU 1 → GPU 0": 365.0},
        "hostlink.links.gb_s": {"node 0 → GPU 1": 44.0}, "disk.metrics.disk_read_mb_s": {"disk": 5100.0},
        "nvme.health.percentage_used": {"nvme0": 3, "nvme1": 80}})]))
    assert {"gpu_thermal_margin_celsius": 4, "clock_offset_seconds": -0.5, "matmul_flops_per_second": 6e14, "nvme_used_ratio": 0.8,
            "hbm_bytes_per_second": 2.5e12, "gpu_peer_bytes_per_second": 3.65e11, "disk_read_bytes_per_second": 5.1e9} == {
        each.name: pytest.approx(value) for each, value in key.values["n1"].items()}


def test_bus_bandwidth_is_that_with_the_best_partner():
    pair = ("test_pairs", "checks/interconnect/test_pairs.py", "fabric", "Pairs are fast.")
    key = KeyMeasurements()
    list(key.watched([madefleet.result("r", pair, "", nodes=nodes, metrics={"trial.send_recv_busbw_gb_s_8MiB": value, "gpu.thermal.margin_celsius": 1.0})
                      for nodes, value in ((("n1", "slow"), 20.0), (("n1", "n2"), 47.0), (("n2", "slow"), 21.0))]))
    assert {"n1": 4.7e10, "n2": 4.7e10, "slow": 2.1e10} == {node: value for node, each in key.values.items() for value in each.values()}
    assert {"collective": "send_recv"} == next(iter(key.values["n1"])).labels


def test_what_an_earlier_file_says_is_read_back_whole(tmp_path):
    run = night(tmp_path, 1)
    measured = {"n1": {key: 1.0 + number for number, key in enumerate(KEYS)}}
    assert measured == prometheus.measured_in(prometheus.text(prometheus.of_run(textfile.told(run), measured)))


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool here: apt install prometheus")
def test_promtool_finds_nothing_to_say_against_it(tmp_path):
    run = night(tmp_path, 1, failed=("n2",))
    done = subprocess.run(["promtool", "check", "metrics"], input=(run.path / "metrics.prom").read_text(), capture_output=True, text=True, timeout=30)
    assert (0, "") == (done.returncode, done.stdout + done.stderr)


def test_a_fleet_run_publishes_and_its_replay_does_not(healthy_run, tmp_path):
    (tmp_path / "tf").mkdir()
    assert "fleetcheck_last_complete_run_timestamp_seconds{" in (healthy_run / "metrics.prom").read_text()
    ended = run_pytest(CHECKS, "--replay", healthy_run, "--metrics-dir", "tf", "--no-html", "-p", "no:cacheprovider", cwd=tmp_path)
    assert 0 == ended.status, ended.output
    assert (True, []) == ((ended.run / "metrics.prom").is_file(), list((tmp_path / "tf").iterdir()))


def test_a_live_run_publishes_where_its_inventory_says(tmp_path):
    (tmp_path / "tf").mkdir()
    with socket.socket() as refusing:  # bound and not listening
        refusing.bind(("127.0.0.1", 0))
        (tmp_path / "f.yaml").write_text(f"fleet: f\nssh: {{config_file: none, port: {refusing.getsockname()[1]}}}\ndefaults: {{profile: cpu-host}}\n"
                                         f"nodes: {{a: {{address: 127.0.0.1}}}}\nalerts: {{metrics_dir: {tmp_path}/tf}}\n")
        ended = run_pytest(CHECKS, "--inventory", "f.yaml", "--no-html", "-p", "no:cacheprovider", cwd=tmp_path)
    assert 1 == ended.status, ended.output
    told = samples((tmp_path / "tf" / "fleetcheck-f-quick.prom").read_text())
    assert 1 == told["fleetcheck_node_verdict{'action': 'none', 'node': 'a', 'verdict': 'unreachable'}"]
    assert "fleetcheck_last_complete_run_timestamp_seconds{}" in told


@pytest.mark.parametrize(("section", "words", "said"), [
    ("", ["--metrics-dir", "nowhere"], "--metrics-dir nowhere: no such directory; expected that of node_exporter's --collector.textfile.directory"),
    ("alerts: {metrics_dir: /nowhere/at/all}\n", [], "f.yaml:4: metrics_dir /nowhere/at/all: no such directory"),
], ids=["option", "inventory"])
def test_a_directory_that_is_not_there_is_said_before_anything_runs(tmp_path, section, words, said):
    (tmp_path / "f.yaml").write_text(f"fleet: f\ndefaults: {{profile: cpu-host}}\nnodes: {{a: {{address: 192.0.2.1}}}}\n{section}")
    ended = run_pytest(CHECKS, "--inventory", "f.yaml", *words, cwd=tmp_path)
    assert 4 == ended.status
    assert said in ended.output
    assert not (tmp_path / "reports").exists()


def test_a_disk_that_refuses_is_one_sentence(tmp_path, monkeypatch):
    run = night(tmp_path, 1)
    def refuse(*words):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(textfile, "write_atomically", refuse)
    with pytest.raises(RunError, match=r"cannot write .*fleetcheck-made-quick.prom: No space left on device; then: fleetcheck judge 20261101"):
        textfile.publish(tmp_path, run, {})


def test_results_are_passed_on_as_they_came():
    results = [madefleet.result("r", CHECK, "n1", metrics=HOT), madefleet.result("r", CHECK, "", nodes=("n1", "n2"))]
    assert results == list(KeyMeasurements().watched(dataclasses.replace(each) for each in results))
