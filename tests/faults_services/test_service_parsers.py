"""What the programs of services may say instead of an answer: not measured, never a value, never a crash."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from fleetcheck.facts.security import Security
from fleetcheck.node.collectors import (
    containers,
    environment,
    fabric,
    kernel_settings,
    monitoring,
    packages,
    reachability,
    scheduler,
    security,
    services,
    software,
    storage_probe,
)
from fleetcheck.node.host import Host
from fleetcheck.profile import SecurityProfile
from fleetcheck.profiles import load_profile

EXPORTER = {"name": "e", "port": 9100, "path": "/metrics"}
GARBAGE = ("", "N/A\n", "ERR!\n", "[Unknown Error]\n", "-1\n", "18446744073709551616\n", "Unité introuvable\n", "\x00\ufffd", "=\n", "{", "a: b\n")


@pytest.fixture
def node(tmp_path):
    """A machine that has only the programs and files it is given: ``node.says("who", "…")``."""
    return Node(tmp_path)


class Node(Host):
    def says(self, program, stdout, status=0, stderr=""):
        file = self.put(f"/usr/bin/{program}", f"#!/bin/sh\nprintf %s {shlex.quote(stdout)}\nprintf %s {shlex.quote(stderr)} >&2\nexit {status}\n")
        file.chmod(0o755)

    def put(self, path, text):
        file = self.at / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def __init__(self, at):
        super().__init__(str(at))
        self.at = at


def absent(value):
    return isinstance(value, dict) and set(value) == {"absent"} and value["absent"]


@pytest.mark.parametrize("said", GARBAGE)
@pytest.mark.parametrize(("program", "read"), [
    ("systemctl", lambda node: services.collect(node, {})["failed"]),
    ("systemctl", lambda node: services.collect(node, {})["units"]["slurmd"]["active"]),
    ("systemctl", lambda node: services.collect(node, {})["units"]["slurmd"]["load"]),
    ("systemctl", lambda node: services.collect(node, {})["units"]["slurmd"]["memlock_bytes"]),
    ("nv-fabricmanager", lambda node: fabric.collect(node, {})["manager_version"]),
    ("docker", lambda node: containers.collect(node, {})["runtimes"]["docker"]["state"]),
    ("docker", lambda node: containers.collect(node, {})["docker_runtimes"]),
    ("ctr", lambda node: containers.collect(node, {})["runtimes"]["containerd"]["state"]),
    ("kubectl", lambda node: containers.collect(node, {})["kubernetes"]["allocatable"]),
    ("scontrol", lambda node: scheduler.collect(node, {})["scontrol"]["state"]),
    ("sinfo", lambda node: scheduler.collect(node, {})["sinfo"]["state"]),
    ("curl", lambda node: monitoring.collect(node, {"exporters": [EXPORTER]})["exporters"]["e"]["answers"]),
    ("stat", lambda node: security.collect(node, {})["host_keys"]["/etc/ssh/ssh_host_rsa_key"]),
    ("passwd", lambda node: security.collect(node, {"accounts": ["ops"]})["accounts"]["ops"]["status"]),
    ("getent", lambda node: reachability.collect(node, {"names": ["head"]})["names"]["head"]["addresses"]),
    ("dnf", lambda node: packages.collect(node, {})["repositories"]),
    ("torch-python", lambda node: software.collect(node, {"torch_python": "torch-python"})["torch"]),
])
def test_garbage_of_a_program_is_not_measured(node, program, read, said):
    node.put("/etc/ssh/ssh_host_rsa_key", "")
    node.says(program, said)
    assert absent(read(node))


@pytest.mark.parametrize("said", GARBAGE)
@pytest.mark.parametrize(("path", "read"), [
    ("/proc/loadavg", lambda node: kernel_settings.collect(node, {})["tasks"]["open"]),
    ("/proc/sys/kernel/pid_max", lambda node: kernel_settings.collect(node, {})["tasks"]["limit"]),
    ("/proc/net/route", lambda node: reachability.collect(node, {})["default_routes"]),
    ("/proc/net/tcp", lambda node: security.collect(node, {})["ports"]),
    ("/etc/passwd", lambda node: security.collect(node, {})["accounts"]),
    ("/var/log/fabricmanager.log", lambda node: fabric.collect(node, {})["topology_errors"]),
])
def test_garbage_in_a_file_is_not_measured(node, path, read, said):
    node.put("/proc/sys/kernel/threads-max", "-1\n")
    node.put(path, said)
    assert absent(read(node))


@pytest.mark.parametrize("collect", [each.collect for each in (containers, environment, fabric, kernel_settings, packages, reachability, scheduler, security, services)])
def test_a_machine_without_anything_is_no_crash_and_no_value(node, collect):
    def values(found):
        if absent(found):
            return []
        inner = found.values() if isinstance(found, dict) else [found]
        return [found] if not isinstance(found, dict) else [value for each in inner for value in values(each)]
    today = {security.collect(node, {})["today"]}
    assert {"", "none", False, *today} >= {value for value in values(collect(node, {"sysctls": ["vm.swappiness"], "accounts": ["ops"]})) if value != []}


@pytest.mark.parametrize(("state", "reason", "gres", "said"), [
    ("IDLE", "", "gpu:8", "   State=IDLE ThreadsPerCore=2\n   Gres=gpu:8\n"),
    ("DOWN+NOT_RESPONDING", "", "gpu:1080:7,gpu:block:1", "   Gres=gpu:1080:7,gpu:block:1\n   State=DOWN+NOT_RESPONDING ThreadsPerCore=2\n"),
    ("MIXED+DRAIN", "Kill task failed [root@2026-11-29T10:00:00]", "(null)", "Gres=(null)\nState=MIXED+DRAIN\n  Reason=Kill task failed [root@2026-11-29T10:00:00]\n"),
    ("IDLE+DRAIN", "maintenance [ops@]", "gpu:8", '{"nodes": [{"state": "idle", "state_flags": ["DRAIN"], "reason": "maintenance", "reason_set_by_user": "ops", "gres": "gpu:8"}]}'),
    ("IDLE+DRAIN", "", "(null)", '{"nodes": [{"state": ["IDLE", "DRAIN"]}]}'),
])
def test_scontrol_is_read_in_every_spelling(node, state, reason, gres, said):
    node.says("scontrol", said)
    found = scheduler.collect(node, {})["scontrol"]
    assert (state, reason, gres) == (found["state"], found["reason"], found["gres"])


def test_slurm_that_does_not_know_the_node_is_told_apart_from_slurm_that_is_away(node):
    node.put("/proc/sys/kernel/hostname", "n1.fleet.example\n")
    node.says("scontrol", "", 1, "Node n1 not found\n")
    assert "NOT_FOUND" == scheduler.collect(node, {})["scontrol"]["state"]
    node.says("scontrol", "", 1, "slurm_load_node error: Unable to contact slurm controller (connect failure)\n")
    assert "Unable to contact" in absent(scheduler.collect(node, {})["scontrol"]["state"])


@pytest.mark.parametrize(("address", "found"), [
    ("00000000", [53]), ("0100007F", []), ("3500007F", []), ("3600007F", []), ("0A14007F", []), ("7F00000A", [53])])
def test_a_resolvers_stub_listens_to_nobody_else(node, address, found):
    node.put("/proc/net/tcp", f"  sl  local_address rem_address   st\n   0: {address}:0035 00000000:0000 0A\n")
    assert found == security.collect(node, {})["ports"]


def test_an_address_of_ipv4_in_ipv6_may_be_loopback_too(node):
    node.put("/proc/net/tcp", "  sl  local_address rem_address   st\n")
    rows = "   0: 0000000000000000FFFF00000100007F:1F90 0:0 0A\n   1: 0000000000000000FFFF00000100000A:1F91 0:0 0A\n"
    node.put("/proc/net/tcp6", "  sl  local_address remote_address st\n" + rows)
    assert [8081] == security.collect(node, {})["ports"]


@pytest.mark.parametrize(("said", "state"), [
    ("READY\n", "READY"), ("IMEX state: WAITING_FOR_RECOVERY\n", "WAITING_FOR_RECOVERY"), ("Failed to query IMEX: ERROR 111 connecting\n", None)])
def test_capitals_in_a_sentence_are_no_state_of_imex(node, said, state):
    node.says("nvidia-imex-ctl", said)
    found = fabric.collect(node, {"fabric": ("imex",)})["imex"]
    assert state == found if state else absent(found)


@pytest.mark.parametrize(("value", "allowed", "differs"), [
    ("without-password", ["no", "prohibit-password"], False), ("prohibit-password", ["without-password"], False), ("yes", ["prohibit-password"], True),
    ("without-password", ["no"], True)])
def test_sshd_has_two_words_for_one_setting(value, allowed, differs):
    choice = {"allowed": allowed, "source": "a test", "date": "2026-11-30"}
    profile = load_profile("cpu-host", Path("fleet.yaml")).model_copy(update={"security": SecurityProfile.model_validate({"sshd": {"permitrootlogin": choice}})})
    doors = Security({"sshd": {"permitrootlogin": value}}, profile)
    assert differs is bool(doors.sshd.offending(doors.differs))


def test_kubernetes_is_asked_for_the_node_by_the_name_kubelet_gave_it(node):
    node.put("/proc/sys/kernel/hostname", "GPU-Node-01\n")
    node.put("/usr/bin/kubectl", '#!/bin/sh\n[ "$3" = gpu-node-01 ] && echo \'{"status": {"allocatable": {"nvidia.com/gpu": "8"}}}\'\n').chmod(0o755)
    assert 8 == containers.collect(node, {})["kubernetes"]["allocatable"]


@pytest.mark.parametrize("complaint", [
    "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n",
    'E1130 memcache.go:265] "Unhandled Error" err="Get \\"http://localhost:8080/api?timeout=32s\\": dial tcp 127.0.0.1:8080: connection refused"\n'])
def test_kubectl_without_a_cluster_makes_no_kubernetes_node(node, complaint):
    node.says("kubectl", "", 1, complaint)
    assert not containers.collect(node, {})["kubernetes"]["installed"]
    node.put("/etc/kubernetes/kubelet.conf", "kind: Config\n")
    assert containers.collect(node, {})["kubernetes"]["installed"]


@pytest.mark.parametrize("config", containers.KUBELET_CONFIGS)
def test_kubernetes_is_asked_with_kubelets_own_credentials(node, config):
    node.put(config, "kind: Config\n")
    node.put("/usr/bin/kubectl", '#!/bin/sh\ncase "$*" in *"--kubeconfig "*' + config + """) echo '{"status": {"capacity": {"nvidia.com/gpu": "4"}}}';; esac\n"""
             ).chmod(0o755)
    assert 4 == containers.collect(node, {})["kubernetes"]["capacity"]


def test_what_nobody_may_ask_is_not_measured(node):
    node.says("docker", "", 1, "permission denied while trying to connect to the Docker daemon socket\n")
    node.says("sshd", "", 1, "sshd: no hostkeys available -- exiting.\n")
    assert "permission denied" in absent(containers.collect(node, {})["runtimes"]["docker"]["state"])
    assert "no hostkeys" in absent(security.collect(node, {})["sshd"])


@pytest.mark.parametrize("errors", ['["Cannot connect to the Docker daemon"]', '[ "Cannot connect to the Docker daemon" ]'])
def test_a_client_of_docker_that_ends_well_without_its_daemon(node, errors):
    node.says("docker", f'{{"ID": "", "ServerErrors": {errors}, "ClientInfo": {{}}}}', 0, "")
    assert "down" == containers.collect(node, {})["runtimes"]["docker"]["state"]


@pytest.mark.parametrize(("page", "gpus", "xids"), [
    ('A{gpu="0"} 1\n', [], {}),
    ('DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a, b}"} 34 1700000000000\n', ["0"], {}),
    ('DCGM_FI_DEV_XID_ERRORS{gpu="1",err_msg="x"} 79\n', ["1"], {"1": 79}),
    ('DCGM_FI_DEV_XID_ERRORS{gpu="1"} NaN\n', ["1"], {"1": {"absent": "DCGM_FI_DEV_XID_ERRORS: not a number: 'NaN'"}}),
])
def test_pages_of_metrics_are_read(node, page, gpus, xids):
    node.says("curl", f"# HELP x y\n{page}")
    found = monitoring.collect(node, {"exporters": [EXPORTER]})["exporters"]["e"]
    assert (gpus, xids) == (found["gpus"], found["xids"])


def test_a_dead_exporter_is_an_answer_and_a_missing_curl_is_none(node):
    assert absent(monitoring.collect(node, {"exporters": [EXPORTER]})["exporters"]["e"]["answers"])
    node.says("curl", "", 7, "curl: (7) Connection refused\n")
    assert False is monitoring.collect(node, {"exporters": [EXPORTER]})["exporters"]["e"]["answers"]


def test_both_formats_of_apt_sources_are_read(node):
    node.put("/etc/apt/sources.list", "# deb http://old/ x y\ndeb [signed-by=/k] http://a/ubuntu noble main\n")
    node.put("/etc/apt/sources.list.d/b.sources", "Types: deb\nURIs: http://b/ http://c/\nSuites: x\n\nEnabled: no\nTypes: deb\nURIs: http://d/\n")
    assert ["http://a/ubuntu", "http://b/", "http://c/"] == packages.collect(node, {})["repositories"]


@pytest.mark.parametrize(("word", "told"), [("2026-01-05", "2026-01-05"), ("01/05/2026", "2026-01-05")])
def test_passwords_days_are_read_in_both_spellings(node, word, told):
    node.says("passwd", f"ops PS {word} 0 90 7 -1 (Password set, SHA512 crypt.)\n")
    assert {"status": "PS", "changed": told, "longest_days": 90} == security.collect(node, {"accounts": ["ops"]})["accounts"]["ops"]


def test_login_variables_are_read_as_a_shell_reads_them(node):
    node.put("/etc/environment", 'PATH="/bin"\n#NCCL_DEBUG=INFO\nexport NCCL_IB_DISABLE="1"\nNCCL_NET=Socket # why\nMY_NCCL_X=1\n')
    assert [("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")] == [(row["name"], row["value"]) for row in environment.collect(node, {})["variables"]]


def test_the_scratch_probe_leaves_nothing_and_says_what_failed(node):
    (node.at / "scratch").mkdir()
    assert "" == storage_probe.collect(node, {"scratch": "/scratch"})["error"]
    assert [] == list((node.at / "scratch").iterdir())
    assert "create: no such file or directory" in storage_probe.collect(node, {"scratch": "/gone"})["error"].replace("statvfs", "create")
    assert absent(storage_probe.collect(node, {})["error"])


def test_torch_that_ends_badly_is_told_by_its_last_line(node):
    node.says("torch-python", "", 1, "Traceback (most recent call last):\nImportError: libcudart.so.12: cannot open shared object file\n")
    found = software.collect(node, {"torch_python": "torch-python"})
    assert (False, "ImportError: libcudart.so.12: cannot open shared object file") == (found["imports"], found["said"])
