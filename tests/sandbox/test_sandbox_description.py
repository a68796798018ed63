"""What a description may not say, and the line that says so."""

import pytest

from fleetcheck import sandbox
from fleetcheck.sandbox import fleet as fleets
from fleetcheck.sandbox.plan import plan

REFUSED = {
    "an unknown key": ("n1: {commads: {}}", "unknown key 'commads'", "did you mean 'commands'?"),
    "an unknown fault": ("n1: {faults: [gpu-losst]}", "unknown fault 'gpu-losst'", "did you mean 'gpu-lost'?"),
    "an unknown call": (
        "n1: {nvml: [{call: nvmlDeviceGetNam, value: x}]}",
        "unknown NVML call 'nvmlDeviceGetNam'",
        "nvmlDeviceGetName",
    ),
    "an unknown absent call": (
        "n1: {nvml: [{call: nvmlDeviceGetNam, absent: true}]}",
        "unknown NVML call",
        "nvmlDeviceGetName",
    ),
    "an unknown argument": (
        "n1: {nvml: [{call: nvmlDeviceGetTemperature, args: {sensor: 0}, value: 1}]}",
        "'sensor'",
        "sensorType",
    ),
    "an unknown output": ("n1: {nvml: [{call: nvmlDeviceGetEccMode, value: {now: 1}}]}", "'now'", "current"),
    "an unknown return": ("n1: {nvml: [{call: nvmlDeviceGetName, return: GPU_LOST}]}", "'GPU_LOST'", "GPU_IS_LOST"),
    "two answers": (
        "n1: {nvml: [{call: nvmlDeviceGetName, value: x, hang: true}]}",
        "exactly one of value, return",
        "value and hang",
    ),
    "no answer": ("n1: {nvml: [{call: nvmlDeviceGetName}]}", "exactly one of value, return", "none"),
    "a missing call": ("n1: {nvml: [{gpu: 1, value: 3}]}", "nvml.0", "function of nvml.h"),
    "a missing GPU of no number": ("n1: {nvml: [{missing: true}]}", "missing: true needs gpu", ""),
    "a GPU below zero": (
        "n1: {nvml: [{call: nvmlDeviceGetName, gpu: -1, value: x}]}",
        "gpu",
        "greater than or equal to 0",
    ),
    "a relative path": ("n1: {files: {proc/uptime: x}}", "absolute path", "proc/uptime"),
    "a path that climbs": ("n1: {files: {/proc/../etc/x: x}}", "absolute path", "without '..'"),
    "a bad errno": ("n1: {files: {/proc/uptime: {errno: EBAD5}}}", "errno", "EBAD5"),
    "a bad errno of a mount": ("n1: {statvfs: {/: {errno: 5}}}", "errno", "EIO"),
    "a name that statvfs has not": ("n1: {statvfs: {/: {free: 5}}}", "'free'", "f_bavail"),
    "a number that is none": ("n1: {statvfs: {/: {f_bavail: many}}}", "many", "{start, per_second}"),
    "half a growing number": ("n1: {files: {/x: {start: 5}}}", "expected text", "start"),
    "a growing number without a place": ("n1: {files: {/x: {text: x, n: {start: 5, per_second: 1}}}}", "{n}", "grows"),
    "a file that is a list": ("n1: {files: {/x: [1]}}", "expected text", "[1]"),
    "a command in a folder": ("n1: {commands: {/usr/bin/x: {}}}", "program's name", "/usr/bin/x"),
    "a quote that never ends": ("n1: {commands: {'x \"y': {}}}", "No closing quotation", 'x "y'),
    "an exit status out of range": ("n1: {commands: {x: {exit: 256}}}", "exit", "255"),
    "a command key": ("n1: {commands: {x: {out: y}}}", "unknown key 'out'", "stdout"),
    "another way to be unreachable": ("n1: {unreachable: dead}", "unreachable", "'refused'"),
    "a node that is none": ("n9: {}", "'n9' is no node", "n"),
    "a bad range": ("'n[1-': {}", "n[1-", ""),
    "a kernel line that is a mapping": ("n1: {kmsg: [{a: b}]}", "kmsg.0", "string"),
}


