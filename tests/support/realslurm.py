"""A real Slurm of a few nodes on this machine: one slurmctld, one slurmd a node on ports of their own, a munged that only they know."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

PROGRAMS = ("slurmctld", "slurmd", "munged", "scontrol", "sinfo", "sbatch", "squeue", "scancel")
PLACES = "/usr/sbin:/sbin:/usr/bin:/bin"
CONFIG = """\
ClusterName=proof
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
MpiDefault=none
ReturnToService=1
SlurmdTimeout=300
KillWait=2
MessageTimeout=10
SlurmdParameters=config_overrides
NodeName=DEFAULT CPUs=2 RealMemory=100 State=UNKNOWN
{nodes}
PartitionName=batch Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why there can be none here, and how to turn it on; empty when there can."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PLACES}")]
    if absent:
        return f"needs Slurm ({', '.join(absent)} not found): apt install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "needs root, to run Slurm's own daemons: run the tests as root"


def refusal():
    """Why there is none on this machine, which may refuse what its daemons need; empty when there is."""
    if missing():
        return missing()
    try:
        with tempfile.TemporaryDirectory(prefix="slurm-") as folder, RealSlurm(folder, ["n1"]):
            return ""
    except pytest.skip.Exception as refused:
        return str(refused)


class RealSlurm:
    """Started in a folder with a short path; ``environment`` makes Slurm's programs speak to it."""

    def __init__(self, folder, nodes):
        self.folder, self.nodes, self._running = Path(folder), list(nodes), []
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": f"{os.environ.get('PATH', '')}:{PLACES}"}

    def __enter__(self):
        """A test that asks for one skips where its daemons do not run; .ci/run takes that only where ``refusal`` says so as well."""
        try:
            self._begin()
        except AssertionError as error:
            self._end()
            pytest.skip(f"needs a running Slurm, and its daemons do not come up here: {str(error)[:600]}; try: python tests/support/realslurm.py")
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self):
        self._configure()
        munge = self.folder / "munge"
        self._start("munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                    f"--seed-file={munge}/seed", f"--log-file={munge}/log")
        self.until((munge / "socket").exists)
        self._start("slurmctld", "-D")
        for node in self.nodes:
            self._start("slurmd", "-D", "-N", node)
        self.until(lambda: self.call("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(self.nodes)))

    def __exit__(self, *_):
        """Jobs first: their processes are nobody's children."""
        try:
            self.call("scancel", "--state=RUNNING")
            self.until(lambda: not self._steps())
        finally:
            self._end()

    def _end(self):
        for each in reversed(self._running):
            each.terminate()
        for each in reversed(self._running):
            end(each)

    def call(self, *argv):
        """What one of Slurm's programs says; it has to succeed."""
        done = subprocess.run(argv, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 0 or argv[0] == "sinfo", (argv, done.stderr)
        return done.stdout

    def told(self, node):
        """A node's state and reason."""
        shown = self.call("scontrol", "show", "node", node).splitlines()
        words = [line.strip() for line in shown]
        state = next(line for line in words if line.startswith("State=")).split()[0].removeprefix("State=")
        return state, next((line for line in words if line.startswith("Reason=")), "").removeprefix("Reason=")

    def _configure(self):
        for name in ("munge", "state", *(f"spool.{node}" for node in self.nodes)):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        control, *ports = free_ports(len(self.nodes) + 1)
        rows = [f"NodeName={node} NodeHostName={socket.gethostname()} NodeAddr=127.0.0.1 Port={port}" for node, port in zip(self.nodes, ports, strict=True)]
        (self.folder / "slurm.conf").write_text(CONFIG.format(folder=self.folder, control=control, nodes="\n".join(rows), names=",".join(self.nodes)))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # else slurmd 22.05 ends where /sys/fs/cgroup is neither v1 nor v2

    def _start(self, *argv):
        with (self.folder / f"{argv[0]}{argv[-1]}.out".replace("/", "_")).open("wb") as output:
            program = shutil.which(argv[0], path=self.environment["PATH"])
            self._running.append(subprocess.Popen([program, *argv[1:]], env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
                                                  stdout=output, stderr=subprocess.STDOUT, start_new_session=True))

    def _steps(self):
        """Supervisors of jobs that this Slurm started."""
        mark = f"SLURM_CONF={self.folder}".encode()
        return [path for path in Path("/proc").glob("[0-9]*") if told_by(path / "cmdline").startswith(b"slurmstepd") and mark in told_by(path / "environ")]

    def until(self, true, seconds=60):
        """Wait for it; a daemon that ended is said with its last words."""
        end = time.monotonic() + seconds
        while not true():
            dead = [each.args for each in self._running if each.poll() is not None]
            assert not dead and time.monotonic() < end, (dead, [path.read_text()[-500:] for path in self.folder.glob("*.out")])
            time.sleep(0.05)


def told_by(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def end(process):
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


if __name__ == "__main__":
    print(refusal())
