"""What goes with a trial into its evidence: counters that grew, kernel lines, the way of the data; and which collectives a trial runs."""

import pytest
from told import answered, rank

from fleetcheck.collective.aside import aside, grew
from fleetcheck.collective.campaign.benches import benches
from fleetcheck.collective.way import way


def test_errors_and_kernel_lines_go_with_the_trial():
    around = {"before": {"links": {"eth0": {"rx_errors": 5, "rx_bytes": 10}}, "hcas": {"mlx5_0/1": {"counters": {"symbol_error": 3}}}},
              "after": {"links": {"eth0": {"rx_errors": 7, "rx_bytes": 99}}, "hcas": {"mlx5_0/1": {"counters": {"symbol_error": 1}}}},
              "kernel": [{"kind": "kernel", "address": "", "text": "mlx5_core: link down"}]}
    told = aside(answered("n1", [rank(0, transport=["NCCL INFO Using network IB"])], **around))
    assert {"eth0 rx_errors": 2, "mlx5_0/1 symbol_error": 1} == told["grew"]
    assert ["mlx5_core: link down"] == told["kernel"] and ["NCCL INFO Using network IB"] == told["way"]
    bare = aside(answered("n1", [rank(0)], before={"links": {"absent": "x"}}, kernel={"absent": "permission denied: /dev/kmsg"}))
    assert {"absent": "permission denied: /dev/kmsg"} == bare["kernel"] and {"absent": "no error counters were told"} == bare["grew"]
    assert {"absent": "no error counters were told"} == grew({"links": {"eth0": {"rx_errors": True}}}, {"links": {"eth0": {"rx_errors": "many"}, "lo": 7}})
    assert ["eth0", "mlx5_0/1"] == told["counted"] and [] == bare["counted"]


def test_what_each_rank_says_of_nvlink_sharp_is_kept_however_much_the_first_says():
    said = ["n1:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0", "n1:3:4 [1] NCCL INFO NVLS multicast support is not available on dev 1"]
    chatty = [f"n1:1:2 [0] NCCL INFO Channel {number:02}/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA" for number in range(60)]
    kept = aside(answered("n1", [rank(0, transport=[*chatty, said[0]]), rank(1, transport=[said[1]])]))["way"]
    assert said == kept[:2] and way(kept).nvls is False and way(kept).direct


@pytest.mark.parametrize("mode", ["quick", "full"])
@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize(("kind", "nodes"), [("pair", 2), ("group", 4), ("whole", 9)])
def test_every_figure_of_a_trial_has_a_name_of_its_own(kind, nodes, mode, device):
    chosen = [(bench.op, size) for bench in benches(kind, nodes, mode, device) for size in bench.sizes]
    assert len(chosen) == len(set(chosen)), "figures of one name must be alike to be compared"
    assert (nodes == 2) == any(op == "send_recv" for op, _ in chosen)
    assert all(size <= 1 << 20 for _, size in ((bench.op, size) for bench in benches(kind, nodes, mode, device, 1 << 20) for size in bench.sizes))
