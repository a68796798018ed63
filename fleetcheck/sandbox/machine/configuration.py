"""/etc, /run, /var/log, DMI, kernel module parameters and sensors of a healthy node. Controller side."""

from __future__ import annotations

import re

from fleetcheck.sandbox.machine.base import Base, Mount
from fleetcheck.sandbox.machine.entries import Files, tree
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import modules, services

SSHD = {
    "port": "22", "permitrootlogin": "no", "passwordauthentication": "no", "kbdinteractiveauthentication": "no", "pubkeyauthentication": "yes",
    "permitemptypasswords": "no", "x11forwarding": "no", "usepam": "yes", "maxstartups": "10:30:100", "maxauthtries": "6", "loglevel": "INFO",
    "clientaliveinterval": "0", "allowtcpforwarding": "yes", "strictmodes": "yes",
}
"""Effective settings of sshd; /etc/ssh/sshd_config and ``sshd -T`` both say so."""


def shared(base: Base) -> Files:
    """The same on every node."""
    return {
        "/etc/os-release": os_release(base),
        "/etc/fstab": "".join(_fstab(mount) for mount in base.mounts if _in_fstab(mount)),
        "/etc/environment": 'PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"\n',
        "/etc/resolv.conf": "nameserver 10.20.0.2\nnameserver 10.20.0.3\noptions edns0 timeout:2\nsearch fleet.example\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\nsshd:x:109:65534::/run/sshd:/usr/sbin/nologin\n"
                       "_chrony:x:114:121::/var/lib/chrony:/usr/sbin/nologin\nslurm:x:64030:64030::/nonexistent:/usr/sbin/nologin\n"
                       "ops:x:1000:1000:Operations:/home/ops:/bin/bash\n",
        "/etc/group": "root:x:0:\nsudo:x:27:ops\nops:x:1000:\n",
        "/etc/security/limits.conf": "# domain type item value\n",
        "/etc/security/limits.d/90-rdma.conf": "* soft memlock unlimited\n* hard memlock unlimited\n* soft nofile 1048576\n* hard nofile 1048576\n",
        "/etc/ssh/sshd_config": "".join(f"{name} {value}\n" for name, value in SSHD.items()),
        "/etc/chrony/chrony.conf": "server 10.20.0.4 iburst\nserver 10.20.0.5 iburst\nserver 10.20.0.6 iburst\ndriftfile /var/lib/chrony/chrony.drift\n"
                                   "makestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n",
        "/etc/timezone": "Etc/UTC\n",
        "/etc/docker/daemon.json": '{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}, '
                                   '"exec-opts": ["native.cgroupdriver=cgroupfs"]}\n' if base.gpus else "{}\n",
        "/run/systemd/system": {"folder": True},
        **_module_files(base), **_thermal(base), **_gpu_files(base),
    }


def os_release(base: Base) -> str:
    """/etc/os-release. A bundle's image name that is no distribution's is the site's own IMAGE_VERSION."""
    image = base.versions.image
    distribution = re.match(r"([A-Za-z ]+?) (\d+(?:\.\d+)?)", image)
    pretty = image if distribution else "Ubuntu 24.04.3 LTS"
    name, version = (distribution[1], distribution[2]) if distribution else ("Ubuntu", "24.04")
    return (f'PRETTY_NAME="{pretty}"\nNAME="{name}"\nVERSION_ID="{version}"\nVERSION="{pretty.partition(" ")[2]}"\nID={name.split()[0].lower()}\n'
            f'ID_LIKE=debian\nIMAGE_ID="fleet-node"\nIMAGE_VERSION="{image}"\nHOME_URL="https://www.ubuntu.com/"\n')


def _in_fstab(mount: Mount) -> bool:
    return mount.profile or mount.kind in ("ext4", "xfs", "vfat")


def _fstab(mount: Mount) -> str:
    options = mount.options if mount.kind in ("nfs", "nfs4", "lustre") else "defaults"
    return f"{mount.source} {mount.mount} {mount.kind} {options} 0 {1 if mount.mount == '/' else 0}\n"


