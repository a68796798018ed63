"""What nccl-tests, NCCL and PyTorch's watchdog print, in every layout seen, and whose matter it is."""

from __future__ import annotations

import pytest

from fleetcheck.collective import nccl_log, ncclt

RANKS = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid 5011 on     node-k device  0 [0009:01:00] NVIDIA GH200 120GB
#  Rank  1 Group  0 Pid 6012 on     node-l device  0 [0009:01:00] NVIDIA GH200 120GB
#
"""
NEW = """#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1   301.10    3.48    3.48       0   300.20    3.49    3.49       0
     2097152        524288     float     sum      -1   340.61    6.16    6.16       0   351.30    5.97    5.97       0
     4194304       1048576     float     sum      -1   401.09   10.46   18.30       0   400.06   10.48   18.34       0
"""
OLD = """#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
     2097152        524288     float     sum   340.61    6.16    6.16  1e-07   351.30    5.97    5.97  0e+00
     4194304       1048576     float     sum   401.09   10.46   18.30  3e-08   400.06   10.48   18.34  2e-07
"""
ELEVEN = """
       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  2147483648      67108864   float    14561  147.48  127.05  1e+00    14580  147.29  126.84  1e+00
"""
GOOD = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 4.7 \n#\n"
BAD = "# Out of bounds values : 4 FAILED\n# Avg bus bandwidth    : 4.7 \n#\n"
ALONE = RANKS.replace("#  Rank  1 Group  0 Pid 6012 on     node-l device  0 [0009:01:00] NVIDIA GH200 120GB\n", "")
FIRST = """nThread 1 nGpus 2 minBytes 8 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
# Using devices
#   Rank  0 on     node-k device  0 [0x00] Tesla P100-PCIE-16GB
#   Rank  1 on     node-k device  1 [0x00] Tesla P100-PCIE-16GB
#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
"""
FIRST_ROWS = "     4194304       1048576   float     sum    0.410  10.22  10.22    2e-07    0.41   10.21  10.21    2e-07\n"
LONELY = ALONE + "\n".join(NEW.splitlines()[:3]) + "\n" + NEW.splitlines()[-1].replace("18.30", "0.00").replace("18.34", "0.00") + "\n" + GOOD
UNCOUNTED = ("     4194304       1048576     float    none      -1    19.50  215.09    0.00      0     0.79  5309.2    0.00    N/A\n")


def tagged(text: str, tag: str) -> str:
    return "".join(f"{tag}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(("text", "outcome", "cause"), [
    pytest.param(RANKS + NEW + GOOD, "passed", "none", id="new layout"),
    pytest.param(RANKS + OLD + GOOD, "passed", "none", id="error column: rounding"),
    pytest.param(tagged(RANKS + NEW + GOOD, "[1,0]<stdout>:"), "passed", "none", id="tagged by mpirun"),
    pytest.param(tagged(RANKS + NEW + GOOD, "0: "), "passed", "none", id="labelled by srun"),
    pytest.param((RANKS + NEW + GOOD).replace("#wrong", "@").replace("#", " ").replace("@", "#wrong"), "passed", "none", id="marks lost"),
    pytest.param((RANKS + NEW + GOOD).replace("busbw  #wrong", "busbw #wrong"), "passed", "none", id="narrow header"),
    pytest.param(ELEVEN + " Out of bounds values : 2 FAILED\n Avg bus bandwidth    : 126.9\n", "failed", "data", id="eleven columns, wrong data"),
    pytest.param(RANKS + NEW.replace("6.16       0", "6.16      64") + BAD, "failed", "data", id="one wrong row"),
    pytest.param(RANKS + NEW.replace("6.16       0", "6.16      64"), "failed", "data", id="wrong row, no summary"),
    pytest.param(RANKS + NEW + BAD, "failed", "data", id="wrong by the summary alone"),
    pytest.param(RANKS + OLD, "error", "output", id="no summary"),
    pytest.param(RANKS + "\n".join(NEW.splitlines()[:4]) + "\n" + GOOD, "error", "output", id="largest size missing"),
    pytest.param(RANKS + NEW.splitlines()[0], "error", "output", id="no rows"),
    pytest.param("", "error", "output", id="nothing"),
    pytest.param(RANKS + NEW.replace("18.34       0", "18.34") + GOOD, "error", "output", id="row cut short"),
    pytest.param(RANKS + NEW.replace("18.34       0", "nan       0") + GOOD, "error", "output", id="bandwidth that is none"),
    pytest.param(RANKS + NEW.replace("       0", "     N/A") + GOOD, "error", "output", id="data not checked"),
    pytest.param(ALONE + "\n".join(NEW.splitlines()[:3]) + "\n" + UNCOUNTED + GOOD, "skipped", "none", id="one rank"),
    pytest.param(RANKS + "node-k: Test CUDA failure common.cu:1304 'CUDA-capable device(s) is/are busy or unavailable'\n"
                 " .. node-k pid 5011: Test failure common.cu:1189\n", "error", "config", id="exclusive process"),
    pytest.param(RANKS + NEW + "node-l: Test NCCL failure common.cu:958 'unhandled system error / '\n", "error", "run", id="broke off"),
    pytest.param(FIRST + FIRST_ROWS + GOOD, "passed", "none", id="first layout"),
    pytest.param(FIRST + FIRST_ROWS + BAD, "failed", "data", id="first layout, wrong data"),
    pytest.param(FIRST + "NCCL failure all_reduce.cu:95 'unhandled cuda error'\n", "error", "run", id="first layout, broke off"),
    pytest.param(LONELY + LONELY.replace("node-k", "node-l"), "error", "config", id="built without MPI"),
    pytest.param("".join(a + b for a, b in zip(LONELY.splitlines(True), LONELY.replace("node-k", "node-l").splitlines(True), strict=True)),
                 "error", "config", id="built without MPI, lines mixed"),
    pytest.param(RANKS + "# Reducing maxBytes to 2097152 due to memory limitation\n" + NEW.rsplit("     4194304", 1)[0] + GOOD,
                 "passed", "none", id="no room for the largest size"),
    pytest.param(RANKS + "# Reducing maxBytes to 4194304 due to memory limitation\n" + "\n".join(NEW.splitlines()[:4]) + "\n" + GOOD,
                 "error", "output", id="ends before the size there was room for"),
    pytest.param(RANKS + NEW + GOOD + RANKS + NEW, "error", "output", id="the second of two runs did not end"),
    pytest.param(RANKS + NEW + GOOD + RANKS + NEW + GOOD, "passed", "none", id="two runs that ended"),
    pytest.param(RANKS + "node-l: Test CUDA failure common.cu:303 'uncorrectable ECC error encountered'\n", "failed", "gpu", id="a GPU broke"),
    pytest.param("node-l: Test CUDA failure common.cu:892 'no CUDA-capable device is detected'\n", "error", "config", id="no GPU given"),
    pytest.param((RANKS + NEW + GOOD).replace("\n", "\r\n"), "passed", "none", id="CRLF"),
    pytest.param("".join(f"\x1b[32m{line}\x1b[0m\n" for line in (RANKS + NEW + GOOD).splitlines()), "passed", "none", id="coloured"),
])
def test_a_run_of_nccl_tests(text, outcome, cause):
    said = ncclt.judge(ncclt.parse(text))

    assert (outcome, cause) == (said.outcome, said.cause), said.message


def test_bandwidth_is_that_of_the_largest_size_and_not_the_average():
    output = ncclt.parse(RANKS + NEW + GOOD)

    assert (18.30, 4.7) == (output.busbw_gbytes_per_second, output.average_gbytes_per_second)
    assert ((0, "node-k"), (1, "node-l")) == output.ranks


SKEW = """Epoch 2:  11%|████      | 5204/47300 [3:02:11<24:33:40,  2.10s/it, loss=2.31][E ProcessGroupNCCL.cpp:458] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7412, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1803771 milliseconds before timing out.
[E ProcessGroupNCCL.cpp:458] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4938, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1803660 milliseconds before timing out.
"""
PREFIXED = """[90113] [rank2]:[E1104 05:41:10.118271257 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=911, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.
job.node-k.nolog [stderr] [rank3]:[E1104 05:41:10.165150152 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL work: 911, last enqueued
NCCL work: 914, last completed NCCL work: 910.
[90115] [rank0]:[E1104 05:41:10.165224069 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 911, last enqueued NCCL work: 914, last completed NCCL work: 910.
"""
CLOSED = """node-k:40181:41022 [2] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-l-ib.example.com<40112>
node-k:40181:41022 [2] NCCL INFO misc/socket.cc:749 -> 6
node-k:40181:41022 [2] proxy.cc:1143 NCCL WARN Socket recv failed while polling for opId=0x7f21c4001c80
"""
OOM = """node-k:40184:41130 [5] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'
node-k:40184:41130 [5] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes
"""
RETRY = "node-m:911:999 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB: Got completion from peer 192.0.2.5<4791> with status=12 opcode=0 len=0 vendor err 129\n"
ECC = "node-m:911:999 [1] enqueue.cc:1204 NCCL WARN Cuda failure 'uncorrectable ECC error encountered'\n"


@pytest.mark.parametrize(("text", "outcome", "cause", "words"), [
    pytest.param(SKEW, "error", "unknown", "behind: rank 3; silent: rank 0, 2", id="out of step"),
    pytest.param(PREFIXED, "error", "unknown", "at work 911; silent: rank 1; a symptom", id="prefixes, wrapped"),
    pytest.param(CLOSED + OOM, "passed", "workload", "node-k, GPU 5", id="out of memory after a remote peer"),
    pytest.param(SKEW + OOM, "passed", "workload", "node-k, GPU 5", id="out of memory after a watchdog"),
    pytest.param("RuntimeError\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n", "passed", "workload",
                 "Tried to allocate", id="out of memory without NCCL"),
    pytest.param(CLOSED, "error", "unknown", "only symptoms: node-k", id="a remote peer alone"),
    pytest.param(CLOSED + RETRY, "error", "network", "node-m, GPU 1", id="retries exceeded"),
    pytest.param(CLOSED + RETRY + ECC, "failed", "gpu", "node-m, GPU 1", id="memory error of a GPU"),
    pytest.param("[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n", "failed", "gpu", "rank 3: uncorrectable", id="told by PyTorch alone"),
    pytest.param("n1:55:88 [3] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error\n", "error", "network", "n1, GPU 3", id="a port that fell"),
    pytest.param("n1:55:88 [3] init.cc:1 NCCL WARN Cuda failure 802 'system not yet initialized'\n", "error", "config", "n1, GPU 3", id="no fabric manager"),
    pytest.param(OOM + ECC, "failed", "gpu", "node-m, GPU 1", id="a GPU that broke before another ran out of memory"),
    pytest.param("[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n" + OOM, "failed", "gpu", "rank 3",
                 id="told by PyTorch before another ran out of memory"),
    pytest.param("n1:55:88 [3] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-Q8 to 33030532 bytes\n", "error", "config", "n1",
                 id="too little shared memory"),
    pytest.param("n1:55:88 [3] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr failed\n", "error", "config", "n1", id="memory may not be locked"),
    pytest.param("n1:55:88 [3] init.cc:897 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000\n", "error", "config",
                 "n1", id="two ranks on one GPU"),
    pytest.param("n1:55:88 [3] NCCL WARN NET/IB : mlx5_1:1 Got async event : GID table change\n", "error", "unknown", "only symptoms",
                 id="a renewed address"),
    pytest.param("n1:55:88 [3] NCCL WARN NET/IB : mlx5_1:1 async fatal event: local catastrophic error\n", "error", "network", "n1",
                 id="a card that failed"),
    pytest.param("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:219, unhandled cuda error\nLast error:\n"
                 "Cuda failure 214 'uncorrectable ECC error encountered'\n", "failed", "gpu", "a rank that is not named", id="last error: a GPU"),
    pytest.param("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:219, unhandled cuda error\n[rank4]: Last error:\n"
                 "Failed to CUDA calloc async 4 bytes\n", "passed", "workload", "rank 4", id="last error: out of memory"),
    pytest.param("DistBackendError: NCCL error\nLast error:\nsocketProgress: Connection closed by remote peer n2<4011>\n", "error", "unknown",
                 "neither", id="last error: a symptom"),
    pytest.param("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity)\n", "passed", "workload",
                 "Tried to allocate", id="out of memory as older PyTorch says it"),
    pytest.param("[rank2]:[E1104 05:41:10.118 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 2]  failure detected by watchdog at "
                 "work sequence id: 31 PG status: last enqueued work: 33, last completed work: 30\n", "error", "unknown", "at work 31; silent: rank 0, 1, 3",
                 id="a newer watchdog"),
    pytest.param("", "error", "unknown", "neither", id="nothing"),
    pytest.param("[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective oper", "error", "unknown", "neither", id="cut"),
])
def test_the_end_of_a_job(text, outcome, cause, words):
    said = nccl_log.explain(text, ranks=4)

    assert (outcome, cause) == (said.outcome, said.cause), said.message
    assert words in said.message
