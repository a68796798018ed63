"""docker, ctr, enroot, nvidia-ctk and the GPUs that containers see."""

from __future__ import annotations

import json

from fleetcheck.sandbox.machine.commands.answers import Answers, says, spelled
from fleetcheck.sandbox.machine.node import Node


def commands(node: Node) -> Answers:
    """Runtimes that are up, with all GPUs in reach and no container running."""
    runtimes = {"runc": {"path": "runc"}}
    if node.slots:
        runtimes["nvidia"] = {"path": "nvidia-container-runtime"}
    default = "nvidia" if node.slots else "runc"
    document = {
        "ServerVersion": "28.3.3", "CgroupDriver": "cgroupfs", "CgroupVersion": "2", "DefaultRuntime": default,
        "Runtimes": runtimes, "ContainersRunning": 0, "Driver": "overlay2", "LiveRestoreEnabled": True,
        "Warnings": None,
    }
    info = (f"Server:\n Containers: 0\n Server Version: 28.3.3\n Storage Driver: overlay2\n Cgroup Driver: cgroupfs\n"
            f" Default Runtime: {default}\n")
    answers = {
        "docker info": says(info),
        "docker ps": says("CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES\n"),
        "docker ps -q": says(""),
        **spelled(("docker info --format '{{json .}}'", "docker info -f '{{json .}}'"), says(json.dumps(document) + "\n")),
        "docker version": says("Server: 28.3.3\n"),
        "ctr version": says("Client:\n  Version:  v1.7.27\nServer:\n  Version:  v1.7.27\n"),
        "enroot version": says("3.5.0\n"), "enroot list": says(""), "apptainer version": says("1.3.6\n"),
        "runc --version": says("runc version 1.2.5\n"), "crictl info": says('{"status": {"conditions": []}}\n'),
    }
    return answers | (_toolkit(node) if node.slots else {})


def _toolkit(node: Node) -> Answers:
    names = [*(str(slot.index) for slot in node.slots), *(slot.uuid for slot in node.slots), "all"]
    listed = "".join(f"nvidia.com/gpu={name}\n" for name in names)
    model = node.base.gpus.name if node.base.gpus else ""
    found = "".join(f"\nDevice Index:   {slot.index}\nDevice Minor:   {slot.minor}\nModel:          {model}\n"
                    f"GPU UUID:       {slot.uuid}\nBus Location:   {slot.nvml_bus_id}\n" for slot in node.slots)
    versions = f"NVRM version:   {node.base.versions.driver}\nCUDA version:   {node.base.versions.cuda / 1000:.1f}\n"
    return {
        "nvidia-ctk --version": says("NVIDIA Container Toolkit CLI version 1.17.8\n"),
        "nvidia-ctk cdi list": says(listed),
        "nvidia-container-cli --version": says("cli-version: 1.17.8\nlib-version: 1.17.8\n"),
        "nvidia-container-cli info": says(versions + found),
    }
