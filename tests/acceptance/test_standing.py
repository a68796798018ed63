"""What stands at a node, and why the clock of an acceptance begins anew: every reason, its look-alike, and evidence that is missing."""

from dataclasses import replace

import checking
import pytest

from fleetcheck.acceptance.restart import restart
from fleetcheck.acceptance.standing import Standing, standing
from fleetcheck.records import Answer

GPU = "gpu 0000:61:00.0"
BEFORE = Standing("boot-1", "S1", {GPU: "165", "dimm A1": "D1"}, {f"{GPU} vbios": "96.00"}, {GPU: {"energy_joules": 5e6, "volatile_corrected": 7}},
                  {"0000:61:00.0": 40.0})
LATER = replace(BEFORE, grown={GPU: {"energy_joules": 9e6, "volatile_corrected": 7}})
XID = "NVRM: Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"


def test_the_same_machine_that_has_run_on_begins_nothing_anew():
    assert "" == restart(BEFORE, LATER)


@pytest.mark.parametrize(("change", "said"), [
    ({"boot_id": "boot-2"}, "rebooted: boot id boot-1, then boot-2"),
    ({"machine": "S2"}, "another machine: serial S1, then S2"),
    ({"serials": {GPU: "166", "dimm A1": "D1"}}, f"{GPU} was exchanged: serial 165, then 166"),
    ({"serials": {GPU: "165", "dimm A1": "D2"}}, "dimm A1 was exchanged: serial D1, then D2"),
    ({"firmware": {f"{GPU} vbios": "97.00"}}, f"other firmware, {GPU} vbios: 96.00, then 97.00"),
    ({"grown": {GPU: {"energy_joules": 4e6, "volatile_corrected": 7}}},
     f"{GPU} was reset or its driver loaded anew: its energy_joules fell from 5000000 to 4000000"),
    ({"grown": {GPU: {"energy_joules": 9e6, "volatile_corrected": 0}}}, "its volatile_corrected fell from 7 to 0"),
    ({"recovered": {"0000:61:00.0": 900.0}}, "gpu 0000:61:00.0 was recovered 900 s after boot (Xid 154)"),
])
def test_a_swap_a_reset_or_a_reboot_begins_anew(change, said):
    assert said in restart(BEFORE, replace(LATER, **change))


@pytest.mark.parametrize("change", [
    {"serials": {"dimm A1": "D1"}},                                           # a serial that was not read this once
    {"serials": {GPU: "165", "dimm A1": "D1", "nvme nvme0": "N1"}},           # one that was not read before
    {"recovered": {"0000:61:00.0": 40.0}},                                    # a recovery that was known
    {"recovered": {}},                                                        # whose line has left the log
])
def test_what_only_looks_like_it_does_not(change):
    assert "" == restart(BEFORE, replace(LATER, **change))


def test_counters_begin_anew_with_every_boot_and_are_no_second_reason():
    assert "rebooted: boot id boot-1, then boot-2" == restart(BEFORE, replace(LATER, boot_id="boot-2", grown={GPU: {"energy_joules": 1.0}}))


@pytest.mark.parametrize(("change", "said"), [
    ({"machine": ""}, "the machine's serial number was not told"),
    ({"boot_id": ""}, "the boot id was not told"),
    ({"grown": {}}, f"{GPU} told no energy counter, so nobody knows whether it was reset"),
    ({"grown": {GPU: {"volatile_corrected": 7}}}, f"{GPU} told no energy counter"),
])
def test_without_evidence_nobody_knows_and_the_clock_begins_anew(change, said):
    assert said in restart(BEFORE, replace(LATER, **change))
    assert said in restart(replace(BEFORE, **change), LATER)


def test_a_serial_missed_once_is_compared_with_the_time_before():
    missed = replace(LATER, serials={"dimm A1": "D1"})
    assert "was exchanged: serial 164, then 165" in restart(replace(BEFORE, serials={GPU: "164"}), missed.knowing(BEFORE))


def test_a_machine_tells_its_pieces_firmware_and_counters():
    answers = {name: Answer(True, data=data) for name, data in checking.recorded_answers("h100_gpu_answer.json").items()}
    gpus = answers["gpu"].data["gpus"]
    gpus[3]["power"]["energy_joules"] = 12.5
    answers["system"] = Answer(True, data={"boot_id": "b", "serial": "S1", "machine": {"board_serial": "B1", "bios_version": "1.3"}})
    answers["drives"] = Answer(True, data={"nvme": {"nvme0": {"serial": "N0", "firmware": "GDC5602Q", "slot": "0000:01:00.0"}}})
    answers["rdma"] = Answer(True, data={"devices": {"mlx5_0": {"node_guid": "a088:c203", "fw_ver": "28.39"}}})
    answers["kernel_log"] = Answer(True, data={"records": [{"facility": 0, "seconds": 77.0, "text": XID},
                                                           {"facility": 0, "seconds": 78.0, "text": XID.replace("0x0 (None)", "0x1 (Reset)")}]})
    found = standing(answers)
    place = gpus[3]["identity"]["address"]
    assert ("b", "S1", "B1", "N0", "a088:c203") == (found.boot_id, found.machine, found.serials["board"], found.serials["nvme 0000:01:00.0"],
                                                    found.serials["adapter mlx5_0"])
    assert gpus[3]["identity"]["serial"] == found.serials[f"gpu {place}"] and gpus[3]["identity"]["uuid"] == found.serials[f"gpu {place} board"]
    assert ("1.3", "28.39", "GDC5602Q") == tuple(found.firmware[name] for name in ("BIOS", "adapter mlx5_0", "drive nvme0"))
    assert gpus[3]["identity"]["vbios"] == found.firmware[f"gpu {place} vbios"]
    assert 12.5 == found.grown[f"gpu {place}"]["energy_joules"] and {"0000:61:00.0": 77.0} == found.recovered


@pytest.mark.parametrize("data", [None, {"gpus": 7}, {"gpus": [{"identity": 3}, None]}, {"gpus": [{"power": {"energy_joules": "x"}, "counters": []}]}])
def test_hostile_answers_tell_nothing(data):
    found = standing({"gpu": Answer(True, data=data), "system": Answer(True, data={"boot_id": {"absent": "x"}, "serial": 7}),
                      "kernel_log": Answer(True, data={"records": [7, {"text": ": 154"}]})})
    assert ("", "", {}, {}) == (found.boot_id, found.machine, found.firmware, found.recovered) and not any(found.grown.values())
