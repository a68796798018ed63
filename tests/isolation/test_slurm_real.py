"""The whole way on real Slurm: a night on simulated nodes, a bad node drained with our reason, healed, retested, released.

An administrator's own drain survives all of it, a running job runs on, and 60 % failing nodes trip the guard.
"""

import json
import os
import shutil
import tempfile

import pytest
from fleetrun import CHECKS, run_pytest
from nights import command
from realslurm import RealSlurm, missing

NODES = [f"sim-0{number}" for number in range(1, 6)]
INVENTORY = "fleet: proof\ndefaults: {{profile: h100-sxm5-8}}\nnodes: {{'sim-[01-05]': {{}}}}\nsandbox: {{nodes: {faults}}}\n"
LOST = {"faults": ["gpu-lost"]}

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture
def slurm():
    """Short paths: a socket's may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, RealSlurm(folder, NODES) as running:
        yield running


@pytest.fixture
def fleet(tmp_path, monkeypatch, capsys, slurm):
    """Nights on simulated nodes with the shipped checks of GPUs, and commands that speak to this Slurm."""
    (tmp_path / "checks" / "node").mkdir(parents=True)
    for name in ("conftest.py", "test_gpu.py"):
        shutil.copy(CHECKS / "node" / name, tmp_path / "checks" / "node")
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_SCRIPT_CONTEXT", raising=False)

    def night(faults, *words):
        (tmp_path / "proof.yaml").write_text(INVENTORY.format(faults=json.dumps(faults)))
        ended = run_pytest("checks", "--inventory", "proof.yaml", "-n", "5", "--no-html", "-p", "no:cacheprovider", *words, cwd=tmp_path)
        assert ended.verdicts["complete"], ended.output
        return ended.run.name

    def act(*words):
        code, out, err = command(monkeypatch, capsys, *words, "--backend", "slurm", "--reports", tmp_path / "reports")
        return code, out + err

    return night, act


def test_a_bad_node_is_drained_healed_retested_and_released(tmp_path, slurm, fleet):
    night, act = fleet
    slurm.call("scontrol", "update", "NodeName=sim-04", "State=DRAIN", "Reason=cabling on Friday")
    administrators = slurm.told("sim-04")
    slurm.call("sbatch", "--nodelist=sim-02", "--output=/dev/null", "--wrap=sleep 600")
    slurm.until(lambda: slurm.told("sim-02")[0].startswith(("MIXED", "ALLOCATED")))

    failed = night({"sim-02": LOST, "sim-04": LOST})
    code, said = act("isolate", failed)
    assert 0 == code and f"scontrol update NodeName=sim-02 State=DRAIN 'Reason=fleetcheck[{failed} quick " in said, said
    assert "" == slurm.told("sim-02")[1]
    code, said = act("isolate", failed, "--apply")
    assert 0 == code and "ISOLATED: 1 node" in said and "sim-04: out of service already: IDLE+DRAIN by root, 'cabling on Friday'" in said, said
    state, reason = slurm.told("sim-02")
    assert {"MIXED", "DRAIN"} <= set(state.split("+")) and reason.startswith(f"fleetcheck[{failed} quick ") and "GPU_IS_LOST" in reason
    assert "RUNNING" == slurm.call("squeue", "-h", "-o", "%T").strip()
    code, said = act("isolate", failed, "--apply")
    assert 0 == code and "sim-02: isolated already" in said and reason == slurm.told("sim-02")[1]

    code, said = act("release", failed, "--apply")
    assert 1 == code and "sim-02: it is failed and not certified" in said and "DRAIN" in slurm.told("sim-02")[0]
    retest = night({}, "--nodes", "sim-[02,04]")
    code, said = act("release", retest, "--apply")
    assert 0 == code and "RELEASED: 1 node" in said and "sim-04: not ours: IDLE+DRAIN by root, 'cabling on Friday'" in said, said
    assert "DRAIN" not in slurm.told("sim-02")[0] and administrators == slurm.told("sim-04")

    before = {node: slurm.told(node) for node in NODES}
    many = night(dict.fromkeys(("sim-01", "sim-02", "sim-03"), LOST))
    code, said = act("isolate", many, "--apply")
    assert 1 == code and "3 of 5 nodes would be taken out at once, more than 2" in said, said
    assert before.keys() == {node for node in NODES if before[node][1] == slurm.told(node)[1]} and administrators == slurm.told("sim-04")

    steps = [json.loads(line) for line in (tmp_path / "reports" / "isolation.jsonl").read_text().splitlines()]
    assert [("isolate", "intended"), ("isolate", "confirmed"), ("release", "refused"), ("release", "intended"), ("release", "confirmed"),
            *[("isolate", "refused")] * 3] == [(each["kind"], each["step"]) for each in steps]
    assert not {each["node"] for each in steps} - {"sim-01", "sim-02", "sim-03"} and {os.getuid()} == {each["uid"] for each in steps}
