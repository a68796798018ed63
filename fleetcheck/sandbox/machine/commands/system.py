"""uname, lscpu, chronyc, dmidecode and other programs that tell what the machine is."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.commands.answers import Answers, fails, rows, says, spelled
from fleetcheck.sandbox.machine.configuration import SSHD
from fleetcheck.sandbox.machine.entries import ranges
from fleetcheck.sandbox.machine.memory import kbytes
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.proc import BUILD, kernel_settings
from fleetcheck.sandbox.machine.processors import cpus_of_node, dimm_label
from fleetcheck.sandbox.machine.software import modules


def commands(node: Node) -> Answers:
    """Programs that read the machine itself."""
    return _uname(node) | _clock(node) | _processors(node) | _memory(node) | _users(node)


def _uname(node: Node) -> Answers:
    isa, kernel = node.base.cpu_isa, node.base.versions.kernel
    words = {"-m": isa, "-r": kernel, "-n": node.name, "-s": "Linux", "-v": BUILD, "-p": isa, "-o": "GNU/Linux"}
    answers = {f"uname {word}": says(f"{text}\n") for word, text in words.items()}
    whole = f"Linux {node.name} {kernel} {BUILD} {isa} {isa} {isa} GNU/Linux\n"
    return answers | {"uname": says("Linux\n"), "uname -a": says(whole), "hostname": says(f"{node.name}\n"),
                      "hostname -f": says(f"{node.name}.fleet.example\n"),
                      "hostname -I": says(f"{node.identity.address} \n"),
                      "systemd-detect-virt": fails("", 1, "none\n")}


def _clock(node: Node) -> Answers:
    stamp = node.moment.ago(37).strftime("%a %b %d %H:%M:%S %Y")
    offset = node.identity.pick(1_000, 48_000, "clock") / 1e9
    tracking = rows({
        "Reference ID": "0A140004 (10.20.0.4)", "Stratum": 3, "Ref time (UTC)": stamp,
        "System time": f"{offset:.9f} seconds fast of NTP time", "Last offset": f"+{offset / 3:.9f} seconds",
        "RMS offset": f"{offset * 1.2:.9f} seconds", "Frequency": "12.302 ppm slow", "Residual freq": "+0.001 ppm",
        "Skew": "0.041 ppm", "Root delay": "0.000412083 seconds", "Root dispersion": "0.000133510 seconds",
        "Update interval": "64.5 seconds", "Leap status": "Normal",
    }, width=16)
    sources = ("MS Name/IP address         Stratum Poll Reach LastRx Last sample               \n" + "=" * 79 + "\n"
               "^* 10.20.0.4                     2   6   377    37    +12us[  +15us] +/-  210us\n"
               "^+ 10.20.0.5                     2   6   377    38    -31us[  -28us] +/-  262us\n"
               "^+ 10.20.0.6                     2   6   377    36    +44us[  +47us] +/-  281us\n")
    return {"chronyc tracking": says(tracking), "chronyc sources": says(sources), "chronyc activity": says(
        "200 OK\n3 sources online\n0 sources offline\n0 sources doing burst (return to online)\n"
        "0 sources doing burst (return to offline)\n0 sources with unknown address\n")} | _timedatectl(node)


def _timedatectl(node: Node) -> Answers:
    stamp = node.moment.ago(0).strftime("%a %Y-%m-%d %H:%M:%S UTC")
    shown = rows({"Timezone": "Etc/UTC", "LocalRTC": "no", "CanNTP": "yes", "NTP": "yes", "NTPSynchronized": "yes",
                  "TimeUSec": stamp, "RTCTimeUSec": stamp}, "=")
    status = (f"               Local time: {stamp}\n           Universal time: {stamp}\n"
              f"                 RTC time: {stamp[:-4]}\n"
              "                Time zone: Etc/UTC (UTC, +0000)\nSystem clock synchronized: yes\n"
              "              NTP service: active\n          RTC in local TZ: no\n")
    none = "Failed to query server: The name org.freedesktop.timesync1 was not provided by any .service files\n"
    return {"timedatectl": says(status), "timedatectl show": says(shown), "timedatectl timesync-status": fails(none)}


def _processors(node: Node) -> Answers:
    cpus = node.base.cpus
    chip = cpus.processor
    values: dict[str, object] = {
        "Architecture": chip.isa, "CPU op-mode(s)": "32-bit, 64-bit" if chip.isa == "x86_64" else "64-bit",
        "Byte Order": "Little Endian", "CPU(s)": cpus.threads, "On-line CPU(s) list": f"0-{cpus.threads - 1}",
        "Vendor ID": chip.vendor, "Model name": chip.model_name, "CPU family": chip.family, "Model": chip.model,
        "Thread(s) per core": cpus.smt, "Core(s) per socket": cpus.cores // cpus.sockets, "Socket(s)": cpus.sockets,
        "Stepping": chip.stepping, "CPU max MHz": f"{chip.highest_khz / 1000:.4f}",
        "CPU min MHz": f"{chip.least_khz / 1000:.4f}", "NUMA node(s)": cpus.numa_nodes,
    }
    nodes = {number: ranges(cpus_of_node(cpus, number)) for number in range(cpus.numa_nodes)}
    values |= {f"NUMA node{number} CPU(s)": listed for number, listed in nodes.items()}
    counts = spelled(("nproc", "getconf _NPROCESSORS_ONLN", "getconf _NPROCESSORS_CONF"), says(f"{cpus.threads}\n"))
    return counts | {"lscpu": says("".join(f"{f'{name}:':<33}{value}\n" for name, value in values.items())),
                     "getconf PAGE_SIZE": says("4096\n"), "getconf PAGESIZE": says("4096\n"),
                     "numactl -H": says(_numactl(node.base, nodes)),
                     "numactl --hardware": says(_numactl(node.base, nodes))}


def _numactl(base: Base, nodes: dict[int, str]) -> str:
    count = base.cpus.numa_nodes
    megabytes = base.memory_bytes // base.cpus.processor_nodes >> 20
    lines = [f"available: {count} nodes (0-{count - 1})\n"]
    for number in range(count):
        listed = " ".join(map(str, cpus_of_node(base.cpus, number)))
        lines.append(f"node {number} cpus: {listed}\nnode {number} size: {megabytes if nodes[number] else 0} MB\n")
    return "".join(lines)


def _memory(node: Node) -> Answers:
    base = node.base
    table = "".join(_dimm(node, number) for number in range(base.server.dimms))
    head = "# dmidecode 3.5\nGetting SMBIOS data from sysfs.\nSMBIOS 3.5.0 present.\n\n"
    names = ("dmidecode -t memory", "dmidecode -t 17", "dmidecode --type memory", "dmidecode --type 17")
    known = kbytes(node)
    total, free, available = (known[name] * 1024 for name in ("MemTotal", "MemFree", "MemAvailable"))
    used, cached = total - available, available - free
    table_of_free = "".join(f"{name:<5}" + "".join(f"{value:>16}" for value in values) + "\n" for name, values in (
        ("", ("total", "used", "free", "shared", "buff/cache", "available")),
        ("Mem:", (total, used, free, 0, cached, available)), ("Swap:", (0, 0, 0))))
    serials = {"system-serial-number": node.identity.chassis_serial(),
               "baseboard-serial-number": node.identity.board_serial(), "system-product-name": base.server.product,
               "system-manufacturer": base.server.vendor, "bios-version": base.server.bios_version,
               "chassis-serial-number": node.identity.chassis_serial()}
    return (spelled(names, says(head + table)) | {"free -b": says(table_of_free)}
            | {f"dmidecode -s {name}": says(f"{text}\n") for name, text in serials.items()})


def _dimm(node: Node, number: int) -> str:
    server = node.base.server
    values = {
        "Total Width": "80 bits", "Data Width": "64 bits", "Size": f"{server.dimm_gibibytes} GB", "Form Factor": "DIMM",
        "Set": "None", "Locator": dimm_label(node.base, number),
        "Bank Locator": f"P{number // max(server.dimms // 2, 1)}_Node0_Channel{number % 8}_Dimm0",
        "Type": server.dimm_kind, "Type Detail": "Synchronous Registered (Buffered)",
        "Speed": f"{server.dimm_mtps} MT/s", "Manufacturer": "Samsung",
        "Serial Number": node.identity.part_serial("dimm", number, "S"), "Asset Tag": "Unknown",
        "Part Number": "M321R8GA0BB0-CQKZJ", "Rank": 2, "Configured Memory Speed": f"{server.dimm_mtps} MT/s",
    }
    return f"Handle 0x{0x20 + number:04X}, DMI type 17, 92 bytes\nMemory Device\n" + "".join(
        f"\t{name}: {value}\n" for name, value in values.items()) + "\n"


def _users(node: Node) -> Answers:
    settings = {path.removeprefix("/proc/sys/").replace("/", "."): text.strip() for path,
                text in kernel_settings(node.base).items()
                if isinstance(text, str)}
    loaded = "Module                  Size  Used by\n" + "".join(
        f"{name:<20} {size:>8}  {len(users)}{' ' + ','.join(users) if users else ''}\n" for name, size,
        users in modules(node.base))
    return {
        "id": says("uid=0(root) gid=0(root) groups=0(root)\n"), "id -u": says("0\n"), "id -un": says("root\n"),
        "whoami": says("root\n"), "who": says(""),
        "who -b": says(f"         system boot  {node.moment.since_boot(0).strftime('%Y-%m-%d %H:%M')}\n"),
        "uptime -s": says(node.moment.since_boot(0).strftime("%Y-%m-%d %H:%M:%S") + "\n"),
        "loginctl list-sessions": says("No sessions.\n"), "loginctl list-users": says("No users.\n"),
        "sshd -T": says("".join(f"{name} {value}\n" for name, value in SSHD.items())), "lsmod": says(loaded),
        "sysctl -a": says(rows(settings, " = ")), "passwd -S": says("ops P 2026-01-05 0 99999 7 -1\n"),
        "getenforce": says("Disabled\n"),
    }
