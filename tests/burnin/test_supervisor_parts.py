"""The pure parts of the supervisor: schedule, windows, growth, results of processes and passes; and files on a full disk."""

from __future__ import annotations

import doctest
import errno
import json
import os

import pytest

from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import counters, files, kernel_lines, poll, results, schedule, telemetry, window


@pytest.mark.parametrize("module", [kernel_lines, telemetry])
def test_examples_hold(module):
    assert 0 == doctest.testmod(module).failed


ENTRIES = [{"load": "a", "seconds": 60, "settings": {}}, {"load": "b", "seconds": 60, "settings": {"x": 1}}]


def test_loads_take_their_turns_and_the_last_is_shortened():
    course = schedule.Schedule(ENTRIES, repeat=False)
    first, second = course.next(200), course.next(50)
    assert ("a", 60, 180, False) == (first.load, first.seconds, first.ends_in, first.cut)
    assert (False, True) == (first.hurried, second.hurried)
    assert ("b", 37.5, 50, True, {"x": 1}) == (second.load, second.seconds, second.ends_in, second.cut, second.settings)
    assert course.next(1000) is None and course.complete()


def test_a_repeated_schedule_goes_on_while_there_is_time_for_a_turn():
    course = schedule.Schedule(ENTRIES, repeat=True)
    assert ["a", "b", "a"] == [course.next(100).load for _ in range(3)]
    assert course.next(4) is None and course.complete()


@pytest.mark.parametrize(("scope", "device", "expected"), [
    ("device", "cuda", [[0], [1], [2]]), ("node", "cuda", [[0, 1, 2]]), ("device", "cpu", [[0, 1, 2]])])
def test_one_process_an_accelerator_only_where_it_is_one(scope, device, expected):
    assert expected == list(schedule.groups(scope, device, [0, 1, 2]))


def part(index, ok=True, error="", seconds=10, **more):
    device = {"index": index, "uuid": f"GPU-{index}", "name": "x", "error": error, "metrics": {"tflops": 100.0}, "tenths": {"tflops": [100.0] * 10},
              "mismatches": [], "mismatch_count": 0, "checksums": {"c": "aa"}, **more}
    return {"ok": ok, "error": error, "seconds": seconds, "software": {"torch": "2"}, "devices": [device], "links": [], "coverage": "1 of 1"}


def test_results_of_processes_are_joined_and_a_lost_one_counts():
    lost = results.without_result("its process was killed by signal 9 after 3 s", 3, [{"index": 1, "uuid": "GPU-1"}])
    joined = results.of_processes([part(2), part(0), lost], 3)
    assert not joined["ok"] and "2 of 3" == joined["coverage"] and [0, 1, 2] == [each["index"] for each in joined["devices"]]
    assert "signal 9" in joined["error"] and {"torch": "2"} == joined["software"] and 10 == joined["seconds"]
    assert results.of_processes([], 2)["ok"] is False and "0 of 2" == results.of_processes([], 2)["coverage"]


def test_of_passes_the_worst_is_kept():
    earlier = results.of_passes({}, part(0, seconds=30, metrics={"tflops": 90.0, "tested_fraction": 0.9, "verified_bytes": 5}, tenths={"tflops": [90.0] * 10},
                                         mismatches=[{"where": "x"}], mismatch_count=70))
    later = part(0, seconds=10, metrics={"tflops": 50.0, "tested_fraction": 0.95, "verified_bytes": 6}, tenths={"tflops": [50.0] * 10}, checksums={"c": "bb"})
    joined = results.of_passes(earlier, later)
    device, = joined["devices"]
    assert {"tflops": 80.0, "tested_fraction": 0.9, "verified_bytes": 11} == device["metrics"] and 50.0 == device["lowest"]["tflops"]
    assert [90.0] * 7 + [50.0] * 3 == [round(value) for value in device["tenths"]["tflops"]]
    assert 70 == device["mismatch_count"] and {"c": "aa"} == device["checksums"]
    assert [{"case": "c", "expected": "aa", "got": "bb"}] == device["checksum_changes"]
    assert 40 == joined["seconds"] and 2 == joined["passes"] and joined["ok"]


