"""Silent data corruption: the same bits on all stand-ins, in every repeat and process; one wrong bit is found and put down to its device."""

import pytest
from torchload import run_load


@pytest.fixture(scope="module")
def healthy():
    return run_load("sdc", seconds=2)


def test_all_devices_have_the_same_checksum_of_every_case(healthy):
    sums = [entry["checksums"] for entry in healthy.result["devices"]]
    assert sums[0] == sums[1] == sums[2]
    assert healthy.result["ok"]
    assert [] == healthy.wrong == healthy.result["undecided"]


def test_cases_cover_computations_dtypes_shapes_and_ranges(healthy):
    cases = [name for name in healthy.device(0)["checksums"] if not name.endswith(" fp32 sum")]
    assert healthy.metrics("cases") == healthy.metrics("cases_planned") == [len(cases)] * 3
    split = [name.split("-") for name in cases]
    assert {"matmul", "attention", "training", "elementwise"} == {each[0] for each in split}
    assert {"fp32", "bf16", "fp16", "fp64"} == {each[1] for each in split}
    assert {"normal", "tiny", "large"} == {each[3] for each in split}
    assert len({each[2] for each in split if each[0] == "matmul"}) >= 4
    assert {"fp8": "the stand-in has no fp8 units"} == healthy.result["unsupported"]


def test_every_case_has_a_sum_in_an_fp32_accumulator(healthy):
    sums = healthy.device(0)["checksums"]
    assert all(f"{name} fp32 sum" in sums for name in sums if not name.endswith(" fp32 sum"))
    assert all(len(value) == 10 and value.startswith("0x") for name, value in sums.items() if name.endswith(" fp32 sum"))


def test_no_two_cases_have_the_same_result(healthy):
    sums = {name: value for name, value in healthy.device(0)["checksums"].items() if not name.endswith(" fp32 sum")}
    assert len(sums) == len(set(sums.values()))


def test_repeats_and_rotations_were_compared(healthy):
    assert all(count > 0 for count in healthy.metrics("comparisons"))
    assert {("rotation", 0)} == {(link["kind"], link["mismatch_count"]) for link in healthy.result["links"]}
    assert {(0, 1), (1, 2), (2, 0)} <= {(link["from"], link["to"]) for link in healthy.result["links"]}


def test_another_process_has_the_same_bits_and_another_seed_other_cases(healthy):
    again = run_load("sdc", seconds=2, devices=2).device(1)["checksums"]
    first = healthy.device(0)["checksums"]
    assert again == {name: first[name] for name in again}
    other = run_load("sdc", seconds=1, devices=1, seed=7).device(0)["checksums"]
    assert set() == set(other) & set(first)


def test_one_wrong_bit_is_found_and_put_down_to_its_device_by_majority():
    ran = run_load("sdc", {"load": "sdc", "device": 1, "flip": 7}, seconds=2)
    assert [1] == ran.wrong
    assert "differs from 2 of 3 accelerators" == ran.device(1)["mismatches"][0]["pattern"]
    assert [] == ran.result["undecided"]
    healthy, wrong = ran.device(0)["checksums"], ran.device(1)["checksums"]
    odd = {name.removesuffix(" fp32 sum") for name in healthy if healthy[name] != wrong[name]}
    assert 1 == len(odd)
    assert ran.device(1)["mismatches"][0]["where"].startswith(odd.pop())


def test_a_wrong_repeat_needs_no_majority():
    ran = run_load("sdc", {"device": 0, "flip": 60}, seconds=4, devices=1)
    assert [0] == ran.wrong
    assert 1 == ran.device(0)["mismatch_count"]
    assert "repeat 2 differs from the first on the same accelerator" == ran.device(0)["mismatches"][0]["pattern"]


def test_of_two_that_differ_nobody_is_blamed():
    ran = run_load("sdc", {"device": 1, "flip": 3}, devices=2)
    assert "accelerators differ and no majority says which is wrong" == ran.result["undecided"][0]["reason"]
    assert {"0", "1"} == set(ran.result["undecided"][0]["checksums"])


def test_damage_on_the_way_is_put_down_to_the_end_that_a_third_device_confirms():
    ran = run_load("sdc", {"device": 2, "corrupt": True}, devices=4)
    assert [2] == ran.wrong
    assert all(each["pattern"].startswith("on the way from ") for each in ran.device(2)["mismatches"])
    assert all(2 in (link["from"], link["to"]) for link in ran.result["links"] if link["mismatch_count"])


def test_damage_on_the_way_between_two_is_undecided():
    ran = run_load("sdc", {"device": 1, "corrupt": True}, devices=2)
    assert [] == ran.wrong
    assert "a result changed on the way and no third accelerator says at which end" == ran.result["undecided"][0]["reason"]
