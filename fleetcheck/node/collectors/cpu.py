"""Runs on the node: processors present and online, their layout, governors, clocks and throttling."""

import re
import time
from collections import Counter
from typing import Any, Dict, List, Set, Tuple

from fleetcheck.node.collectors.values import count, number, text, twice
from fleetcheck.node.host import Host, absent

READS = (
    ("/sys/devices/system/cpu", "any user"),
    ("/sys/devices/system/node", "any user"),
    ("/proc/cpuinfo", "any user"),
)

CPU = "/sys/devices/system/cpu"
NO_COUNTERS = "this processor has no thermal throttle counters"
SPIN_SECONDS = 0.05
LIST = re.compile(r"\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*$")


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Counts and lists as sysfs tells them; throttle counts sampled twice."""
    cpus = [path.rpartition("/cpu")[2] for path in host.glob(CPU + "/cpu[0-9]*")]
    return {
        "online": text(host, CPU + "/online"),
        "present": text(host, CPU + "/present"),
        "possible": text(host, CPU + "/possible"),
        "layout": layout(host, cpus),
        "smt": text(host, CPU + "/smt/control"),
        "governors": counts(host, cpus, "cpufreq/scaling_governor"),
        "maximum_kilohertz": counts(host, cpus, "cpufreq/cpuinfo_max_freq"),
        "megahertz": megahertz(host, cpus),
        "numa_nodes": numa_nodes(host),
        "processor": processor(host),
        "vulnerabilities": vulnerabilities(host),
        "throttled": twice(lambda: throttled(host))
        if host.glob(CPU + "/cpu0/thermal_throttle/*_throttle_count")
        else {"none": NO_COUNTERS},
    }


def layout(host: Host, cpus: List[str]) -> Any:
    """Sockets, cores and threads among online processors, from their topology; absent when one of them makes no sense."""
    sockets: Set[int] = set()
    cores: Set[Tuple[int, str]] = set()
    threads = 0
    for cpu in cpus:
        folder = "%s/cpu%s" % (CPU, cpu)
        if text(host, folder + "/online") == "0" or not host.exists(folder + "/topology"):  # the first may lack the file
            continue
        socket = number(host, folder + "/topology/physical_package_id")
        siblings = text(host, folder + "/topology/thread_siblings_list")
        if isinstance(socket, dict) or isinstance(siblings, dict) or not LIST.match(siblings):
            return {"absent": "no topology of processor %s: %s, %s" % (cpu, socket, siblings)}
        threads += 1
        sockets.add(socket)
        cores.add((socket, siblings))
    return {"sockets": len(sockets), "cores": len(cores), "threads": threads} if threads else {"absent": "no topology below " + CPU}


def counts(host: Host, cpus: List[str], name: str) -> Any:
    """{text: how many processors say so}."""
    said = Counter(
        value for value in (text(host, "%s/cpu%s/%s" % (CPU, cpu, name)) for cpu in cpus) if isinstance(value, str)
    )
    return dict(said) if said else {"absent": "no such file: %s/cpu*/%s" % (CPU, name)}


def megahertz(host: Host, cpus: List[str]) -> Any:
    """Lowest and highest clock now, while this probe keeps one processor busy: an idle one may rest at any clock. The kernel tells it
    in two places; where they differ the lower word on the busy processor counts, for a stuck clock may show in one alone."""
    until = time.monotonic() + SPIN_SECONDS
    while time.monotonic() < until:
        pass
    said = [number(host, "%s/cpu%s/cpufreq/scaling_cur_freq" % (CPU, cpu)) for cpu in cpus]
    sources = [[value / 1000.0 for value in said if isinstance(value, int)], cpuinfo_megahertz(host)]
    told = [values for values in sources if values]
    return (
        {"lowest": min(map(min, told)), "highest": min(map(max, told))}
        if told
        else {"absent": "no clock in /proc/cpuinfo nor below " + CPU}
    )


def cpuinfo_megahertz(host: Host) -> List[float]:
    """The clocks of /proc/cpuinfo; aarch64 has none there."""
    said = host.read_or_absent("/proc/cpuinfo", 16 << 20)
    return (
        []
        if isinstance(said, dict)
        else [float(value) for value in re.findall(r"^cpu MHz\s*:\s*(\d+(?:\.\d+)?)\s*$", said, re.MULTILINE)]
    )


def numa_nodes(host: Host) -> Any:
    """{node: cpulist}; a node of memory alone (a GPU's) has an empty list."""
    nodes = host.glob("/sys/devices/system/node/node[0-9]*")
    if not nodes:
        return {"absent": "no such folder: /sys/devices/system/node"}
    return {path.rpartition("/node")[2]: cpulist(host, path + "/cpulist") for path in nodes}


def cpulist(host: Host, path: str) -> Any:
    """A list of processors, possibly of none."""
    said = text(host, path)
    if isinstance(said, dict) or not said or LIST.match(said):
        return said
    return {"absent": "not a list of processors: %s: %.60r" % (path, said)}


def processor(host: Host) -> Any:
    """Model, stepping and microcode as the first processor of /proc/cpuinfo tells them, and the clocks' range."""
    said = host.read_or_absent("/proc/cpuinfo", 16 << 20)
    if isinstance(said, dict):
        return said
    rows = dict(
        reversed(
            [
                (key.strip(), value.strip())
                for key, _, value in (line.partition(":") for line in said.split("\n"))
                if key.strip()
            ]
        )
    )
    return {key.replace(" ", "_"): rows[key] for key in ("model name", "stepping", "CPU part") if key in rows} or {
        "absent": "nothing known in /proc/cpuinfo"
    }


def vulnerabilities(host: Host) -> Any:
    """{name: mitigation} as the kernel judges itself."""
    try:
        return {name: text(host, "%s/vulnerabilities/%s" % (CPU, name)) for name in host.list(CPU + "/vulnerabilities")}
    except OSError as error:
        return absent(error)


def throttled(host: Host) -> Any:
    """Thermal throttle events since boot, added up over cores, and over packages."""
    return {
        kind: total(host, host.glob("%s/cpu[0-9]*/thermal_throttle/%s_throttle_count" % (CPU, kind)))
        for kind in ("core", "package")
    }


def total(host: Host, paths: List[str]) -> Any:
    """The sum of numbers; absent when one cannot be read."""
    values = [count(host, path) for path in paths]
    return next((value for value in values if isinstance(value, dict)), None) or sum(values)
