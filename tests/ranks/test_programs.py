"""NCCL's words about its way, and nccl-tests as a cross-check, on simulated nodes where the program stands for the real one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fleetcheck
from fleetcheck import inventory
from fleetcheck.collective import ncclt
from fleetcheck.collective.launcher import Terms, run_nccl_tests
from fleetcheck.collective.nccl_tests import compared, output, settings
from fleetcheck.collective.trial import Trial, Value
from fleetcheck.collective.way import fallback, way
from fleetcheck.exchange import Exchange
from fleetcheck.nodes import Node
from fleetcheck.sandbox.fleet import start

IB = """n1:70:90 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
n1:70:90 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_3:1/IB ; OOB bond0:10.0.0.1<0>
n1:70:90 [0] NCCL INFO Using network IB
n1:70:91 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)
n1:70:91 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA
n1:70:91 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1/GDRDMA/Shared
n1:70:91 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
"""
SOCKET = """n1:7:9 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so.
n1:7:9 [0] NCCL INFO NET/IB : No device found.
n1:7:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
n1:7:9 [0] NCCL INFO Using network Socket
n1:7:9 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
"""
EFA = """n1:7:9 [0] NCCL INFO Using network AWS Libfabric
n1:7:9 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/AWS Libfabric/3/GDRDMA
"""
OLD = "n1:7:9 [0] NCCL INFO Channel 01 : 2[c7000] -> 0[87000] [receive] via NET/IBext_v8/5\n"


@pytest.mark.parametrize(("text", "networks", "adapters", "direct", "falls"), [
    (IB, {"IB"}, {"mlx5_0", "mlx5_3"}, True, False), (SOCKET, {"Socket"}, {"eth0"}, False, True), (EFA, {"AWS Libfabric"}, {"3"}, True, False),
    (OLD, {"IBext_v8"}, {"5"}, False, False), ("", set(), set(), None, False),
    (IB + SOCKET, {"IB", "Socket"}, {"mlx5_0", "mlx5_3", "eth0"}, False, True)])
def test_the_way_of_the_data_is_read_from_nccls_log(text, networks, adapters, direct, falls):
    told = way(text.splitlines())
    assert (networks, direct, falls) == (told.networks, told.direct, bool(fallback(told)))
    if text != IB + SOCKET:
        assert adapters == told.adapters


def test_version_and_nvls_are_read():
    told = way(IB.splitlines())
    assert ("2.26.2", True) == (told.version, told.nvls) and way(SOCKET.splitlines()).nvls is None


PRINTED = """# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid 5011 on     n1 device  0 [0009:01:00] NVIDIA H100
#  Rank  1 Group  0 Pid 5011 on     n1 device  1 [0009:02:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
     1048576        262144     float     sum      -1   301.10    3.48    3.48       0   300.20    3.49    3.49       0
     2097152        524288     float     sum      -1   340.61    6.16    6.16       0   351.30    5.97    5.97       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 4.7
