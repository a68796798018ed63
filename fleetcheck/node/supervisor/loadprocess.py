"""Runs on the node: one process of a load: started apart, fed its request, heard line by line, ended with its session."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from fleetcheck.node import process
from fleetcheck.node.supervisor import alive, cgroup, results

CODE = "import sys; sys.path.insert(0, %r); from fleetcheck.node.loads.main import main; main()"
LINE_LIMIT = 3 << 20
STDERR_BYTES = 4096
OOM_SCORE = 1000  # proc_pid_oom_score_adj(5): the first that the kernel ends
ALARM_LATE_SECONDS = 30
OWN_LIMIT = "it came to its own memory limit, which tells nothing of the node (give it less: load: settings: dram: fraction: 0.5): "


class LoadProcess:
    """A load over some devices. ``measured``: called with (device, metric, value) of each line it writes."""

    def __init__(self, argv: List[str], request: Mapping[str, Any], devices: Sequence[Mapping[str, Any]],
                 environment: Mapping[str, str], group: str, measured: Callable[[Any, Any, Any], None]) -> None:
        self.devices = devices
        self.measured = measured
        self.group = group
        self.started = time.monotonic()
        self.result: Optional[Dict[str, Any]] = None
        self.said, self.complaints, self.wrong = bytearray(), b"", ""
        self.kills_before = cgroup.kills(group) if group else 0
        self.told_to_end = ""
        self.cut = False
        limit = int(request["ends_in"]) + ALARM_LATE_SECONDS
        self.popen = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", close_fds=True,
            env=dict(os.environ, **environment), preexec_fn=lambda: stand_apart(group, limit))
        self.record = alive.record(self.popen.pid)
        self.pipes = [stream.fileno() for stream in (self.popen.stdout, self.popen.stderr) if stream]
        for pipe in self.pipes:
            os.set_blocking(pipe, False)
        self.feed(json.dumps(request).encode() + b"\n")

    def feed(self, text: bytes) -> None:
        """Hand over the request; a process that already ended does not take it."""
        assert self.popen.stdin
        try:
            self.popen.stdin.write(text)
            self.popen.stdin.close()
        except OSError:
            pass

    def listen(self, pipe: int) -> bool:
        """Take what it wrote; False at the end of that stream."""
        try:
            chunk = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if self.popen.stderr and pipe == self.popen.stderr.fileno():
            self.complaints = (self.complaints + chunk)[-STDERR_BYTES:]
        else:
            self.take(chunk)
        return bool(chunk)

    def take(self, chunk: bytes) -> None:
        """Lines of standard output: JSON, or noise of a library."""
        *lines, rest = (bytes(self.said) + chunk).split(b"\n")
        self.said = bytearray(rest[-LINE_LIMIT:])
        for line in lines:
            self.line(line)

    def line(self, line: bytes) -> None:
        """One line."""
        try:
            found = json.loads(line.decode())
        except ValueError:
            return
        if isinstance(found, dict) and "result" in found:
            try:
                self.result = results.shaped(found["result"])
            except (ValueError, TypeError) as error:
                self.wrong = str(error)
        elif isinstance(found, dict) and isinstance(found.get("value"), (int, float)):
            self.measured(found.get("device"), found.get("metric"), found["value"])

    def has_ended(self) -> bool:
        """Whether the process is dead, without collecting it: its session keeps its number."""
        if self.popen.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def ask_to_end(self, why: str, cut: bool) -> None:
        """SIGTERM to its session, once; cut: the end of all came upon it, it is not late itself."""
        if not self.told_to_end:
            self.told_to_end, self.cut = why, cut
            alive.signal_session(self.record, signal.SIGTERM)

    def end(self) -> Dict[str, Any]:
        """Kill what is left of it, take its last words, and hand back its result or what stands for it."""
        stuck = alive.end_session(self.record)
        for pipe in list(self.pipes):
            while self.more(pipe):
                pass
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream:
                stream.close()
        if stuck and not self.has_ended():
            self.cut = False  # by whatever it was ended, one that the kernel holds is stuck
            self.popen.returncode = -signal.SIGKILL  # keeps Popen from waiting for one that the kernel holds
            return self.lost("stuck in state %s, pid %d: no signal ends it" % (stuck[0].state, stuck[0].pid))
        return self.excused(self.judged(self.popen.wait()))

    def starved(self) -> bool:
        """Whether the kernel killed one of its processes for want of memory."""
        return bool(self.group) and cgroup.kills(self.group) > self.kills_before

    def excused(self, result: Dict[str, Any]) -> Dict[str, Any]:
        """What a load brought that ran out of its own cgroup: what it did not do tells nothing of the node, what it found still counts."""
        if result["ok"] or not (self.starved() and cgroup.reached(self.group)):
            return result
        self.cut = True
        return results.cut_short(result, OWN_LIMIT)

    def more(self, pipe: int) -> bool:
        """Whether a read of what is left brought anything."""
        before = len(self.said), self.complaints, self.result is None
        return self.listen(pipe) and before != (len(self.said), self.complaints, self.result is None)

    def judged(self, status: int) -> Dict[str, Any]:
        """The result, or why there is none."""
        if self.said:
            self.line(bytes(self.said))
        if self.result is not None:
            return self.result
        if self.wrong:
            return self.lost("its result cannot be read: %s" % self.wrong)
        if self.told_to_end:
            return self.lost("it was ended without a result: %s" % self.told_to_end)
        return self.lost(self.how(status))

    def how(self, status: int) -> str:
        """How it ended on its own, in words."""
        seconds = time.monotonic() - self.started
        words = self.complaints.decode("utf-8", "replace").strip().splitlines()
        last = ": %s" % words[-1][:300] if words else ""
        if status >= 0:
            return "its process ended with exit status %d after %.0f s and no result%s" % (status, seconds, last)
        by = ", by the kernel for want of memory" if self.starved() else ""
        return "its process was killed by signal %d after %.0f s%s%s" % (-status, seconds, by, last)

    def lost(self, error: str) -> Dict[str, Any]:
        """What stands for its result."""
        return results.without_result(error, time.monotonic() - self.started, self.devices, self.cut)


def stand_apart(group: str, limit: int) -> None:
    """Before the program: a session of its own, an end with the supervisor and by the clock, first for the OOM killer."""
    os.setsid()
    process.die_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.alarm(limit)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    cgroup.enter(group)
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("%d\n" % OOM_SCORE)
    except OSError:
        pass


def command(folder: str, torch: bool, request: Mapping[str, Any]) -> List[str]:
    """The words that start a load: by the node's torch, in its container if any, or by this interpreter."""
    code = CODE % (folder + "/node.zip")
    if torch and request["torch_python"]:
        return list(request["prefix"]) + [request["torch_python"], "-B", "-c", code]
    return [sys.executable, "-IBS", "-c", code] if not torch else list(request["prefix"]) + ["python3", "-B", "-c", code]
