"""What is injected to prove the checks of services, containers, scheduler, exporters, doors, torch, scratch and reachability."""

from __future__ import annotations

import json
import time

SHOWN = "LoadState=loaded\nUnitFileState=enabled\nResult=success\nNRestarts=0\nLimitMEMLOCK={}\nLimitNOFILE={}\n"
LOG = ("[Nov 29 2026 10:00:{:02d}] [INFO] [tid 2017] Fabric Manager version 570.133.20 is running with the following configuration options\n"
       "[Nov 29 2026 10:00:{:02d}] [{}] [tid 2017] {}\n")
TOPOLOGY = "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager initialization"
NODE = "NodeName=n Arch=x86_64 CoresPerSocket=56 \n   Gres={gres}\n   State={state} ThreadsPerCore=2\n   Reason={reason}\n"
TORCH = {"torch": "2.8.0", "cuda": "12.8", "nccl": "2.27.3", "nccl_required": "2.27.3", "nccl_installed": "2.27.3", "plugin": "libnccl-net.so.0.0.0"}
SOCKETS = "  sl  local_address rem_address   st\n   0: 00000000:0016 00000000:0000 0A\n   1: {}:1F90 00000000:0000 0A\n"
FAILED = "  UNIT           LOAD   ACTIVE SUB    DESCRIPTION\n● {} loaded failed failed Some unit\n\n1 loaded units listed.\n"


def commands(**answers):
    """{program's call: stdout, or a whole answer}."""
    return {"commands": {call: {"stdout": answer} if isinstance(answer, str) else answer for call, answer in answers.items()}}


def inactive(unit, word="inactive"):
    return commands(**{f"systemctl is-active {unit}": {"stdout": f"{word}\n", "exit": 3}})


def slurm(state="IDLE", reason="none", gres="gpu:8(S:0-1)"):
    """Slurm's words; sinfo says the first part of the state and the same reason."""
    return commands(**{"scontrol show node": NODE.format(state=state, reason=reason, gres=gres)})


def metrics(port, text):
    return commands(**{f"curl http://localhost:{port}/metrics": text})


def gauges(name, *values):
    return "".join(f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}"}} {value}\n' for gpu, value in enumerate(values))


NOW = int(time.time())
DAY = 86400


def sampled(ago_seconds):
    """node_exporter's page, whose time runs so far behind the node's."""
    return metrics(9100, {"stdout": {"text": "node_time_seconds {now}\nnode_load1 0.42\n", "now": {"start": NOW - ago_seconds, "per_second": 1}}})


def counted_from_now(described):
    """The inventory as text, in which times that were noted when the tests were collected are those of this moment."""
    return json.dumps(moved(described, int(time.time()) - NOW))


def moved(part, seconds):
    """A description whose moments around NOW are so much later."""
    if isinstance(part, dict):
        return {key: moved(each, seconds) for key, each in part.items()}
    if isinstance(part, list | tuple):
        return [moved(each, seconds) for each in part]
    return part + seconds if isinstance(part, int) and not isinstance(part, bool) and abs(part - NOW) < DAY else part


def torch(**versions):
    return commands(**{"torch-python -c": f"fleetcheck-versions {json.dumps({**TORCH, **versions})}\n"})


def kubernetes(capacity, allocatable):
    status = {"status": {"capacity": {"nvidia.com/gpu": capacity}, "allocatable": {"nvidia.com/gpu": allocatable}}}
    return commands(**{"kubectl get node": json.dumps(status)})


def docker(document):
    return {**commands(**{"docker info": json.dumps(document), "nvidia-ctk cdi list": ""})}