def test_a_failed_pass_is_not_healed_by_a_good_one():
    failed = results.of_passes({}, part(0, ok=False, error="boom"))
    joined = results.of_passes(failed, part(0))
    assert not joined["ok"] and "boom" == joined["error"] == joined["devices"][0]["error"]
    missing = results.of_passes(results.of_passes({}, part(0)), part(1))
    assert {"it was part of only some of the passes"} == {device["error"] for device in missing["devices"]}


@pytest.mark.parametrize("value", [None, [], {"devices": 3}, {"devices": [{"index": "0"}]}])
def test_what_is_no_result_is_refused(value):
    with pytest.raises(ValueError, match=r"not a (result|device)"):
        results.shaped(value)


def sample(at, **gpu):
    return {"at": at, "gpus": {"0": {"ecc": {"corrected": 0, "uncorrected": 0}, **gpu}}}


def test_growth_is_told_once_from_the_first_moment():
    counts = counters.Counters()
    for at, total in ((1.0, 5), (2.0, 5), (3.0, 7), (4.0, 9)):
        counts.take(sample(at, ecc={"corrected": total, "uncorrected": {"absent": "NOT_SUPPORTED"}}), {})
    windows, (growth,) = counts.flush()
    assert ("ecc", "0", "corrected", 4, 5, 9, 3.0) == growth and "GPU 0: ecc corrected grew by 4 (5 → 9)" == counters.in_words(growth)
    assert {"corrected": 4, "uncorrected": {"absent": "NOT_SUPPORTED"}} == windows["0"]["ecc"]
    windows, grown = counts.flush()
    assert 0 == windows["0"]["ecc"]["corrected"] and [] == grown


def test_a_counter_that_falls_was_reset_and_is_no_growth():
    counts = counters.Counters()
    for at, total in ((1.0, 500), (2.0, 0), (3.0, 1)):
        counts.take(sample(at, ecc={"corrected": total}), {})
    assert [1] == [growth.by for growth in counts.flush()[1]]


def test_nvlink_errors_are_not_counted_twice():
    counts = counters.Counters()
    for at, total in ((1.0, 0), (2.0, 3)):
        counts.take({**sample(at, nvlink={"replay": total}), "counters": {"0": {"nvlink_links": {"replay": [0, total]}, "pcie_replays": 4}}}, {})
    windows, grown = counts.flush()
    assert ["replay of link 1"] == [growth.name for growth in grown] and 3 == windows["0"]["nvlink_errors"] and 0 == windows["0"]["pcie_replays"]


def test_a_window_keeps_extremes_reasons_and_absences():
    opened = window.Window(0.0, "gemm")
    for power, reasons in ((100.0, 0x4), (300.0, 0x44), ({"absent": "TIMEOUT"}, {"absent": "TIMEOUT"})):
        opened.add({"gpus": {"0": {"power": power, "reasons": reasons, "margin": {"absent": "FUNCTION_NOT_FOUND"}, "pcie_generation": 5, "pcie_width": 16}}}, 1.0)
    told = opened.told(3.0, {"0": {"uuid": "GPU-x"}, "1": {"uuid": "GPU-y"}}, {"0": {"ecc": {"corrected": 0}}})
    gpu = told["gpus"]["0"]
    assert [100.0, 200.0, 300.0] == gpu["power"] and {"absent": "FUNCTION_NOT_FOUND"} == gpu["margin"] and [5, 16] == gpu["pcie"]
    assert {"sw_power_cap": 2.0, "hw_thermal_slowdown": 1.0} == gpu["throttled_seconds"] and {"corrected": 0} == gpu["ecc"]
    assert window.NO_SAMPLE == told["gpus"]["1"]["power"] == told["gpus"]["1"]["throttled_seconds"]


