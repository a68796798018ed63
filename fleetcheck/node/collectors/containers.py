"""Runs on the node: which container runtimes answer, whether they can hand out GPUs, and what Kubernetes may give away.

Each is asked under a deadline of its own: ``docker info`` hangs when its daemon does, which is itself the finding.
"""

import json
import re
from typing import Any, Dict, List

from fleetcheck.node.collectors import systemd
from fleetcheck.node.collectors.values import output, text
from fleetcheck.node.host import Host, ProgramTimeout, absent

READS = (
    ("docker info", "root or group docker"),
    ("ctr version", "root"),
    ("enroot version", "any user"),
    ("apptainer version", "any user"),
    ("nvidia-ctk cdi list", "any user"),
    ("kubectl get node", "root"),
    ("/etc/kubernetes/kubelet.conf", "root"),
    ("/var/lib/rancher", "root"),
    ("/var/lib/kubelet/kubeconfig", "root"),
)

SECONDS = 10.0
CALLS = (
    ("docker", ("docker", "info", "--format", "{{json .}}"), r'"ServerVersion":\s*"([^"]+)"|Server Version: (\S+)'),
    ("containerd", ("ctr", "version"), r"Server:\s+(?:\S+\s+)*?Version:\s+(\S+)"),
    ("enroot", ("enroot", "version"), r"(\d+\.\d+\S*)"),
    ("apptainer", ("apptainer", "version"), r"(\d+\.\d+\S*)"),
)
GPU = "nvidia.com/gpu"
KUBELET_CONFIGS = (
    "/etc/kubernetes/kubelet.conf", "/var/lib/rancher/rke2/agent/kubelet.kubeconfig", "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
    "/var/lib/kubelet/kubeconfig",
)
"""kubelet's own credentials, which may read their own node: of kubeadm, RKE2, K3s, and of nodes that a cloud sets up."""
NO_CLUSTER = "localhost:8080"
"""Where kubectl looks for a cluster when nobody told it of one."""


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{runtimes: {name: {state, …}}, docker_runtimes, cdi_devices, kubernetes}."""
    docker: List[str] = []
    runtimes = {name: runtime(host, name, list(argv), pattern, docker) for name, argv, pattern in CALLS}
    return {
        "runtimes": runtimes,
        "docker_runtimes": docker_runtimes(docker[0] if docker else ""),
        "cdi_devices": cdi_devices(host),
        "kubernetes": kubernetes(host),
    }


def runtime(host: Host, name: str, argv: List[str], pattern: str, kept: List[str]) -> Dict[str, Any]:
    """{unit, state: up | down | hung, version, said}; ``kept`` takes docker's own words."""
    unit = systemd.active(host, name) if name in ("docker", "containerd") else "none"
    try:
        done = host.run(argv, SECONDS)
    except ProgramTimeout:
        return {"unit": unit, "state": "hung", "said": "no answer within %g s" % SECONDS}
    except OSError as error:
        return {"unit": unit, "state": absent(error), "said": ""}
    if name == "docker":
        kept.append(done.stdout)
    return dict(judged(done.status, done.stdout, done.stderr, pattern, " ".join(argv[:2])), unit=unit)


def judged(status: int, stdout: str, stderr: str, pattern: str, call: str) -> Dict[str, Any]:
    """Up when a server told its version; down when it said why not; what nobody may ask is not measured."""
    found = re.search(pattern, stdout)
    said = (stderr.strip() or stdout.strip())[:300]
    if status == 0 and found:
        return {"state": "up", "said": next(filter(None, found.groups()))}
    if "permission denied" in said.lower():
        return {"state": {"absent": "%s: %s" % (call, said)}, "said": said}
    if status != 0 or re.search(r'"ServerErrors":\s*\[\s*"', stdout):  # older clients of docker end well, without a daemon
        return {"state": "down", "said": said or "exit status %d" % status}
    return {"state": {"absent": "%s: no version of a server: %.120r" % (call, stdout)}, "said": said}


def docker_runtimes(document: str) -> Any:
    """The names of docker's runtimes."""
    try:
        return sorted(json.loads(document)["Runtimes"])
    except (ValueError, KeyError, TypeError):
        return {"absent": "docker info: no list of runtimes: %.80r" % document}


def cdi_devices(host: Host) -> Any:
    """The GPUs that ``nvidia-ctk cdi list`` names."""
    said = output(host, ["nvidia-ctk", "cdi", "list"], SECONDS)
    if "absent" in said:
        return said
    if said["status"] != 0:
        return {"absent": "nvidia-ctk cdi list: %s" % said["stderr"].strip()}
    return re.findall(r"^%s=(\S+)$" % re.escape(GPU), said["stdout"], re.MULTILINE)


def kubernetes(host: Host) -> Dict[str, Any]:
    """{installed, capacity, allocatable}: GPUs of this node as the API server counts them."""
    try:
        host.which("kubectl")
    except OSError:
        nothing = {"absent": "kubectl is not installed"}
        return {"installed": False, "capacity": nothing, "allocatable": nothing}
    config = next((path for path in KUBELET_CONFIGS if host.exists(path)), "")
    name = str(text(host, "/proc/sys/kernel/hostname")).lower()  # as kubelet registers itself
    options = ["--kubeconfig", config] if config else []
    said = output(host, ["kubectl", "get", "node", name, "-o", "json"] + options, SECONDS)
    if not config and NO_CLUSTER in said.get("stderr", ""):
        nothing = {"absent": "kubectl knows of no cluster: there is neither %s nor a configuration of its own" % KUBELET_CONFIGS[0]}
        return {"installed": False, "capacity": nothing, "allocatable": nothing}
    return dict({"installed": True}, **{key: gpus(said, key) for key in ("capacity", "allocatable")})


def gpus(said: Dict[str, Any], key: str) -> Any:
    """A number of GPUs in a node's status; a node without the device plugin has none listed."""
    if "absent" in said or said["status"] != 0:
        return {"absent": said.get("absent") or "kubectl get node: %s" % said["stderr"].strip()}
    try:
        count = int(json.loads(said["stdout"])["status"][key][GPU])
        return count if 0 <= count < 1024 else {"absent": "kubectl get node: %s of %d GPUs" % (key, count)}
    except (ValueError, KeyError, TypeError) as error:
        return {"absent": "kubectl get node: no %s of GPUs: %s %s" % (key, type(error).__name__, error)}
