"""Rates of stand-ins under gemm, hbm and overlap: equal on healthy ones; a slow or wrong one differs, and it alone."""

import math

import pytest
from torchload import run_load

RATE = {"gemm": "tflops_bf16", "hbm": "copy_gb_s", "overlap": "overlap_tflops_bf16"}
WRONG = {"gemm": {"flip": 12}, "hbm": {"corrupt": True}, "overlap": {"corrupt": True}}


@pytest.fixture(scope="module", params=sorted(RATE))
def load(request):
    return request.param


@pytest.fixture(scope="module")
def healthy(load):
    return run_load(load, seconds=2)


@pytest.fixture(scope="module")
def faulty(load):
    """Device 1 is slow, device 2 wrong."""
    return run_load(load, {"load": load, "device": 1, "slow": 1.5}, {"device": 2, **WRONG[load]}, {"load": "other", "device": 0, "slow": 9})


def test_a_healthy_run_ends_well_on_all_devices(healthy):
    assert (0, True, "", "3 of 3") == (healthy.status, *(healthy.result[key] for key in ("ok", "error", "coverage")))
    assert ["CPU-0", "CPU-1", "CPU-2"] == [entry["uuid"] for entry in healthy.result["devices"]]
    assert {"torch", "cuda", "cudnn", "python"} == set(healthy.result["software"])


def test_healthy_devices_are_equally_fast(load, healthy):
    rates = healthy.metrics(RATE[load])
    assert min(rates) >= 0.9 * max(rates) > 0


def test_each_rate_has_its_course_from_first_to_last_tenth(load, healthy):
    for entry in healthy.result["devices"]:
        tenths = entry["tenths"][RATE[load]]
        assert 10 == len(tenths)
        assert all(math.isfinite(value) and value > 0 for value in tenths)


def test_nothing_is_wrong_on_healthy_devices(healthy):
    assert [] == healthy.wrong


def test_the_slow_device_is_slower_and_no_other(load, faulty):
    first, slow, last = faulty.metrics(RATE[load])
    assert slow < 0.8 * min(first, last)
    assert min(first, last) >= 0.9 * max(first, last)


def test_the_wrong_device_is_named_with_what_it_should_be(faulty):
    assert [2] == faulty.wrong
    first = faulty.device(2)["mismatches"][0]
    assert first["expected"] != first["got"]
    assert first["expected"].startswith("0x")
    assert True is faulty.result["ok"], "it ran to the end"


def test_a_dtype_that_the_device_lacks_is_said_and_fails_nothing():
    ran = run_load("gemm", devices=1, seconds=0.5, settings={"dtypes": ["fp32", "tf32", "fp8"], "side": 64})
    (entry,) = ran.result["devices"]
    assert {"tflops_fp32"} == set(entry["metrics"])
    assert {"tf32": "the stand-in has no tensor cores", "fp8": "the stand-in has no fp8 units"} == entry["unsupported"]
    assert ran.result["ok"]


def test_a_device_that_has_none_of_the_dtypes_measured_nothing():
    ran = run_load("gemm", devices=1, seconds=0.5, settings={"dtypes": ["fp8"]})
    assert "it supports none of the dtypes asked for: the stand-in has no fp8 units" == ran.device(0)["error"]
    assert (False, "0 of 1") == (ran.result["ok"], ran.result["coverage"])


def test_progress_is_told_about_once_a_second():
    ran = run_load("hbm", devices=1, seconds=2.5)
    told = [line for line in ran.lines if line["metric"] == "copy_gb_s"]
    assert 1 <= len(told) <= 4
    assert {"t", "device", "metric", "value"} == set(told[0])


def test_overlap_is_a_fraction_of_each_alone():
    metrics = run_load("overlap", devices=1).device(0)["metrics"]
    fractions = [metrics[f"{name}_overlap_fraction"] for name in ("matmul", "h2d", "d2h")]
    assert min(fractions) == metrics["overlap_fraction"]
    assert 0 < metrics["overlap_fraction"] <= 1.2