HOSTS = {  # check, what is injected, words of the message, severity, action: faults of any host
    "test_services_run": (inactive("munge"), "munge: is inactive, not active", "degraded", "restart-service"),
    "test_no_unit_has_failed": (commands(**{"systemctl --failed": FAILED.format("backup.service")}), "failed: backup.service", "warn", "restart-service"),
    "test_jobs_may_open_files": (commands(**{"systemctl show slurmd": SHOWN.format("infinity", 1024)}), "open_files 1024 (limit ≥ 65536 files)", "warn", "fix-config"),
    "test_sysctls_are_as_promised": ({"files": {"/proc/sys/kernel/numa_balancing": "1\n"}}, "kernel.numa_balancing: is 1 (limit 0)", "warn", "fix-config"),
    "test_command_line_has_its_words": ({"files": {"/proc/cmdline": "ro quiet\n"}}, "not on the kernel's command line: iommu=pt", "warn", "fix-config"),
    "test_command_line_has_no_refused_word": ({"files": {"/proc/cmdline": "ro iommu=pt pci=noaer\n"}}, "pci=noaer", "warn", "fix-config"),
    "test_tasks_are_left": ({"files": {"/proc/loadavg": "0.42 0.40 0.38 2/4000000 9999\n"}}, "tasks.percent 95.3", "warn", "observe"),
    "test_container_runtimes_answer": (commands(**{"docker info": {"hang": True}}), "runtime docker: is hung: no answer within 10 s", "degraded", "fix-config"),
    "test_scheduler_sees_the_node_alive": (slurm("DOWN+NOT_RESPONDING", "Not responding [slurm@2026-11-29T10:00:00]"), "DOWN+NOT_RESPONDING", "fatal", "isolate"),
    "test_no_prolog_or_epilog_failed": (slurm("MIXED+DRAIN", "Prolog error [slurm@2026-11-29T10:00:00]"), "Prolog error", "degraded", "isolate"),
    "test_no_drain_is_unexplained": (slurm("MIXED+DRAIN"), "out of service and no reason is given", "degraded", "observe"),
    "test_exporters_are_fresh": (sampled(600), "exporter node_exporter: age_seconds 6", "warn", "fix-config"),
    "test_exporters_answer": (metrics(9100, {"stderr": "curl: (7) Failed to connect to localhost port 9100\n", "exit": 7}), "does not answer: curl: (7)", "warn", "fix-config"),
    "test_sshd_is_set_as_promised": (commands(**{"sshd -T": "port 22\npermitemptypasswords yes\npermitrootlogin no\n"}), "permitemptypasswords: is yes (limit no)", "warn", "fix-config"),
    "test_host_keys_are_private": (commands(**{"stat -c": "600 /etc/ssh/ssh_host_ecdsa_key\n644 /etc/ssh/ssh_host_ed25519_key\n640 /etc/ssh/ssh_host_rsa_key\n"}),
                                   "ssh_host_ed25519_key: has mode 644", "warn", "fix-config"),
    "test_only_known_ports_listen": ({"files": {"/proc/net/tcp": SOCKETS.format("00000000")}}, "listening: 8080", "warn", "observe"),
    "test_only_known_users_are_logged_in": (commands(who="eve      pts/0        2026-11-30 08:00 (10.0.0.9)\n"), "logged in: eve", "warn", "observe"),
    "test_passwords_have_not_run_out": (commands(**{"passwd -S ops": "ops P 2026-01-05 0 90 7 -1\n"}), "account ops: its password ran out on 2026-04-05", "warn", "fix-config"),
    "test_login_environment_slows_no_collectives": ({"files": {"/etc/environment": "NCCL_IB_DISABLE=1\n"}}, "NCCL_IB_DISABLE=1 in /etc/environment", "warn", "fix-config"),
    "test_package_repositories_are_the_sites": (commands(**{"dnf repolist": "repo id      repo name\nepel         EPEL\n"}), "unknown epel", "warn", "fix-config"),
    "test_scratch_takes_a_file": ({"statvfs": {"/tmp": {"errno": "ESTALE"}}}, "/tmp: statvfs: stale file handle", "degraded", "fix-config"),
    "test_scratch_does_not_hang": ({"statvfs": {"/tmp": {"hang": True}}}, "/tmp: no end of statvfs", "degraded", "observe"),
    "test_default_route_is_there": ({"files": {"/proc/net/route": "Iface\tDestination\tGateway \tFlags\n"}}, "no default route", "degraded", "fix-config"),
    "test_names_resolve": (commands(**{"getent ahosts head-01": {"exit": 2}}), "name head-01: has no address", "degraded", "fix-config"),
    "test_full_packets_reach_endpoints": (commands(**{"ping -M do": {"stdout": "2 packets transmitted, 0 received\n", "exit": 1}}),
                                          "a packet of 9000 bytes does not reach 127.0.0.1 whole", "degraded", "fix-config"),
}
GPU_NODES = {  # the same, of nodes with GPUs
    "test_fabric_manager_runs": (inactive("nvidia-fabricmanager", "failed"), "nvidia-fabricmanager is failed, not active", "fatal", "fix-config"),
    "test_fabric_manager_matches_the_driver": (commands(**{"nv-fabricmanager --version": "Fabric Manager version is : 550.54.15-1\n"}),
                                               "fabric manager is 550.54.15, the driver 570.133.20", "fatal", "fix-config"),
    "test_fabric_manager_knows_the_topology": ({"files": {"/var/log/fabricmanager.log": LOG.format(1, 2, "ERROR", TOPOLOGY)}}, "don't match with any", "fatal", "reboot"),
    "test_jobs_may_lock_memory": (commands(**{"systemctl show slurmd": SHOWN.format(8388608, 1048576)}), "memlock_bytes 8388608", "degraded", "fix-config"),
    "test_containers_can_have_gpus": (docker({"ServerVersion": "28.3.3", "Runtimes": {"runc": {}}}), "nvidia-ctk describes no GPU", "degraded", "fix-config"),
    "test_kubernetes_may_allot_all_gpus": (kubernetes("8", "7"), "7 of 8 GPUs are allocatable", "warn", "fix-config"),
    "test_scheduler_counts_all_gpus": (slurm(gres="gpu:1080:7"), "7", "degraded", "fix-config"),
    "test_exporters_see_all_gpus": (metrics(9400, gauges("DCGM_FI_DEV_GPU_TEMP", *[30] * 7)), "exporter dcgm-exporter", "warn", "fix-config"),
    "test_xid_gauges_are_clear": (metrics(9400, gauges("DCGM_FI_DEV_XID_ERRORS", 0, 0, 31, *[0] * 5)), "GPU 2: xid 31", "warn", "observe"),
    "test_torch_can_be_imported": (commands(**{"torch-python -c": {"stderr": "Traceback\nModuleNotFoundError: No module named 'torch'\n", "exit": 1}}),
                                   "torch-python: ModuleNotFoundError: No module named 'torch'", "degraded", "fix-config"),
    "test_torch_is_released": (torch(torch="2.4.1"), "2.4.1", "warn", "fix-config"),
    "test_cuda_runtime_is_released": (torch(cuda="11.8"), "11.8", "warn", "fix-config"),
    "test_nccl_is_released": (torch(nccl="2.20.5", nccl_required="2.20.5", nccl_installed="2.20.5"), "2.20.5", "warn", "fix-config"),
    "test_nccl_is_the_one_torch_asks_for": (torch(nccl_installed="2.20.5"), "torch asks for NCCL 2.27.3, 2.20.5 is installed", "warn", "fix-config"),
    "test_nccl_plugin_is_released": (torch(plugin=""), "plugin", "warn", "fix-config"),
}
TRAYS = {
    "test_imex_runs": (inactive("nvidia-imex"), "nvidia-imex is inactive, not active", "degraded", "fix-config"),
    "test_imex_is_ready": (commands(**{"nvidia-imex-ctl -q": "UNAVAILABLE\n"}), "nvidia-imex-ctl says UNAVAILABLE", "degraded", "fix-config"),
    "test_gpus_are_of_one_nvlink_domain": ({"nvml": [{"call": "nvmlDeviceGetGpuFabricInfoV", "gpu": 2, "value": {"cliqueId": 7}}]}, "cluster and clique differ", "degraded", "fix-config"),
}
OTHER_PROFILES = {  # check → the profile that makes a healthy node fail it
    "test_endpoints_answer": ("closed", "endpoint store: 127.0.0.1 port", "degraded", "fix-config"),
    "test_scratch_is_quick": ("hasty", "total_seconds", "degraded", "isolate"),
    "test_torch_is_imported_quickly": ("hasty-gpu", "import_seconds", "warn", "observe"),
}
FAULTS = {**{check: ("site", *fault) for check, fault in HOSTS.items()}, **{check: ("site-gpu", *fault) for check, fault in GPU_NODES.items()},
          **{check: ("tray", *fault) for check, fault in TRAYS.items()}, **{check: (profile, {}, *rest) for check, (profile, *rest) in OTHER_PROFILES.items()}}
