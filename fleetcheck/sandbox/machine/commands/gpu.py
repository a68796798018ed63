"""nvidia-smi, fabric manager, IMEX and DCGM, over the same numbers as NVML."""

from __future__ import annotations

import json

from fleetcheck.sandbox.machine.base import Gpus
from fleetcheck.sandbox.machine.commands.answers import Answers, fails, says, spelled
from fleetcheck.sandbox.machine.node import GpuSlot, Node
from fleetcheck.sandbox.machine.nvml import corrected_errors, idle_milliwatts, temperature_celsius
from fleetcheck.sandbox.machine.pci_function import idle_generation
from fleetcheck.sandbox.machine.software import services

DCGM = "4.4.1"
DIAGNOSED = (  # run level, category, sub-test: what each level adds (DCGM documentation, "dcgmi diag")
    (1, "Deployment", "software"), (2, "Integration", "pcie"), (2, "Hardware", "memory"), (3, "Hardware", "diagnostic"),
    (3, "Hardware", "nvbandwidth"), (3, "Stress", "memory_bandwidth"), (3, "Stress", "targeted_stress"), (3, "Stress", "targeted_power"),
)


def commands(node: Node) -> Answers:
    """None of them exists on a host without GPUs."""
    gpus = node.base.gpus
    if gpus is None:
        return {}
    return _smi(node, gpus) | _links(node, gpus) | _services(node) | _dcgm(node, gpus)


def _smi(node: Node, gpus: Gpus) -> Answers:
    listed = "".join(f"GPU {slot.index}: {gpus.name} (UUID: {slot.uuid})\n" for slot in node.slots)
    head = ("\n==============NVSMI LOG==============\n\nTimestamp                                 : "
            f"{node.moment.ago(0):%a %b %d %H:%M:%S %Y}\n"
            f"Driver Version                            : {node.base.versions.driver}\n"
            f"CUDA Version                              : {_cuda(node)}\n\n"
            f"Attached GPUs                             : {len(node.slots)}\n")
    return spelled(("nvidia-smi -L", "nvidia-smi --list-gpus"), says(listed)) | {
        "nvidia-smi": says(_table(node, gpus)), "nvidia-smi -q": says(head + "".join(_details(node, gpus, slot)
                                                                                     for slot in node.slots)),
    }


def _cuda(node: Node) -> str:
    return f"{node.base.versions.cuda // 1000}.{node.base.versions.cuda % 1000 // 10}"


def _details(node: Node, gpus: Gpus, slot: GpuSlot) -> str:
    celsius, watts = temperature_celsius(node, gpus, slot.index), idle_milliwatts(node, gpus, slot.index) / 1000
    values = {
        "Product Name": gpus.name, "Persistence Mode": "Enabled" if gpus.persistence else "Disabled",
        "Serial Number": slot.serial, "GPU UUID": slot.uuid, "Minor Number": slot.minor,
        "VBIOS Version": node.base.versions.vbios, "GSP Firmware Version": node.base.versions.gsp,
        "Bus Id": slot.nvml_bus_id, "PCIe Generation Current": idle_generation(node.base, slot.index),
        "Link Width Current": f"{gpus.width}x", "Fan Speed": "N/A", "Performance State": "P0",
        "FB Memory Total": f"{gpus.memory_bytes >> 20} MiB", "FB Memory Used": "0 MiB", "Compute Mode": "Default",
        "ECC Mode Current": "Enabled" if gpus.ecc else "Disabled",
        "Volatile DRAM Correctable": corrected_errors(node, slot.index), "Volatile DRAM Uncorrectable": 0,
        "Remapped Rows Pending": "No", "GPU Current Temp": f"{celsius} C", "Current Power Draw": f"{watts:.2f} W",
        "Current Power Limit": f"{gpus.watts:.2f} W", "Processes": "None",
    }
    return f"GPU {slot.nvml_bus_id}\n" + "".join(f"    {name:<38}: {value}\n" for name, value in values.items()) + "\n"


