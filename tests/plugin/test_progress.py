"""How far a run is: a live line on a terminal only, one line a minute in the log."""

import io
import os
import pty
import subprocess

from fleetrun import clean_environment, command

from fleetcheck.progress import Progress


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


def test_the_line_counts_nodes_findings_and_time_to_go(tmp_path):
    clock = Clock()
    progress = Progress({"n1": 2, "n2": 2}, tmp_path / "log", None, clock)
    clock.seconds = 30.0
    progress.item("n1", "passed")
    progress.item("n1", "failed")
    assert progress.line() == "1/2 nodes done, 1 with findings, about 00:30 to go"


def test_the_log_gets_a_line_a_minute_and_one_at_the_end(tmp_path):
    clock, log = Clock(), tmp_path / "log"
    progress = Progress({"n1": 10}, log, None, clock)
    for second in range(0, 181, 20):
        clock.seconds = float(second)
        progress.tick()
    assert len(log.read_text().splitlines()) == 3
    progress.end()
    assert len(log.read_text().splitlines()) == 4


def test_a_terminal_sees_one_line_that_disappears(tmp_path):
    clock, screen = Clock(), io.StringIO()
    progress = Progress({"n1": 1}, tmp_path / "log", screen, clock)
    clock.seconds = 1.0
    progress.item("n1", "passed")
    progress.end()
    assert screen.getvalue() == "\r\x1b[K1/1 nodes done, 0 with findings, about 00:00 to go\r\x1b[K"


def test_no_live_line_goes_into_a_file(site):
    done = site.replay()
    assert "nodes done" not in done.output and "\x1b" not in done.output
    assert "3/3 nodes done" in (done.run / "progress.log").read_text()


def test_a_run_on_a_terminal_shows_the_line_and_leaves_the_summary(site):
    ours, theirs = pty.openpty()
    argv = command("checks", "--inventory", "x.yaml", "--replay", "recorded", "-p", "no:cacheprovider")
    with subprocess.Popen(argv, cwd=site.folder, env=clean_environment(TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 65536):
                said += chunk
        except OSError:  # the other end is closed
            pass
        assert process.wait() == 1
    os.close(ours)
    assert b"\r\x1b[K0/3 nodes done, 0 with findings" in said
    assert b"COMPLETE: 3 nodes" in said and said.rindex(b"nodes done") < said.index(b"COMPLETE: 3 nodes")
