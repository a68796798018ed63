"""A small healthy machine as a folder of files and programs: two sockets, two mounts, one interface, two HCAs.

The real collectors read it through Host(root). ``Machine.write`` and ``Machine.program`` break it.
"""

from __future__ import annotations

import json
import shlex
import shutil
import time
from pathlib import Path
from typing import Any

import yaml

from fleetcheck.node import collectors
from fleetcheck.node.host import Host
from fleetcheck.profile import Profile

PROFILES = Path(__file__).parents[2] / "inventories/profiles"
READ = {"source": "test", "date": "2026-11-30"}
UPTIME = 900_000
BOOTED = 1_790_000_000
HOST_COLLECTORS = ("system", "kernel_log", "cpu", "memory", "filesystems", "network", "rdma", "time")
ERRORS = ("symbol_error", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
          "port_rcv_remote_physical_errors", "link_error_recovery", "port_xmit_wait")
HARDWARE = ("local_ack_timeout_err", "rnr_nak_retry_err", "packet_seq_err", "req_cqe_error", "out_of_buffer")
FRAMES = ("rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors", "rx_missed_errors", "rx_fifo_errors",
          "rx_errors", "rx_dropped")
BOND = "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nMII Status: up\n\nSlave Interface: eth0\nMII Status: up\n"
TRACKING = """Reference ID    : 0A14FF0A (10.20.255.10)
Stratum         : 3
Ref time (UTC)  : Mon Nov 30 08:00:00 2026
System time     : 0.000021000 seconds slow of NTP time
Last offset     : -0.000003000 seconds
RMS offset      : 0.000012000 seconds
Leap status     : Normal
^* 10.20.255.10   2   6   377    37    +12us[  +15us] +/-  210us
"""


def bound(**ends: Any) -> dict[str, Any]:
    return {"unit": "", **READ, **ends}


def profile(**changes: Any) -> Profile:
    """What the healthy machine meets exactly."""
    described: dict[str, Any] = {
        "name": "small", "architecture": "x86_64",
        "gpu": yaml.safe_load((PROFILES / "h100-sxm5-8.yaml").read_text())["gpu"],
        "cpu": {"sockets": bound(equals=2), "cores": bound(equals=4), "threads": bound(equals=8), "numa_nodes": bound(equals=2),
                "governor": {"allowed": ["performance"], **READ}},
        "memory": {"total_bytes": bound(low=60e9, high=70e9)},
        "filesystems": [
            {"mount": "/", "types": ["ext4"], "free_percent": bound(low=10), "inodes_free_percent": bound(low=5)},
            {"mount": "/shared", "types": ["nfs4"], "free_percent": bound(low=5)}],
        "links": {"names": ["eth0"], "speed_mbits_per_second": bound(low=25000), "mtu_bytes": bound(equals=9000)},
        "hcas": {"names": ["mlx5_0", "mlx5_1"], "rate_gbits_per_second": bound(equals=400), "link_layer": {"allowed": ["InfiniBand"], **READ}},
        "time": {"offset_seconds": bound(low=-0.1, high=0.1), "skew_seconds": bound(low=-1, high=1)},
        "limits": {"cpu_megahertz": bound(low=1500)},
        "choices": {"required_modules": {"allowed": ["nvidia_peermem"], **READ}},
        "bundles": [{"name": "now", "driver": "", "kernel": ["6.8.0-60-generic"], "os_image": ["Ubuntu 22.04.5 LTS"], **READ}],
        **changes,
    }
    return Profile.model_validate(described)