def _table(node: Node, gpus: Gpus) -> str:
    line = "+-----------------------------------------------------------------------------------------+\n"
    rows = "".join(
        f"|   {slot.index}  {gpus.name:<24} On  |   {slot.nvml_bus_id} Off |                    0 |\n"
        f"| N/A   {temperature_celsius(node, gpus, slot.index)}C    P0   "
        f"{idle_milliwatts(node, gpus, slot.index) // 1000:>5}W / {gpus.watts:>4}W "
        f"|       0MiB / {gpus.memory_bytes >> 20}MiB |      0%      Default |\n{line}" for slot in node.slots)
    driver = node.base.versions.driver
    head = f"| NVIDIA-SMI {driver:<18} Driver Version: {driver:<18} CUDA Version: {_cuda(node):<8} |\n"
    return line + head + line + rows


def _links(node: Node, gpus: Gpus) -> Answers:
    speed = gpus.link_mbytes_per_second / 1000
    status = "".join(f"GPU {slot.index}: {gpus.name} (UUID: {slot.uuid})\n"
                     + "".join(f"\t Link {link}: {speed:.3f} GB/s\n" for link in range(gpus.links))
                     for slot in node.slots)
    names = [f"GPU{slot.index}" for slot in node.slots]
    topology = "\t" + "\t".join(names) + "\n" + "".join(
        f"{name}\t" + "\t".join(" X " if name == other else f"NV{gpus.links}" for other in names) + "\n"
        for name in names)
    return spelled(("nvidia-smi nvlink -s", "nvidia-smi nvlink --status"),
                   says(status)) | {"nvidia-smi topo -m": says(topology)}


def _services(node: Node) -> Answers:
    names, driver = {service.unit for service in services(node.base)}, node.base.versions.driver
    answers: Answers = {"nvidia-persistenced --version": says(f"nvidia-persistenced:  version {driver}\n"),
                        "modinfo -F version nvidia": says(f"{driver}\n")}
    if "nvidia-fabricmanager" in names:
        answers |= spelled(("nv-fabricmanager --version", "nv-fabricmanager -v"),
                           says(f"Fabric Manager version is : {driver}\n"))
    if "nvidia-imex" in names:
        answers |= _imex(node)
    return answers


def _imex(node: Node) -> Answers:
    peers = node.identity.domain_addresses
    table = "".join(f"Node #{number:<3} - {address:<15} - READY                - Version: {node.base.versions.driver}  "
                    f"      - Hostname: tray-{number + 1:02}\n"
                    for number, address in enumerate(peers))
    domain = f"Connectivity Table Legend:\nC - Connected\n{table}Domain State: UP\n"
    return spelled(("nvidia-imex-ctl -N", "nvidia-imex-ctl --domain"), says(domain)) | {
        "nvidia-imex-ctl -q": says("READY\n"), "nvidia-imex-ctl": says("READY\n"),
        "nvidia-imex --version": says(f"IMEX version is: {node.base.versions.driver}\n")}


def _dcgm(node: Node, gpus: Gpus) -> Answers:
    listed = "".join(f"| {slot.index:<6} | Name: {gpus.name:<58} |\n|        | PCI Bus ID: {slot.nvml_bus_id:<52} |\n"
                     f"|        | Device UUID: {slot.uuid:<51} |\n"
                     for slot in node.slots)
    diagnoses = {f"dcgmi diag -r {level} -j": says(_diagnosed(node, level)) for level in (1, 2, 3)}
    return {**diagnoses, "dcgmi discovery -l": says(f"{len(node.slots)} GPUs found.\n{listed}"),
            "dcgmi --version": says(f"\ndcgmi  version: {DCGM}\n\n"),
            "dcgmi health -c": says("Health Monitor Report\nOverall Health: Healthy\n"),
            "dcgmi": fails("Error: unable to parse the command line\n", 255)}


def _diagnosed(node: Node, level: int) -> str:
    """A diagnostic that finds nothing, in the JSON of DCGM 4. Level 1 looks at the installation alone."""
    results = [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": slot.index, "status": "Pass"} for slot in node.slots]
    categories: dict[str, list[object]] = {}
    for least, category, test in DIAGNOSED:
        if least <= level:
            categories.setdefault(category, []).append({"name": test, "results": results, "test_summary": {"status": "Pass"}})
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": name, "tests": tests} for name, tests in categories.items()]},
                       "metadata": {"version": DCGM, "Driver Version Detected": node.base.versions.driver}}) + "\n"
