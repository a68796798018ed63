"""1,024 nodes from recorded evidence, 40 checks each, beside pytest on as many empty parametrised items, in one run."""

import json
import sys

import pytest
from measured_process import measured

CHECKS = 40
EMPTY = "import pytest\n" + "".join(
    f"\n@pytest.mark.parametrize('node', [f'n{{i:05d}}' for i in range(NODES)])\ndef test_{number}(node):\n    pass\n" for number in range(CHECKS)
)


@pytest.fixture(scope="module")
def recorded(healthy_run):
    """The evidence line of one healthy node, as the sandbox answered it over SSH."""
    return json.loads((healthy_run / "evidence.jsonl").read_text().splitlines()[0])


def fleet_of(folder, recorded, nodes):
    """A recorded run of so many nodes, each answering what the healthy one answered."""
    names = [f"rack-n{number:05d}" for number in range(nodes)]
    (folder / "rack.yaml").write_text(f"fleet: big\ndefaults: {{profile: h100-sxm5-8}}\nnodes:\n  rack-n[00000-{nodes - 1:05d}]: {{}}\n")
    run = folder / "recorded"
    run.mkdir(exist_ok=True)
    (run / "plan.jsonl").write_text("")
    with (run / "evidence.jsonl").open("w") as stream:
        stream.writelines(json.dumps({**recorded, "node": name}, separators=(",", ":")) + "\n" for name in names)
    return run


def replay(folder, recorded, nodes, forty):
    run = fleet_of(folder, recorded, nodes)
    argv = [sys.executable, "-m", "pytest", *forty, "--inventory", "rack.yaml", "--replay", str(run), "-p", "no:cacheprovider"]
    return measured(argv, folder)


def empty(folder, nodes):
    (folder / "test_empty.py").write_text(f"NODES = {nodes}\n{EMPTY}")
    return measured([sys.executable, "-m", "pytest", "test_empty.py", "-q", "-p", "no:cacheprovider"], folder)


def test_replay_of_1024_nodes_beside_empty_pytest(tmp_path, recorded, forty_checks):
    baseline = empty(tmp_path, 1024)
    small = replay(tmp_path, recorded, 512, forty_checks)
    large = replay(tmp_path, recorded, 1024, forty_checks)
    print(f"\nempty pytest, 1,024 x {CHECKS}: {baseline.wall_seconds:.1f} s, {baseline.peak_mbytes:.0f} MB")
    print(f"replay, 512 x {CHECKS}: {small.wall_seconds:.1f} s, {small.peak_mbytes:.0f} MB")
    print(f"replay, 1,024 x {CHECKS}: {large.wall_seconds:.1f} s, {large.peak_mbytes:.0f} MB")
    print(f"replay / empty: {large.wall_seconds / baseline.wall_seconds:.2f} x time, {large.peak_mbytes - baseline.peak_mbytes:+.0f} MB")
    print(f"1,024 / 512 nodes: {large.wall_seconds / small.wall_seconds:.2f} x time")
    assert large.status in (0, 1), large.output[-3000:]
    assert f"{1024 * CHECKS}" in large.output or "1024" in large.output