LOOKALIKES = {  # what resembles a fault and is none
    "drained-by-an-administrator": slurm("IDLE+DRAIN", "maintenance of the rack [ops@2026-11-29T10:00:00]"),
    "in-maintenance": slurm("IDLE+DYNAMIC_NORM+MAINTENANCE+RESERVED+PLANNED"),
    "down-by-an-administrator": slurm("DOWN", "new board [ops@2026-11-29T10:00:00]"),
    "exporter-just-restarted": sampled(90),
    "locked-account": commands(**{"passwd -S ops": "ops L 2020-01-05 0 90 7 -1\n"}),
    "ignored-unit-failed": commands(**{"systemctl --failed": FAILED.format("snap.lxd.daemon.service")}),
    "listening-on-loopback": {"files": {"/proc/net/tcp": SOCKETS.format("0100007F")}},
    "resolver-on-loopback": {"files": {"/proc/net/tcp": SOCKETS.format("3500007F")}},
    "without-docker": commands(**{"systemctl show docker": "LoadState=not-found\nUnitFileState=\nResult=success\nNRestarts=0\nLimitMEMLOCK=0\nLimitNOFILE=0\n"}),
    "restart-after-a-mismatch": {"files": {"/var/log/fabricmanager.log": LOG.format(1, 2, "ERROR", TOPOLOGY) + LOG.format(9, 10, "INFO", "NV_WARN_NOTHING_TO_DO")}},
    "rotated-log": {"files": {"/var/log/fabricmanager.log": "", "/var/log/fabricmanager.log.1": LOG.format(1, 2, "INFO", "Connected to 1 node.")}},
}
GONE = ("nv-fabricmanager", "docker", "ctr", "scontrol", "sinfo", "curl", "sshd", "stat", "who", "passwd", "torch-python", "getent", "ping")
UNREADABLE = ("/proc/cmdline", "/proc/loadavg", "/proc/net/tcp", "/proc/net/route", "/etc/environment", "/var/log/fabricmanager.log",
              "/proc/sys/kernel/numa_balancing", "/etc/apt/sources.list.d/ubuntu.sources")
BLIND = {
    "no-systemctl": {"commands": {"systemctl": None}},
    "no-programs": {"commands": dict.fromkeys(GONE), "files": {path: {"errno": "EACCES"} for path in UNREADABLE}},
    "no-words": {"commands": {name: {"stdout": "Fehler: ERR! [Unknown Error] 18446744073709551616\n"} for name in (*GONE, "systemctl")},
                 "files": dict.fromkeys(UNREADABLE[1:-1], "ERR!\n")},
}
