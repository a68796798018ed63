"""curl, as far as the node's own exporters answer it."""

from __future__ import annotations

from fleetcheck.sandbox.machine.commands.answers import Answers, fails, says
from fleetcheck.sandbox.machine.node import Node


def commands(node: Node) -> Answers:
    """Fresh pages of metrics; no other address answers."""
    refused = "curl: (7) Failed to connect to localhost: Connection refused\n"
    answers = {"curl": fails(refused, 7), "curl http://localhost:9100/metrics": says(_node_exporter(node))}
    return answers | ({"curl http://localhost:9400/metrics": says(_dcgm_exporter(node))} if node.slots else {})


def _node_exporter(node: Node) -> dict[str, object]:
    text = ("# HELP node_time_seconds System time in seconds since epoch (1970).\n# TYPE node_time_seconds gauge\nnode_time_seconds {now}\n"
            f"# TYPE node_boot_time_seconds gauge\nnode_boot_time_seconds {node.moment.booted}\n"
            "# TYPE node_load1 gauge\nnode_load1 0.42\n")
    return {"text": text, "now": {"start": node.moment.now, "per_second": 1}}


def _dcgm_exporter(node: Node) -> str:
    model = node.base.gpus.name if node.base.gpus else ""
    labels = [f'gpu="{slot.index}",UUID="{slot.uuid}",pci_bus_id="{slot.nvml_bus_id}",device="nvidia{slot.minor}",modelName="{model}",'
              f'Hostname="{node.name}"' for slot in node.slots]
    gauges = {"DCGM_FI_DEV_GPU_TEMP": ("GPU temperature (in C).", 34),
              "DCGM_FI_DEV_XID_ERRORS": ("Value of the last XID error encountered.", 0)}
    return "".join(f"# HELP {name} {words}\n# TYPE {name} gauge\n" + "".join(f"{name}{{{each}}} {value}\n" for each in labels)
                   for name, (words, value) in gauges.items())