@pytest.mark.parametrize("text, found, expected", REFUSED.values(), ids=REFUSED)
def test_is_refused_with_its_line_and_what_was_expected(described, text, found, expected):
    wrong = described(text)
    with pytest.raises(sandbox.SandboxError) as refusal:
        plan(wrong)
    message = str(refusal.value)
    assert message.startswith(f"{wrong.path}:7: ")
    assert found in message
    assert expected in message
    assert "\n" not in message


def test_a_place_that_a_profile_lacks_is_refused(described, tmp_path):
    with pytest.raises(sandbox.SandboxError, match=r"fleet.yaml:7: n1: \{gpu3.pci\}: this node has none"):
        fleets.realise_all(plan(described("n1: {faults: [xid-79]}", profile="cpu-host")), tmp_path)


IMPOSSIBLE = {
    "a GPU beyond the last": ("n1: {nvml: [{gpu: 8, missing: true}]}", "nvml names GPU 8; this machine has GPUs 0 to 7"),
    "a file in the root's place": ("n1: {files: {/: x}}", "cannot be simulated: Is a directory: /"),
    "a file that every machine has as a folder": ("n1: {files: {/proc: x}}", "cannot be simulated: File exists: /proc"),
    "a path with a zero in it": ('n1: {files: {"/a\\0b": x}}', "cannot be simulated: embedded null byte"),
    "a name longer than any": (f"n1: {{files: {{/{'a' * 300}: x}}}}", "cannot be simulated: File name too long: /aaa"),
    "a moment after the end of time": ("n1: {kmsg: ['[99999999999999999999.000001] x']}", "cannot be simulated: "),
}


@pytest.mark.parametrize("text, found", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_machine_can_have_is_refused_in_one_line(described, tmp_path, text, found):
    with pytest.raises(sandbox.SandboxError) as refusal:
        fleets.realise_all(plan(described(text)), tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path}/fleet.yaml:7: n1: {found}")
    assert "\n" not in str(refusal.value)


def test_a_gpu_of_a_machine_without_any_is_refused(described, tmp_path):
    with pytest.raises(sandbox.SandboxError, match="names GPU 3; this machine has no GPU"):
        fleets.realise_all(plan(described("n1: {faults: [ecc-disabled]}", profile="cpu-host")), tmp_path)


def test_a_node_without_an_entry_is_a_plain_machine(described):
    first, second, *_ = plan(described("n1: {busy: 5}"))
    assert ("5", "") == (first.busy, second.busy)
    assert ((), {}) == (second.overrides.nvml, second.overrides.files)


def test_faults_come_before_the_entrys_own_overrides(described):
    one = plan(
        described("n1: {faults: [pcie-width-x8], nvml: [{call: nvmlDeviceGetCurrPcieLinkWidth, gpu: 3, value: 4}]}")
    )[0]
    assert [8, 4] == [override.value for override in one.overrides.nvml]


def test_the_profile_of_the_sandbox_may_differ_from_the_nodes(described, tmp_path):
    path = described("n1: {}").path
    path.write_text(path.read_text().replace("sandbox:\n", "sandbox:\n  profile: a100-sxm4-80-8\n"))
    from fleetcheck import inventory

    loaded = inventory.load(path)
    assert {"a100-sxm4-80-8"} == {one.profile.name for one in plan(loaded)}
    assert {"h100-sxm5-8"} == {node.profile for node in loaded.nodes}


def test_names_of_statvfs_of_several_entries_fill_each_other_in(described):
    one = plan(
        described(
            "n[1-2]: {statvfs: {/: {f_bavail: 1, f_bfree: 2}, /x: {hang: true}}}\nn1: {statvfs: {/: {f_bavail: 3}, /x: {f_files: 1}}}"
        )
    )[0]
    assert {"/": {"f_bavail": 3, "f_bfree": 2}, "/x": {"f_files": 1}} == one.overrides.statvfs
