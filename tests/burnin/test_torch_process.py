"""A load's process: one clear error for a request that cannot be run, an end in time, one result whatever breaks."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from torchload import LOAD, request, run_load, run_text

from fleetcheck.node.loads import atwork
from fleetcheck.node.loads.faults import of_device
from fleetcheck.node.loads.task import Malformed, Task, read
from fleetcheck.payload import payload

MALFORMED = [
    ("", "the request is no JSON"), ("[1]", "the request is a list"), ('{"load": "gemm"', "the request is no JSON"), ("\xff", "no JSON"),
    ({"load": "rm -rf"}, "load is 'rm -rf'; expected one of gemm, hbm"), ({"load": ["gemm"]}, "load is ['gemm']"),
    ({"seconds": 0}, "seconds is 0; expected seconds"), ({"seconds": "10"}, "seconds is '10'"), ({"seconds": True}, "seconds is True"),
    ({"seconds": 1e300}, "seconds is 1e+300"), ({"seconds": float("nan")}, "seconds is nan"), ({"seconds": None}, "seconds is None"),
    ({"device": "tpu"}, "device is 'tpu'; expected one of auto, cuda, cpu"), ({"devices": []}, "devices is []"),
    ({"devices": [0, 0]}, "an index is there twice"), ({"devices": [-1]}, "devices is [-1]"), ({"devices": 8}, "devices is 8"),
    ({"devices": list(range(1000))}, "expected a list of 1 to 256 indices"), ({"settings": []}, "settings is []; expected an object"),
    ({"uuids": ["GPU-1", "GPU-2"]}, "expected one text for each of 1 devices"), ({"uuids": [7]}, "uuids is [7]"),
    ({"seed": "x"}, "seed is 'x'; expected an integer"), ({"scratch": 3}, "scratch is 3; expected text"),
]


@pytest.mark.parametrize(("asked", "message"), MALFORMED, ids=[message[:30] for _, message in MALFORMED])
def test_a_malformed_request_is_refused_naming_what_is_wrong(asked, message):
    text = asked.encode("latin-1") if isinstance(asked, str) else json.dumps({"load": "gemm", "seconds": 1, "devices": [0], **asked}).encode()
    with pytest.raises(Malformed) as refused:
        read(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "message"), [
    ("no json", "the request is no JSON"),
    (json.dumps(request("hbm", settings={"buffer_bytes": "many"})), "settings.buffer_bytes of hbm is 'many'; expected a number from"),
    (json.dumps(request("gemm", settings={"dtypes": ["int4"]})), "settings.dtypes of gemm is ['int4']; expected some of bf16, fp16"),
])
def test_the_process_tells_a_refusal_as_its_result(text, message):
    ran = run_text(text)
    assert 2 == ran.status
    assert (False, []) == (ran.result["ok"], ran.result["devices"])
    assert message in ran.result["error"]


@pytest.mark.parametrize(("faults", "message"), [
    ("{", "is no JSON"), ('{"slow": 2}', "expected a list of objects"), ('[{"fast": 2}]', "unknown key 'fast'"), ('[{"slow": 0.5}]', "slow is 0.5"),
    ('[{"slow": NaN}]', "slow is nan"), ('[{"flip": 1.5}]', "flip is 1.5; expected a whole number"), ('[{"corrupt": 1}]', "corrupt is 1"),
])
def test_faults_that_no_stand_in_knows_are_refused(faults, message):
    with pytest.raises(Malformed, match=r".*") as refused:
        of_device({"FLEETCHECK_LOAD_FAULTS": faults}, "gemm", 0)
    assert message in str(refused.value)


def test_faults_hold_for_their_load_and_device_only():
    told = {"FLEETCHECK_LOAD_FAULTS": '[{"load": "gemm", "device": 1, "slow": 2}, {"device": 1, "flip": 3}, {"corrupt": true}]'}
    assert (2, 3, True) == of_device(told, "gemm", 1)[:2] + of_device(told, "gemm", 1)[-1:]
    assert (1.0, 3) == of_device(told, "sdc", 1)[:2]
    assert (1.0, 0, -1, 0.0, True) == of_device(told, "gemm", 0)


def test_it_runs_from_the_archive_that_travels_to_the_node(tmp_path):
    (tmp_path / "node.zip").write_bytes(payload())
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'node.zip')!r}); from fleetcheck.node.loads.main import main; main()"
    ran = run_text(json.dumps(request("hbm", 0.3, 1)), argv=(sys.executable, "-B", "-c", code))
    assert (0, True) == (ran.status, ran.result["ok"])


def test_a_real_device_that_is_not_there_is_said_of_each():
    ran = run_text(json.dumps({**request("gemm", 0.3, 2), "device": "cuda", "uuids": ["GPU-a", "GPU-b"]}), environment={"CUDA_VISIBLE_DEVICES": ""})
    assert (0, False, "0 of 2") == (ran.status, ran.result["ok"], ran.result["coverage"])
    assert ["GPU-a", "GPU-b"] == [entry["uuid"] for entry in ran.result["devices"]]
    assert all("cannot be opened: RuntimeError: torch" in entry["error"] and "sees no CUDA device" in entry["error"] for entry in ran.result["devices"])


def test_a_python_without_torch_is_said_with_the_cure(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no libcudart.so.12')")
    ran = run_text(json.dumps(request("gemm")), environment={"PYTHONPATH": str(tmp_path)})
    assert 2 == ran.status
    assert f"torch cannot be imported by {sys.executable}: no libcudart.so.12; name a Python that has it: torch_python" == ran.result["error"]


def test_a_process_that_dies_leaves_no_result():
    ran = run_load("hbm", {"load": "hbm", "device": 1, "die": 0.2}, seconds=30)
    assert (-signal.SIGKILL, None) == (ran.status, ran.result)


def test_told_to_end_it_ends_with_what_it_measured():
    process = subprocess.Popen(LOAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ})
    process.stdin.write(json.dumps(request("hbm", 3000)).encode())
    process.stdin.close()
    first = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    result = json.loads(process.stdout.read().splitlines()[-1])["result"]
    process.stdout.close()
    assert 0 == process.wait(60)
    assert "copy_gb_s" == json.loads(first)["metric"]
    assert result["ok"]
    assert all(entry["metrics"]["copy_gb_s"] > 0 for entry in result["devices"])


@pytest.fixture
def task():
    """A task of 0.2 s over three stand-ins whose lines go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    yield Task(read(json.dumps(request("gemm", 0.2)).encode()), nowhere, time.monotonic())
    os.close(nowhere)