class Machine:
    """The machine below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in healthy_files().items():
            self.write(path, text)
        for folder in ("shared", "sys/fs/pstore", "sys/devices/pci0000:00/0000:00:01.0"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self.link("/sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:01.0")
        self.program("uname", "x86_64\n")
        self.program("chronyc", TRACKING)
        self.program("timedatectl", "NTP=yes\nNTPSynchronized=yes\n")
        self.program("ethtool", "NIC statistics:\n     rx_crc_errors_phy: 0\n     rx_symbol_err_phy: 386\n     rx_corrected_bits_phy: 17750739\n")
        self.program("journalctl", "", "Data from the specified boot (-1) is not available: No such boot ID in journal\n", 1)

    def write(self, path: str, text: str | None) -> None:
        """Give a file other text; None removes it, or a folder."""
        file = self.root / path.lstrip("/")
        if text is None:
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def link(self, path: str, target: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def program(self, name: str, stdout: str = "", stderr: str = "", status: int = 0) -> None:
        """A program that prints this and ends so."""
        file = self.root / "usr/bin" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(stdout)}\nprintf %s {shlex.quote(stderr)} >&2\nexit {status}\n")
        file.chmod(0o755)

    def without_program(self, name: str) -> None:
        (self.root / "usr/bin" / name).unlink()

    def kmsg(self, *lines: str) -> None:
        """Add kernel lines, a minute apart, at the end of the log."""
        with (self.root / "dev/kmsg").open("a") as log:
            for number, line in enumerate(lines):
                text = line.replace("\n", "\\x0a")
                log.write(f"3,{9000 + number},{(1000 + 60 * number) * 1_000_000},-;{text}\n")

    def previous_boot(self, *lines: str) -> None:
        """A journal that outlived a boot with these kernel lines."""
        entries = [{"MESSAGE": line, "PRIORITY": "3", "SYSLOG_FACILITY": "0", "_SOURCE_MONOTONIC_TIMESTAMP": str(10**9 + number)}
                   for number, line in enumerate(("Linux version 6.8.0", *lines))]
        self.program("journalctl", "\n".join(map(json.dumps, entries)) + "\n")

    def answers(self, *names: str, mounts: tuple[str, ...] = ("/", "/shared")) -> dict[str, Any]:
        """What the named collectors (all of this side, if none is named) answer."""
        known = {entry[0]: entry[1] for entry in collectors.COLLECTORS}
        host, began = Host(str(self.root)), time.time()
        answers = {name: json.loads(json.dumps(known[name](host, {"mounts": list(mounts)}))) for name in names or HOST_COLLECTORS}
        if "time" in answers:   # as the fleet adds it for a timed fact
            answers["time"]["asked"] = {"started_seconds": began, "seconds": time.time() - began}
        return answers


def healthy_files() -> dict[str, str]:
    cpu, edac, net = "/sys/devices/system/cpu", "/sys/devices/system/edac/mc", "/sys/class/net/eth0"
    files = {
        "/proc/sys/kernel/hostname": "sim-01\n", "/proc/sys/kernel/random/boot_id": "6a0b\n", "/proc/uptime": f"{UPTIME}.42 1.0\n",
        "/proc/stat": f"cpu 1 2 3\nbtime {BOOTED}\n", "/proc/sys/kernel/osrelease": "6.8.0-60-generic\n", "/proc/cmdline": "quiet\n",
        "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n', "/proc/loadavg": "0.5 0.4 0.3 1/900 77\n",
        "/proc/modules": "nvidia_peermem 16384 0 - Live 0x0\nmlx5_core 99 1 mlx5_ib, Live 0x0\n", "/etc/environment": 'PATH="/usr/bin"\n',
        "/proc/sys/fs/file-nr": "4000\t0\t9000000\n", "/proc/sys/kernel/pid_max": "4194304\n",
        "/sys/class/dmi/id/product_serial": "S1\n", "/sys/class/dmi/id/chassis_serial": "S1\n",
        "/proc/1/stat": stat(1, "init", "S"), "/proc/1/status": "voluntary_ctxt_switches:\t9\n", "/proc/1/cgroup": "0::/init.scope\n",
        f"{cpu}/online": "0-7\n", f"{cpu}/present": "0-7\n", f"{cpu}/possible": "0-7\n", f"{cpu}/smt/control": "on\n",
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\ncpu MHz\t\t: 2000.000\n",
        "/proc/meminfo": "MemTotal:       63000000 kB\nMemFree:        50000000 kB\nHardwareCorrupted:     0 kB\nHugePages_Total:       0\nHugepagesize:    2048 kB\n",
        "/proc/swaps": "Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "/proc/buddyinfo": "Node 0, zone   Normal   1 2 3 4 5 6 7 8 40 50 60\n",
        f"{edac}/mc0/ce_count": "3\n", f"{edac}/mc0/ue_count": "0\n", f"{edac}/mc0/dimm0/dimm_ce_count": "3\n",
        f"{edac}/mc0/dimm0/dimm_ue_count": "0\n", f"{edac}/mc0/dimm0/dimm_label": "P1-DIMMA1\n", f"{edac}/mc0/dimm0/dimm_location": "channel 0\n",
        "/proc/mounts": "/dev/md0 / ext4 rw,relatime 0 0\n10.0.0.9:/export /shared nfs4 rw,hard 0 0\nproc /proc proc rw 0 0\n",
        "/etc/fstab": "# made at install\nUUID=1 / ext4 defaults 0 1\n10.0.0.9:/export /shared nfs4 hard 0 0\nUUID=2 /spare xfs noauto 0 0\n",
        "/proc/net/bonding/bond0": BOND,
        f"{net}/operstate": "up\n", f"{net}/carrier": "1\n", f"{net}/speed": "25000\n", f"{net}/duplex": "full\n", f"{net}/mtu": "9000\n",
        f"{net}/carrier_changes": "2\n", f"{net}/address": "94:6d:ae:00:00:01\n", "/sys/class/net/bonding_masters": "\n", "/sys/class/net/lo/operstate": "unknown\n",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
        "/dev/kmsg": "6,0,0,-;Linux version 6.8.0-60-generic\n6,1,400000,-;EXT4-fs (md0): mounted filesystem with ordered data mode\n SUBSYSTEM=block\n",
    }
    for number in range(8):
        topology = f"{cpu}/cpu{number}/topology"
        files |= {f"{topology}/physical_package_id": f"{number % 2}\n", f"{topology}/thread_siblings_list": f"{number % 4},{number % 4 + 4}\n",
                  f"{cpu}/cpu{number}/cpufreq/scaling_governor": "performance\n", f"{cpu}/cpu{number}/online": "1\n",
                  f"{cpu}/cpu{number}/thermal_throttle/core_throttle_count": "12\n", f"{cpu}/cpu{number}/thermal_throttle/package_throttle_count": "0\n"}
    files |= {f"/sys/devices/system/node/node{node}/cpulist": f"{node},{node + 4}\n" for node in range(2)}
    files |= {f"/sys/class/net/eth0/statistics/{name}": "7\n" for name in FRAMES}
    for name in ("mlx5_0", "mlx5_1", "mlx5_8"):
        up = name != "mlx5_8"   # the management port, unused
        port = f"/sys/class/infiniband/{name}/ports/1"
        files |= {f"{port}/state": "4: ACTIVE\n" if up else "1: DOWN\n", f"{port}/phys_state": "5: LinkUp\n" if up else "3: Disabled\n",
                  f"{port}/rate": "400 Gb/sec (4X NDR)\n", f"{port}/link_layer": "InfiniBand\n", f"{port}/lid": "0x21\n",
                  f"/sys/class/infiniband/{name}/fw_ver": "28.39.2048\n"}
        files |= {f"/sys/class/infiniband/{name}/device/net/ib{name[-1]}/mtu": "4092\n"} if name != "mlx5_1" else {}   # IPoIB on some
        files |= {f"{port}/counters/{counter}": "300\n" for counter in ERRORS}
        files |= {f"{port}/hw_counters/{counter}": "5\n" for counter in HARDWARE}
    return files


def stat(pid: int, name: str, state: str, started_seconds: int = 100, flags: int = 4194560) -> str:
    """/proc/PID/stat."""
    return f"{pid} ({name}) {state} 1 1 1 0 -1 {flags} 1 0 0 0 1 1 0 0 20 0 1 0 {started_seconds * 100} 1 1 1\n"