"""


def trial(busbw):
    return Trial("t", 1, "pair", ("n1", "n2"), "ok", (Value("all_reduce_busbw_gb_s_2MiB", busbw), Value("all_reduce_busbw_gb_s_8MiB", 9.0)))


@pytest.mark.parametrize(("ours", "outcome", "message"), [
    (6.1, "passed", "1 sizes agree within 15%"),
    (3.0, "failed", "2MiB: 5.97 by nccl-tests, 3 by our ranks"),
])
def test_both_figures_are_compared_at_the_sizes_that_both_measured(ours, outcome, message):
    said = compared(ncclt.parse(PRINTED), trial(ours), "all_reduce")
    assert outcome == said.outcome and message in said.message


def test_without_a_common_size_or_an_end_nothing_is_compared():
    assert ("error", "nccl-tests and our ranks measured no size in common") == \
        ((said := compared(ncclt.parse(PRINTED), trial(1.0), "broadcast")).outcome, said.message)
    assert "error" == compared(ncclt.parse(PRINTED.replace("# Out of bounds values : 0 OK\n", "")), trial(6.1), "all_reduce").outcome


def test_the_words_of_the_call_are_those_of_the_inventory():
    nodes = [Node(name, name, "p", interconnect={"interface": "bond0", "nccl_tests": {
        "folder": "/opt/nccl-tests/build/", "launcher": ("mpirun", "-np", "{ranks}", "-H", "{hosts}")}}) for name in ("n1", "n2")]
    asked = settings(nodes, "all_to_all", 1 << 20, 1 << 30, 8, 60)
    assert ["mpirun", "-np", "16", "-H", "n1:8,n2:8", "/opt/nccl-tests/build/alltoall_perf", "-b", "1048576", "-e", "1073741824", "-f", "2",
            "-g", "1", "-c", "1", "-n", "20", "-w", "5"] == asked["argv"]
    assert "bond0" == asked["environment"]["NCCL_SOCKET_IFNAME"]
    assert ["-g", "8"] == settings([Node("n1", "n1", "p")], "all_reduce", 8, 8, 8, 60)["argv"][7:9]
    with pytest.raises(ValueError, match="nccl-tests over 2 nodes needs a launcher"):
        settings([Node("n1", "n1", "p"), Node("n2", "n2", "p")], "all_reduce", 8, 8, 8, 60)
    with pytest.raises(ValueError, match="names something else than nodes, hosts, ranks, per_node, count"):
        settings([Node("n1", "n1", "p", interconnect={"nccl_tests": {"launcher": ("srun", "{node}")}})], "all_reduce", 8, 8, 8, 60)


def test_it_runs_on_a_node_and_its_output_is_read(tmp_path):
    file = tmp_path / "rack.yaml"
    file.write_text(f"""fleet: rack
defaults: {{profile: cpu-host}}
nodes: {{n1: , n2: , n3: }}
sandbox:
  nodes:
    n1: {{commands: {{all_reduce_perf: {{stdout: {json.dumps(PRINTED)}}}}}}}
    n2: {{commands: {{all_reduce_perf: {{stderr: "no CUDA-capable device is detected", exit: 2}}}}}}
""")
    terms, exchange = Terms("r1", seconds=20), Exchange()
    with start(inventory.load(file)) as sandbox:
        told = {node.name: output(run_nccl_tests(exchange, [node], "all_reduce", (1 << 20, 2 << 20), 2, terms)) for node in sandbox.inventory.nodes}
    exchange.close()
    assert 5.97 == told["n1"].busbw_gbytes_per_second
    assert ("error", "n2: nccl-tests ended with status 2: no CUDA-capable device is detected") == (told["n2"].outcome, told["n2"].message)
    assert ("error", "n3: nccl-tests was not run: program not found: all_reduce_perf") == (told["n3"].outcome, told["n3"].message)


def test_the_command_puts_both_side_by_side(tmp_path):
    file = tmp_path / "rack.yaml"
    file.write_text(f"""fleet: rack
defaults: {{profile: cpu-host, claim: none, torch_python: {sys.executable}, interconnect: {{device: cpu, nccl_tests: {{launcher: "mpirun -H {{hosts}}"}}}}}}
nodes: {{n1: , n2: , n3: {{claim: slurm-job}}}}
sandbox: {{nodes: {{n1: {{commands: {{"mpirun -H n1:1,n2:1 all_reduce_perf": {{stdout: {json.dumps(PRINTED)}}}}}}}}}}}
""")
    argv = [sys.executable, "-m", "fleetcheck.cli", "cross-check", str(file), "--most-bytes", "2097152", "--nodes"]
    environment = {**os.environ, "PYTHONPATH": str(Path(fleetcheck.__file__).parents[1])}
    done = subprocess.run([*argv, "n[1-2]"], capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert "    1MiB  our ranks" in done.stdout and "nccl-tests     3.48  GB/s busbw" in done.stdout, done.stdout + done.stderr
    assert 1 == done.returncode and "bus bandwidth in GB/s is apart by more than 15% at 1MiB: 3.48 by nccl-tests" in done.stdout
    refused = subprocess.run([*argv, "n[1,3]"], capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert 4 == refused.returncode and "n3: claim: slurm-job; this loads nodes and takes no claim by itself" in refused.stderr
    assert "Traceback" not in refused.stderr
