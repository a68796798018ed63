"""Parts of the loads without a process: rates over time, bits compared, patterns from positions, what a CUDA process may see."""

import doctest
import importlib
import json
import math
import os
import time

import pytest
import torch

from fleetcheck.node.loads import bits, cuda_device, patterns
from fleetcheck.node.loads.report import MOST_SAMPLES, Report, Series
from fleetcheck.node.loads.task import Task, read


@pytest.mark.parametrize("name", ["bits", "numa", "patterns", "report"])
def test_examples_in_docstrings_hold(name):
    assert 0 == doctest.testmod(importlib.import_module(f"fleetcheck.node.loads.{name}")).failed


def series(*rates):
    found = Series()
    for rate in rates:
        found.add(rate, 1.0)
    return found


def test_tenths_go_from_the_first_to_the_last():
    assert [1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5, 17.5, 19.5] == series(*range(1, 21)).tenths()


def test_fewer_than_ten_samples_have_no_tenths():
    assert [] == series(*range(9)).tenths()
    assert 10 == len(series(*range(1, 11)).tenths())


def test_a_rate_is_work_by_time_and_no_mean_of_rates():
    found = Series()
    found.add(100.0, 1.0)
    found.add(100.0, 9.0)
    assert 20.0 == found.rate()
    assert 0.0 == Series().rate()


def test_a_long_load_keeps_few_samples_and_the_same_rate():
    found = series(*[2.0] * 50_000)
    assert len(found.samples) < MOST_SAMPLES
    assert (2.0, [2.0] * 10) == (found.rate(), found.tenths())


def test_equal_numbers_in_other_bits_are_different():
    zeros = torch.tensor([0.0, 1.0]), torch.tensor([-0.0, 1.0])
    assert (1, [{"where": "case, element 0", "expected": "0x00000000", "got": "0x80000000", "pattern": "repeat 2"}]) == bits.differences(
        torch, *zeros, "repeat 2", "case,")


def test_the_same_nan_is_no_difference():
    nan = torch.tensor([math.nan, math.inf])
    assert (0, []) == bits.differences(torch, nan, nan.clone(), "")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn])
def test_a_checksum_changes_with_any_bit(dtype):
    tensor = torch.ones(5, 7).to(dtype)
    other = tensor.clone()
    bits.raw(torch, other)[34] ^= 1
    assert bits.checksum(tensor) == bits.checksum(tensor.clone())
    assert bits.checksum(tensor) != bits.checksum(other)
    assert bits.checksum(tensor) != bits.checksum(tensor.reshape(7, 5))


def test_sums_that_are_no_numbers_are_results_too():
    assert "0x7f800000" == bits.float_sum(torch, torch.tensor([3e38, 3e38]))
    assert bits.float_sum(torch, torch.tensor([math.nan])).startswith("0x")


def test_random_words_depend_on_position_and_seed_alone():
    whole, part = torch.empty(1000, dtype=torch.int64), torch.empty(300, dtype=torch.int64)
    patterns.random_words(torch, whole, 0, 5)
    patterns.random_words(torch, part, 700, 5)
    assert torch.equal(whole[700:], part)
    assert not torch.equal(whole, patterns.words(torch, 1000, 6, "cpu"))
    ones = sum(bin(value & (2**64 - 1)).count("1") for value in whole.tolist())
    assert 0.48 < ones / 64000 < 0.52


def test_the_words_of_a_seed_are_always_these():
    """Checksums of different nodes are compared: the inputs may not change unnoticed."""
    assert [bits.hexadecimal(value, 8) for value in patterns.words(torch, 2, 1, "cpu").tolist()] == WORDS


WORDS = ["0x97cff89519bf5077", "0xdf21cf05621caf18"]


def test_bell_curve_values_are_exact_and_about_normal():
    values = patterns.bell(torch, (100, 200), 3, "cpu")
    assert torch.equal(values * 2**15, (values * 2**15).round())
    assert abs(float(values.mean())) < 0.05
    assert 1.1 < float(values.std()) < 1.2


def task(**more):
    nowhere = os.open(os.devnull, os.O_WRONLY)
    asked = {"load": "gemm", "seconds": 10, "device": "cuda", "devices": [2, 5], **more}
    return Task(read(json.dumps(asked).encode()), nowhere, time.monotonic())


def test_a_cuda_process_sees_its_devices_by_uuid_in_their_order():
    environment = {}
    cuda_device.choose(task(uuids=["GPU-b", "GPU-a"]), environment)
    assert {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "GPU-b,GPU-a"} == environment


def test_a_cuda_process_without_uuids_sees_them_by_number_and_what_was_set_stays():
    environment = {}
    cuda_device.choose(task(), environment)
    assert "2,5" == environment["CUDA_VISIBLE_DEVICES"]
    environment = {"CUDA_VISIBLE_DEVICES": "GPU-c"}
    cuda_device.choose(task(uuids=["GPU-a", "GPU-b"]), environment)
    assert "GPU-c" == environment["CUDA_VISIBLE_DEVICES"]


def test_mismatches_are_counted_in_full_and_listed_in_part():
    report = Report(task(), 2, "GPU-x")
    for number in range(20):
        report.mismatch(100, [{"address": number}] * 8)
    assert 2000 == report.entry()["mismatch_count"]
    assert 64 == len(report.entry()["mismatches"])


def test_the_first_error_stays():
    report = Report(task(), 2)
    report.fail("products: CUDA error")
    report.fail("no end 5 s after its time")
    assert "products: CUDA error" == report.entry()["error"]


def test_time_ends_before_the_process_is_killed():
    asked = task(seconds=100, ends_in=50)
    asked.begin()
    assert asked.left() <= 48
    asked.stop()
    assert asked.over()
    asked.begin()
    assert asked.over(), "told to stop it does not begin anew"
