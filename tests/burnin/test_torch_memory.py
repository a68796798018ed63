"""The pattern test of memory: nearly all of what is free, every kind of pattern, and the address that does not hold its word."""

import pytest
from torchload import run_load

FREE = 1 << 18
KINDS = {"address", "random", "moving inversions", "walking one", "walking zero"}


@pytest.fixture(scope="module")
def healthy():
    return run_load("memtest", settings={"bytes": FREE}, seconds=2)


@pytest.fixture(scope="module")
def stuck():
    return run_load("memtest", {"load": "memtest", "device": 1, "stuck": 70001}, settings={"bytes": FREE}, seconds=2)


def test_nearly_all_free_memory_is_tested_on_every_device(healthy):
    assert healthy.result["ok"]
    assert all(value >= 0.9 for value in healthy.metrics("tested_fraction"))
    assert all(0.9 * FREE <= value <= FREE for value in healthy.metrics("tested_bytes"))


def test_every_kind_of_pattern_was_read_back(healthy):
    for entry in healthy.result["devices"]:
        assert KINDS == set(entry["verified_bytes"])
        assert entry["metrics"]["tested_bytes"] == min(entry["verified_bytes"].values())
        assert entry["metrics"]["cycles"] >= 1


def test_sound_memory_has_no_mismatch(healthy):
    assert [] == healthy.wrong


def test_a_stuck_bit_is_found_at_its_address_and_nowhere_else(stuck):
    assert [1] == stuck.wrong
    listed = stuck.device(1)["mismatches"]
    assert {70000} == {each["address"] for each in listed}, "the word of byte 70001"
    assert {1 << 10} == {int(each["expected"], 16) ^ int(each["got"], 16) for each in listed}, "bit 2 of byte 1"


def test_a_stuck_bit_is_found_by_every_kind_of_pattern(stuck):
    names = {each["pattern"].partition(",")[0].partition(" of ")[0].removeprefix("inverted ") for each in stuck.device(1)["mismatches"]}
    assert {"address in address", "moving inversions", "random", "walking one", "walking zero"} >= names >= {"walking one", "walking zero"}


def test_the_list_of_mismatches_is_short_and_their_number_is_not(stuck):
    assert 64 >= len(stuck.device(1)["mismatches"])
    assert stuck.device(1)["mismatch_count"] >= len(stuck.device(1)["mismatches"])


def test_too_little_time_is_no_pass():
    ran = run_load("memtest", devices=1, seconds=0.001, settings={"bytes": 64 << 20})
    assert not ran.result["ok"]
    assert "too short: no memory was read back with" in ran.device(0)["error"]


def test_less_than_asked_for_is_reported_as_such():
    ran = run_load("memtest", devices=1, settings={"bytes": FREE, "fraction": 0.5}, seconds=1)
    assert 0.45 <= ran.metrics("tested_fraction")[0] <= 0.5
