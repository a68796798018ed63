"""Runs on the node: processors present and online, their layout, governors, clocks and throttling."""

from collections import Counter
from typing import Any, Dict, List, Set, Tuple

from fleetcheck.node.collectors.values import number, text, twice
from fleetcheck.node.host import Host, absent

CPU = "/sys/devices/system/cpu"


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Counts and lists as sysfs tells them; throttle counts sampled twice."""
    cpus = [path.rpartition("/cpu")[2] for path in host.glob(CPU + "/cpu[0-9]*")]
    return {
        "online": text(host, CPU + "/online"), "present": text(host, CPU + "/present"), "possible": text(host, CPU + "/possible"),
        "layout": layout(host, cpus), "smt": text(host, CPU + "/smt/control"),
        "governors": counts(host, cpus, "cpufreq/scaling_governor"),
        "maximum_kilohertz": counts(host, cpus, "cpufreq/cpuinfo_max_freq"),
        "current_kilohertz": range_of(host, cpus, "cpufreq/scaling_cur_freq"),
        "numa_nodes": numa_nodes(host), "processor": processor(host), "vulnerabilities": vulnerabilities(host),
        "throttled": twice(lambda: throttled(host, cpus)) if host.glob(CPU + "/cpu0/thermal_throttle/*_throttle_count") else
        {"absent": "no such folder: %s/cpu0/thermal_throttle" % CPU},
    }


def layout(host: Host, cpus: List[str]) -> Any:
    """Sockets, cores and threads among online processors, from their topology."""
    sockets, cores, threads = set(), set(), 0  # type: Set[str], Set[Tuple[str, str]], int
    for cpu in cpus:
        socket = text(host, "%s/cpu%s/topology/physical_package_id" % (CPU, cpu))
        siblings = text(host, "%s/cpu%s/topology/thread_siblings_list" % (CPU, cpu))
        if isinstance(socket, str) and isinstance(siblings, str):  # an offline processor shows no topology
            threads += 1
            sockets.add(socket)
            cores.add((socket, siblings))
    if not threads:
        return {"absent": "no topology below " + CPU}
    return {"sockets": len(sockets), "cores": len(cores), "threads": threads}


def counts(host: Host, cpus: List[str], name: str) -> Any:
    """{text: how many processors say so}."""
    said = Counter(value for value in (text(host, "%s/cpu%s/%s" % (CPU, cpu, name)) for cpu in cpus) if isinstance(value, str))
    return dict(said) if said else {"absent": "no such file: %s/cpu*/%s" % (CPU, name)}


def range_of(host: Host, cpus: List[str], name: str) -> Any:
    """Lowest and highest number over the processors."""
    said = [value for value in (number(host, "%s/cpu%s/%s" % (CPU, cpu, name)) for cpu in cpus) if isinstance(value, int)]
    return {"lowest": min(said), "highest": max(said)} if said else {"absent": "no such file: %s/cpu*/%s" % (CPU, name)}


def numa_nodes(host: Host) -> Any:
    """{node: cpulist}; a node of memory alone (a GPU's) has an empty list."""
    nodes = host.glob("/sys/devices/system/node/node[0-9]*")
    return {path.rpartition("/node")[2]: text(host, path + "/cpulist") for path in nodes} if nodes else {"absent": "no such folder: /sys/devices/system/node"}


def processor(host: Host) -> Any:
    """Model, stepping and microcode as the first processor of /proc/cpuinfo tells them, and the clocks' range."""
    said = host.read_or_absent("/proc/cpuinfo", 16 << 20)
    if isinstance(said, dict):
        return said
    rows = dict(reversed([(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in said.split("\n")) if key.strip()]))
    return {key.replace(" ", "_"): rows[key] for key in ("model name", "stepping", "CPU part") if key in rows} or {"absent": "nothing known in /proc/cpuinfo"}


def vulnerabilities(host: Host) -> Any:
    """{name: mitigation} as the kernel judges itself."""
    try:
        return {name: text(host, "%s/vulnerabilities/%s" % (CPU, name)) for name in host.list(CPU + "/vulnerabilities")}
    except OSError as error:
        return absent(error)


def throttled(host: Host, cpus: List[str]) -> Any:
    """Thermal throttle events since boot, added up over cores, and over packages."""
    said = {}  # type: Dict[str, int]
    for kind in ("core", "package"):
        values = [number(host, "%s/cpu%s/thermal_throttle/%s_throttle_count" % (CPU, cpu, kind)) for cpu in cpus]
        said[kind] = sum(value for value in values if isinstance(value, int))
    return said