def test_an_error_of_one_device_is_its_own(task, capfd):
    def work(task, device, report):
        report.doing = "products"
        if device.index == 1:
            raise RuntimeError("CUDA error: uncorrectable ECC error encountered\nCompile with TORCH_USE_CUDA_DSA")
        report.sample("tflops_bf16", 1.0, 1.0)

    devices = atwork.run(task, work)["devices"]
    assert ["", "products: RuntimeError: CUDA error: uncorrectable ECC error encountered", ""] == [entry["error"] for entry in devices]
    assert [1.0, None, 1.0] == [entry["metrics"].get("tflops_bf16") for entry in devices]


def test_a_device_that_hangs_is_given_up(task, monkeypatch):
    monkeypatch.setattr(atwork, "GRACE_SECONDS", 0.3)
    never = threading.Event()

    def work(task, device, report):
        report.doing = "copying numa0 → 2"
        if device.index == 2:
            never.wait(60)

    devices = atwork.run(task, work)["devices"]
    never.set()
    assert ["", ""] == [entry["error"] for entry in devices[:2]]
    assert "hangs in copying numa0 → 2" in devices[2]["error"]


def test_an_error_of_two_together_is_put_down_to_the_one_that_does_not_answer(task):
    class Fine:
        torch = __import__("torch")
        at = "cpu"
        def use(self): pass
        def sync(self): pass

    class Broken(Fine):
        def sync(self): raise RuntimeError("CUDA error: unspecified launch failure")

    class Told:
        error, doing = "", "copying 0 → 1"
        def fail(self, error): self.error = error

    pairs = [(Told(), Fine()), (Told(), Broken())]
    assert atwork.blame(pairs, "RuntimeError: CUDA error")
    assert ["", "copying 0 → 1: RuntimeError: CUDA error"] == [report.error for report, _ in pairs]
    assert not atwork.blame([(Told(), Fine()), (Told(), Fine())], "RuntimeError: CUDA error")
