"""Fleets of base machines: no two parts alike, and unusual profiles."""

import re

import pytest

from fleetcheck.profile import Profile
from fleetcheck.profiles import load_profile, shipped_profiles
from fleetcheck.sandbox.machine import machine
from fleetcheck.sandbox.tree import Tree

NOW = 1_796_000_000
H100 = load_profile("h100-sxm5-8", shipped_profiles().parent / "sandbox.yaml")
TRAY = load_profile("gb200-nvl72-tray", shipped_profiles().parent / "sandbox.yaml")


def node(profile, number):
    return machine(profile, f"n{number:02}", number, NOW)


def changed(profile, **sections):
    """The profile with values replaced, section by section; a section that is no mapping replaces the whole."""
    data = profile.model_dump(mode="json")
    for name, values in sections.items():
        data[name] = {**data[name], **values} if isinstance(values, dict) else values
    return Profile.model_validate(data)


def exactly(number, unit=""):
    return {"equals": number, "unit": unit, "source": "test", "date": "2026-11-30"}


def allowed(*words):
    return {"allowed": list(words), "source": "test", "date": "2026-11-30"}


UNIQUE = {
    "chassis": r"/sys/class/dmi/id/product_serial", "board": r"/sys/class/dmi/id/board_serial",
    "machine id": r"/etc/machine-id", "boot id": r"/proc/sys/kernel/random/boot_id", "host name": r"/etc/hostname",
    "drive": r".*/nvme\d+/serial", "GUID": r".*/infiniband/mlx5_\d+/node_guid", "MAC": r".*/net/e\w+/address",
    "lid": r".*/infiniband/mlx5_[0-7]/ports/1/lid",
}


@pytest.fixture(scope="module")
def fleet():
    return [node(H100, number) for number in range(1, 65)]


@pytest.mark.parametrize("pattern", UNIQUE.values(), ids=UNIQUE)
def test_no_two_parts_of_a_fleet_are_alike(fleet, pattern):
    values = [content for one in fleet for path, content in one.files.items() if re.fullmatch(pattern, path)]
    assert len(values) >= 64
    assert len(values) == len(set(values))


def test_no_two_gpus_of_a_fleet_are_alike(fleet):
    slots = [slot for one in fleet for slot in one.gpus]
    assert 512 == len({slot.uuid for slot in slots}) == len({slot.serial for slot in slots})


def test_no_two_dimms_of_a_fleet_are_alike(fleet):
    serials = [serial for one in fleet for serial in re.findall(r"Serial Number: (\S+)", one.commands["dmidecode -t memory"]["stdout"])]
    assert len(serials) == len(set(serials)) == 64 * 32


def test_gpus_of_a_fleet_vary_as_real_ones_do(fleet):
    temperatures = [rule.value for one in fleet for rule in one.nvml if rule.call == "nvmlDeviceGetTemperature" and rule.gpu is not None]
    corrected = [rule.value for one in fleet for rule in one.nvml
                 if rule.call == "nvmlDeviceGetTotalEccErrors" and rule.args == {"errorType": 0, "counterType": 0}]
    assert len(set(temperatures)) > 3
    assert 0 < sum(count > 0 for count in corrected) < len(corrected) / 2
    assert max(corrected) < 10


def test_trays_of_one_rack_share_a_cluster_and_others_do_not():
    def cluster(number):
        rules = [rule for rule in node(TRAY, number).nvml if rule.call == "nvmlDeviceGetGpuFabricInfoV"]
        return rules[-1].value["clusterUuid"]

    assert cluster(1) == cluster(18)
    assert cluster(1) != cluster(19)


def test_trays_of_one_rack_list_each_other_for_imex():
    peers = node(TRAY, 3).files["/etc/nvidia-imex/nodes_config.cfg"].splitlines()
    assert 18 == len(peers)
    assert peers == node(TRAY, 18).files["/etc/nvidia-imex/nodes_config.cfg"].splitlines()
    assert any(address in node(TRAY, 3).files["/etc/hosts"] for address in peers)


def test_an_old_driver_does_not_have_newer_calls():
    bundle = {"name": "old", "driver": "525.147.05", "cuda_driver": "12.0", "source": "test", "date": "2026-11-30"}
    old = node(changed(H100, bundles=[bundle]), 1)
    answers = {rule.call: rule.ret for rule in old.nvml}
    assert "FUNCTION_NOT_FOUND" == answers["nvmlDeviceGetCurrentClocksEventReasons"] == answers["nvmlDeviceGetMarginTemperature"]
    assert "FUNCTION_NOT_FOUND" == answers["nvmlDeviceGetGpuFabricInfoV"]
    assert answers["nvmlDeviceGetCurrentClocksThrottleReasons"] is None
    assert "525.147.05\n" == old.files["/sys/module/nvidia/version"]


def test_a_bundle_with_an_end_gives_way_to_one_without():
    assert "570.133.20\n" == node(H100, 1).files["/sys/module/nvidia/version"]


def test_a_management_port_takes_the_first_name_the_profile_leaves_free():
    gapped = node(changed(H100, hcas={"names": ["mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5"]}), 1)
    assert {"link": "../../devices/pci0000:26/0000:26:01.0/0000:29:00.0/infiniband/mlx5_1"} == gapped.files["/sys/class/infiniband/mlx5_1"]


def test_more_ports_than_cards_sit_on_the_second_ports():
    wide = node(changed(H100, hcas={"names": [f"mlx5_{number}" for number in range(12)]}), 1)
    tree = Tree(wide.files)
    assert tree.resolved("/sys/class/infiniband/mlx5_8/device").endswith("/0000:18:00.1")
    assert "/sys/bus/pci/devices/0000:18:00.1" in wide.files


def test_ethernet_fabrics_have_no_lid():
    roce = node(changed(H100, hcas={"link_layer": allowed("Ethernet")}), 1)
    tree = Tree(roce.files)
    assert "0x0\n" == tree.files[tree.resolved("/sys/class/infiniband/mlx5_0/ports/1/lid")]
    assert "/sys/class/net/enp24s0np0" in roce.files


def test_an_unknown_product_borrows_the_hardware_of_its_generation():
    unknown = node(changed(H100, gpu={"product": allowed("NVIDIA H800"), "nvlinks": exactly(8, "links"), "count": exactly(4, "GPUs")}), 1)
    assert ["0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0"] == [slot.bus_id for slot in unknown.gpus]
    assert 8 == len([rule for rule in unknown.nvml if rule.call == "nvmlDeviceGetNvLinkState" and rule.value == 1])


def test_mounts_of_a_site_lie_on_the_servers_it_names():
    room = {"low": 5, "unit": "%", "source": "test", "date": "2026-11-30"}
    mounts = [{"mount": "/", "free_percent": room}, {"mount": "/home", "types": ["nfs4"], "free_percent": room},
              {"mount": "/scratch", "types": ["xfs"], "free_percent": room}]
    site = node(changed(H100, filesystems=mounts), 1)
    table = site.files["/proc/1/mounts"]
    assert "10.20.255.10:/export/home /home nfs4 rw" in table
    assert "/dev/md1 /scratch xfs rw" in table
    assert {"folder": True} == site.files["/scratch"]
    assert {"/", "/home", "/scratch"} <= set(site.statvfs)
