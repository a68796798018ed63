"""/etc, /run, /var/log, DMI, kernel module parameters and sensors of a healthy node."""

from __future__ import annotations

import re

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.entries import Files, tree
from fleetcheck.sandbox.machine.mounts import Mount
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import modules

SSHD = {
    "port": "22", "permitrootlogin": "no", "passwordauthentication": "no", "kbdinteractiveauthentication": "no",
    "pubkeyauthentication": "yes", "permitemptypasswords": "no", "x11forwarding": "no", "usepam": "yes",
    "maxstartups": "10:30:100", "maxauthtries": "6", "loglevel": "INFO", "clientaliveinterval": "0",
    "allowtcpforwarding": "yes", "strictmodes": "yes",
}
"""Effective settings of sshd; /etc/ssh/sshd_config and ``sshd -T`` both say so."""

HOST_KEYS = ("/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key")


def shared(base: Base) -> Files:
    """The same on every node."""
    return {
        "/etc/os-release": os_release(base),
        "/etc/fstab": "".join(_fstab(mount) for mount in base.mounts if _in_fstab(mount)),
        "/etc/environment": 'PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"\n',
        "/etc/resolv.conf": "nameserver 10.20.0.2\nnameserver 10.20.0.3\noptions edns0 timeout:2\n"
                            "search fleet.example\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                       "sshd:x:109:65534::/run/sshd:/usr/sbin/nologin\n"
                       "_chrony:x:114:121::/var/lib/chrony:/usr/sbin/nologin\n"
                       "slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin\n"
                       "ops:x:1000:1000:Operations:/home/ops:/bin/bash\n",
        "/etc/group": "root:x:0:\nsudo:x:27:ops\nops:x:1000:\n",
        "/etc/security/limits.conf": "# domain type item value\n",
        "/etc/security/limits.d/90-rdma.conf": "* soft memlock unlimited\n* hard memlock unlimited\n"
                                               "* soft nofile 1048576\n* hard nofile 1048576\n",
        **dict.fromkeys(HOST_KEYS, "a private key\n"),
        "/etc/apt/sources.list.d/ubuntu.sources": "Types: deb\nURIs: http://mirror.fleet.example/ubuntu/\nSuites: noble noble-updates\n"
                                                  "Components: main universe\n",
        "/etc/ssh/sshd_config": "".join(f"{name} {value}\n" for name, value in SSHD.items()),
        "/etc/chrony/chrony.conf": "server 10.20.0.4 iburst\nserver 10.20.0.5 iburst\nserver 10.20.0.6 iburst\n"
                                   "driftfile /var/lib/chrony/chrony.drift\n"
                                   "makestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n",
        "/etc/timezone": "Etc/UTC\n",
        "/etc/docker/daemon.json": '{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": '
                                   '"nvidia-container-runtime", "runtimeArgs": []}}, '
                                   '"exec-opts": ["native.cgroupdriver=cgroupfs"]}\n' if base.gpus else "{}\n",
        "/run/systemd/system": {"folder": True},
        **_module_files(base), **_thermal(base), **_imex(base),
    }


def os_release(base: Base) -> str:
    """/etc/os-release; the bundle's image is its PRETTY_NAME, whether a distribution's or the site's own."""
    image = base.versions.image
    distribution = re.match(r"([A-Za-z ]+?) (\d+(?:\.\d+)?)", image)
    name, version = (distribution[1], distribution[2]) if distribution else ("Ubuntu", "24.04")
    return (f'PRETTY_NAME="{image}"\nNAME="{name}"\nVERSION_ID="{version}"\nID={name.split()[0].lower()}\n'
            'ID_LIKE=debian\n'
            f'IMAGE_ID="fleet-node"\nIMAGE_VERSION="{image}"\n')


def _in_fstab(mount: Mount) -> bool:
    return mount.profile or mount.mount == "/"


def _fstab(mount: Mount) -> str:
    options = mount.options if mount.kind in ("nfs", "nfs4", "lustre") else "defaults"
    return f"{mount.source} {mount.mount} {mount.kind} {options} 0 {1 if mount.mount == '/' else 0}\n"


def _module_files(base: Base) -> Files:
    files: Files = {}
    for name, size, users in modules(base):
        files |= tree(f"/sys/module/{name}", {"initstate": "live", "refcnt": len(users), "coresize": size})
    files |= tree("/sys/module/nvme_core/parameters", {"io_timeout": 30, "admin_timeout": 60})
    files |= tree("/sys/kernel/mm/transparent_hugepage", {"enabled": "always [madvise] never",
                                                          "defrag": "always defer defer+madvise [madvise] never"})
    if base.gpus:
        files |= tree("/sys/module/nvidia", {"version": base.versions.driver, "srcversion": "0A7D1F2C8E4B6935D0F1A2C"})
        files |= tree("/sys/module/nvidia/parameters", {"NVreg_EnableGpuFirmware": 18,
                                                        "NVreg_OpenRmEnableUnsupportedGpus": 1,
                                                        "NVreg_NvLinkDisable": 0})
        files |= tree("/sys/module/nvidia_drm/parameters", {"modeset": "N"})
    return files


def _thermal(base: Base) -> Files:
    x86 = base.cpu_isa == "x86_64"
    files: Files = {}
    for socket in range(base.cpus.sockets):
        now = 41_000 + 1000 * socket
        zone = {"type": "x86_pkg_temp" if x86 else f"TC{socket}", "temp": now}
        files |= tree(f"/sys/class/thermal/thermal_zone{socket}", zone)
        files |= tree(f"/sys/class/hwmon/hwmon{socket}", {
            "name": "coretemp" if x86 else "acpitz", "temp1_label": f"Package id {socket}", "temp1_input": now,
            "temp1_max": 90_000, "temp1_crit": 100_000,
        })
    return files


def _imex(base: Base) -> Files:
    """The settings of IMEX on a tray of an NVL72 rack."""
    if base.gpus is None or not base.gpus.chip.nvlink_domain:
        return {}
    return {"/etc/nvidia-imex/config.cfg": "LOG_LEVEL=4\nLOG_FILE_NAME=/var/log/nvidia-imex.log\nSERVER_PORT=50000\n"
                                           "IMEX_NODE_CONFIG_FILE=/etc/nvidia-imex/nodes_config.cfg\n"}


def own(node: Node) -> Files:
    """Names, serial numbers and logs."""
    base, identity = node.base, node.identity
    files: Files = {
        "/etc/hostname": f"{node.name}\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
                      f"{identity.address} {node.name}.fleet.example {node.name}\n",
        "/etc/machine-id": f"{identity.machine_id}\n",
    }
    if base.gpus and base.gpus.chip.nvlink_domain:
        peers = "".join(f"{address}\n" for address in identity.domain_addresses)
        files["/etc/nvidia-imex/nodes_config.cfg"] = peers
    return files | tree("/sys/class/dmi/id", _dmi(node))


def _dmi(node: Node) -> dict[str, str]:
    server, identity = node.base.server, node.identity
    return {
        "sys_vendor": server.vendor, "product_name": server.product, "product_serial": identity.chassis_serial(),
        "chassis_serial": identity.chassis_serial(), "board_serial": identity.board_serial(),
        "board_vendor": server.vendor, "board_name": server.board, "chassis_vendor": server.vendor,
        "bios_vendor": "American Megatrends International, LLC.", "bios_version": server.bios_version,
        "bios_date": server.bios_date, "product_uuid": identity.product_uuid, "product_family": "Family",
    }
