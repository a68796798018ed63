"""Overrides of files as the node would show them: through links, instead of folders, without what was removed."""

import pytest

from fleetcheck.sandbox.tree import Tree

DEVICE = "/sys/devices/pci0000:15/0000:18:00.0"
BASE = {
    f"{DEVICE}/vendor": "0x15b3\n",
    f"{DEVICE}/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    f"{DEVICE}/infiniband/mlx5_0/device": {"link": "../../../0000:18:00.0"},
    f"{DEVICE}/driver": {"link": "../../../bus/pci/drivers/mlx5_core"},
    "/sys/bus/pci/drivers/mlx5_core/version": "1\n",
    "/sys/bus/pci/drivers/mlx5_core/0000:18:00.0": {"link": "../../../../devices/pci0000:15/0000:18:00.0"},
    "/sys/bus/pci/devices/0000:18:00.0": {"link": "../../../devices/pci0000:15/0000:18:00.0"},
    "/sys/class/infiniband/mlx5_0": {"link": "../../devices/pci0000:15/0000:18:00.0/infiniband/mlx5_0"},
    "/sys/class/infiniband/other": {"link": "/sys/loop"},
    "/sys/loop": {"link": "loop"},
    "/proc/meminfo": "MemTotal: 1 kB\n",
}


@pytest.fixture
def tree():
    return Tree(BASE)


def test_a_file_is_put_where_its_links_lead(tree):
    tree.lay({"/sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN\n"})
    assert "1: DOWN\n" == tree.files[f"{DEVICE}/infiniband/mlx5_0/ports/1/state"]
    assert set(BASE) == set(tree.files)


def test_a_device_removed_from_its_class_is_gone_everywhere(tree):
    tree.lay({"/sys/class/infiniband/mlx5_0": None})
    assert not [path for path in tree.files if "mlx5_0" in path]
    assert f"{DEVICE}/vendor" in tree.files


def test_a_folder_goes_with_all_in_it_and_the_links_into_it(tree):
    tree.lay({DEVICE: None})
    assert {
        "/sys/bus/pci/drivers/mlx5_core/version",
        "/sys/class/infiniband/other",
        "/sys/loop",
        "/proc/meminfo",
    } <= set(tree.files)
    assert not [path for path, content in tree.files.items() if "18:00.0" in path or "18:00.0" in str(content)]


def test_the_folder_of_what_was_removed_stays(tree):
    tree.lay({"/sys/class/infiniband/mlx5_0": None, "/sys/class/infiniband/other": None})
    assert {"folder": True} == tree.files["/sys/class/infiniband"]


def test_a_link_that_is_no_device_goes_alone(tree):
    tree.lay({f"{DEVICE}/driver": None})
    assert set(BASE) - {f"{DEVICE}/driver"} == set(tree.files)


def test_a_file_comes_back_below_a_removed_folder(tree):
    tree.lay({DEVICE: None, f"{DEVICE}/vendor": "0x10de\n"})
    assert "0x10de\n" == tree.files[f"{DEVICE}/vendor"]


def test_a_folder_may_become_a_file_and_a_file_a_folder(tree):
    tree.lay({DEVICE: "gone\n", "/proc/meminfo/part": "1\n"})
    assert "gone\n" == tree.files[DEVICE]
    assert f"{DEVICE}/vendor" not in tree.files
    assert "/proc/meminfo" not in tree.files


def test_what_is_not_there_is_removed_without_ado(tree):
    tree.lay({"/proc/nothing": None, "/sys/loop/x": None})
    assert set(BASE) == set(tree.files)