def test_reasons_that_nvml_does_not_tell_are_absent_not_none():
    opened = window.Window(0.0, "gemm")
    opened.add({"gpus": {"0": {"reasons": {"absent": "NOT_SUPPORTED"}}}}, 1.0)
    assert {"absent": "NOT_SUPPORTED"} == opened.told(1.0, {"0": {}}, {})["gpus"]["0"]["throttled_seconds"]


@pytest.mark.parametrize(("text", "kind", "gpu"), [
    ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "xid", 3),
    ("NVRM: Xid (PCI:0010:3b:00): 79, GPU has fallen off the bus.", "xid", 4),
    ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30", "xid", None),
    ("pcieport 0000:3b:00.0: AER: Correctable error message received", "aer", 3),
    ("EDAC MC0: 1 CE memory read error", "ecc", None),
    ("Out of memory: Killed process 77 (python3)", "oom", None),
    ("nvme nvme0: I/O timeout", "kernel", None),
])
def test_kernel_lines_are_tied_to_their_gpu(text, kind, gpu):
    found = kernel_lines.line(text)
    assert kind == found.kind and gpu == kernel_lines.gpu_of(found.address, {"0000:3b:00.0": "3", "0010:3b:00.0": "4"})


def test_a_kernel_log_that_nobody_may_read_says_why(tmp_path):
    followed = kernel_lines.KernelLines(Host(str(tmp_path)))
    assert "no such file or directory: /dev/kmsg" in followed.absent and "program not found" in followed.absent
    assert [] == followed.new()


def test_lines_that_a_full_disk_refuses_are_written_later(tmp_path, monkeypatch):
    lines, written = files.Lines(str(tmp_path / "events.jsonl")), os.write

    def full(descriptor, text):
        written(descriptor, bytes(text)[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    lines.add({"n": 1})
    monkeypatch.setattr(os, "write", full)
    lines.add({"n": 2})
    monkeypatch.undo()
    assert [{"n": 1}] == files.lines_after(lines.path, 0, 1000)[0]
    lines.add({"n": 3})
    assert [{"n": 1}, {"n": 2}, {"n": 3}] == files.lines_after(lines.path, 0, 1000)[0]
    assert ([{"n": 2}], 8, True) == files.lines_after(lines.path, 1, 10) and 0 == lines.lost


def test_samples_are_put_aside_before_they_fill_the_disk(tmp_path):
    lines = files.Lines(str(tmp_path / "samples.jsonl"), limit=1000)
    for number in range(300):
        lines.add({"n": number, "fill": "x" * 50})
    assert {"samples.jsonl", "samples.jsonl.1"} == {path.name for path in tmp_path.iterdir()}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2500


def test_snapshots_that_do_not_fit_say_so():
    answer = {"ok": True, "data": {"x": "y" * 5000}}
    kept = poll.fitting({"before": {"gpu": answer, "pci": {"ok": True, "data": {}}}}, 2000)
    assert kept["before"]["pci"]["ok"] and "did not fit" in kept["before"]["gpu"]["error"]
    assert len(json.dumps(kept)) < 2000


def test_a_pass_that_the_end_of_all_cut_takes_nothing_from_those_before():
    earlier = results.of_passes({}, part(0, seconds=30, metrics={"tflops": 90.0}, coverage="1 of 1"))
    joined = results.of_passes(earlier, results.without_result("no end", 5, [{"index": 0}], cut=True))
    assert (True, "", "1 of 1") == (joined["ok"], joined["error"], joined["coverage"])
    assert ("", 90.0) == (joined["devices"][0]["error"], joined["devices"][0]["metrics"]["tflops"])
    dead = results.of_passes(earlier, results.without_result("killed", 5, [{"index": 0}]))
    assert (False, "killed", "killed") == (dead["ok"], dead["error"], dead["devices"][0]["error"])
