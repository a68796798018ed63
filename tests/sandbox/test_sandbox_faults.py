"""Every shipped fault can be laid over every machine that has the part it speaks of."""

import pytest

from fleetcheck.inventory import InventoryError
from fleetcheck.sandbox import faults
from fleetcheck.sandbox.native import nvml_state
from fleetcheck.sandbox.plan import plan
from fleetcheck.sandbox.simulated import simulated
from fleetcheck.sandbox.tree import Tree

NAMES = list(faults.shipped())
GPU_PROFILES = ["a100-sxm4-80-8", "b200-sxm-8", "gb200-nvl72-tray", "h100-sxm5-8", "h200-sxm-8"]


def test_enough_faults_are_shipped():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("profile", GPU_PROFILES)
def test_every_fault_fits_every_gpu_node(described, profile):
    text = "\n".join(f"n{number}: {{faults: [{name}]}}" for number, name in enumerate(NAMES, 1))
    for one in plan(described(text, f"n[1-{len(NAMES)}]", profile)):
        node = simulated(one, 1_800_000_000.0)
        nvml_state(node.rules, [slot.index for slot in node.slots], 0.0)
        assert node.tree.files["/dev/kmsg"]


def test_every_file_a_fault_changes_was_there_before(described):
    healthy = {}
    for name, fault in faults.shipped().items():
        one = plan(described(f"n1: {{faults: [{name}]}}"))[0]
        healthy = healthy or Tree(simulated(plan(described("n2: {}"))[0], 1_800_000_000.0).tree.files).files
        tree = simulated(one, 1_800_000_000.0).tree
        strange = {path for path, content in tree.files.items() if "folder" not in content} - set(healthy)
        assert not strange, f"{name} makes {strange}"
        assert fault.description


def test_a_fault_of_unknown_words_is_refused_with_its_line(tmp_path):
    wrong = tmp_path / "faults.yaml"
    wrong.write_text("faults:\n  gone:\n    description: x\n    kmsgs: []\n")
    with pytest.raises(InventoryError, match=r"faults.yaml:4: unknown key 'kmsgs'.*did you mean 'kmsg'"):
        faults.shipped(wrong)