def _module_files(base: Base) -> Files:
    files: Files = {}
    for name, size, users in modules(base):
        files |= tree(f"/sys/module/{name}", {"initstate": "live", "refcnt": len(users), "coresize": size})
    files |= tree("/sys/module/nvme_core/parameters", {"io_timeout": 30, "admin_timeout": 60})
    files |= tree("/sys/kernel/mm/transparent_hugepage", {"enabled": "always [madvise] never", "defrag": "always defer defer+madvise [madvise] never"})
    if base.gpus:
        files |= tree("/sys/module/nvidia", {"version": base.versions.driver, "srcversion": "0A7D1F2C8E4B6935D0F1A2C"})
        files |= tree("/sys/module/nvidia/parameters", {"NVreg_EnableGpuFirmware": 18, "NVreg_OpenRmEnableUnsupportedGpus": 1, "NVreg_NvLinkDisable": 0})
        files |= tree("/sys/module/nvidia_drm/parameters", {"modeset": "N"})
    return files


def _thermal(base: Base) -> Files:
    files: Files = {}
    for socket in range(base.cpus.sockets):
        files |= tree(f"/sys/class/thermal/thermal_zone{socket}", {"type": "x86_pkg_temp" if base.cpu_isa == "x86_64" else f"TC{socket}", "temp": 41_000 + 1000 * socket})
        files |= tree(f"/sys/class/hwmon/hwmon{socket}", {"name": "coretemp" if base.cpu_isa == "x86_64" else "acpitz", "temp1_label": f"Package id {socket}",
                                                          "temp1_input": 41_000 + 1000 * socket, "temp1_max": 90_000, "temp1_crit": 100_000})
    return files


def _gpu_files(base: Base) -> Files:
    files: Files = {}
    if base.gpus is None:
        return files
    if base.gpus.chip.nvlink_domain:
        files["/etc/nvidia-imex/config.cfg"] = "LOG_LEVEL=4\nLOG_FILE_NAME=/var/log/nvidia-imex.log\nSERVER_PORT=50000\nIMEX_NODE_CONFIG_FILE=/etc/nvidia-imex/nodes_config.cfg\n"
    return files


def own(node: Node) -> Files:
    """Names, serial numbers and logs."""
    base, identity = node.base, node.identity
    server = base.server
    files: Files = {
        "/etc/hostname": f"{node.name}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n::1 localhost ip6-localhost\n{identity.address} {node.name}.fleet.example {node.name}\n",
        "/etc/machine-id": f"{identity.machine_id}\n",
        **_logs(node),
    }
    return files | tree("/sys/class/dmi/id", {
        "sys_vendor": server.vendor, "product_name": server.product, "product_serial": identity.chassis_serial(), "chassis_serial": identity.chassis_serial(),
        "board_serial": identity.board_serial(), "board_vendor": server.vendor, "board_name": server.board, "chassis_vendor": server.vendor,
        "bios_vendor": "American Megatrends International, LLC.", "bios_version": server.bios_version, "bios_date": server.bios_date,
        "product_uuid": identity.product_uuid, "product_family": "Family", "product_sku": "To be filled by O.E.M.",
    })


def _logs(node: Node) -> Files:
    names = {service.unit for service in services(node.base)}
    stamp = node.moment.since_boot(58).strftime("%b %d %Y %H:%M:%S")
    files: Files = {}
    if "nvidia-fabricmanager" in names:
        count = len(node.base.server.switches)
        files["/var/log/fabricmanager.log"] = (
            f"[{stamp}] [INFO] [tid 2017] Fabric Manager version {node.base.versions.driver} is running with the following configuration options\n"
            f"[{stamp}] [INFO] [tid 2017] Connected to 1 node.\n"
            f"[{stamp}] [INFO] [tid 2017] Getting fabric node FM version info\n"
            + (f"[{stamp}] [INFO] [tid 2017] detected system topology is based on {len(node.slots)} GPUs and {count} NVSwitches\n" if count else "")
            + f"[{stamp}] [INFO] [tid 2017] Successfully configured all the available NVSwitches to route GPU NVLink traffic. NVLink Peer-to-Peer support will be enabled once the GPUs are successfully registered with the NVLink fabric.\n"
        )
    if "nvidia-imex" in names:
        files["/var/log/nvidia-imex.log"] = f"[{stamp}] [INFO] [tid 2033] IMEX version {node.base.versions.driver} is running with the following configuration options\n"
        peers = range((node.identity.number - 1) // 18 * 18 + 1, (node.identity.number - 1) // 18 * 18 + 19)
        files["/etc/nvidia-imex/nodes_config.cfg"] = "".join(f"10.20.{number // 250}.{number % 250 + 1}\n" for number in peers)
    return files
