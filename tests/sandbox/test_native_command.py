"""Simulated commands: which of several answers a call gets."""

import subprocess
import time

import pytest

from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.native import COMMANDS, CommandEntry, command, command_table, place


@pytest.fixture
def node(tmp_path):
    """A node's command folder: install a command with its answers and give back what starts it."""

    def install(name, *entries, linked=False, epoch=0.0):
        (tmp_path / COMMANDS).mkdir(exist_ok=True)
        (tmp_path / COMMANDS / f"{name}.table").write_bytes(command_table(entries, epoch))
        if linked:
            (tmp_path / name).symlink_to(command())
        else:
            place(command(), tmp_path / name)
        argv = [str(tmp_path / name)]
        return lambda *words: subprocess.run([*argv, *words], capture_output=True, timeout=30, check=False)

    return install


@pytest.mark.parametrize(("words", "answer"), [
    (["-j", "/dev/nvme3"], b"three"), (["/dev/nvme3", "-x", "-j"], b"three"), (["-j", "/dev/nvme30"], b"any j"),
    (["/dev/nvme3"], b"rest"), ([], b"rest"), (["-j", "/dev/nvme1"], b"later"), (["a b"], b"spaced"),
])
def test_the_entry_with_most_words_answers_and_of_equals_the_later(node, words, answer):
    smartctl = node(
        "smartctl", CommandEntry(stdout="rest"), CommandEntry(["-j", "/dev/nvme3"], "three"),
        CommandEntry(["-j"], "any j"), CommandEntry(["-j", "/dev/nvme1"], "earlier"),
        CommandEntry(["-j", "/dev/nvme1"], "later"), CommandEntry(["a b"], "spaced"),
    )
    assert answer == smartctl(*words).stdout


def test_a_call_without_an_answer_says_so(node):
    done = node("ipmitool", CommandEntry(["sel"], "empty"))("mc", "info")
    assert (127, b"", b"ipmitool: not simulated: mc info\n") == (done.returncode, done.stdout, done.stderr)


def test_a_command_without_a_table_is_not_simulated(tmp_path):
    place(command(), tmp_path / "lspci")
    assert 127 == subprocess.run([str(tmp_path / "lspci")], capture_output=True, check=False).returncode


@pytest.mark.parametrize("linked", [False, True])
def test_outputs_and_exit_status_are_those_given(node, linked):
    output = bytes(range(256)) * 5000
    done = node("dmesg", CommandEntry(stdout=output, stderr="cut\n", exit=3), linked=linked)()
    assert (output, b"cut\n", 3) == (done.stdout, done.stderr, done.returncode)


def test_the_command_is_found_on_path(node, tmp_path):
    node("nvidia-smi", CommandEntry(["-L"], "GPU 0\n"))
    out = subprocess.check_output(["/bin/sh", "-c", "nvidia-smi -L"], env={"PATH": str(tmp_path)})
    assert b"GPU 0\n" == out


def test_numbers_in_an_output_grow_and_its_other_braces_stay(node):
    content = {"text": '{"errors": {n}}\n', "n": {"start": 3, "per_second": 0.1}}
    out = node("ethtool", CommandEntry(stdout=content), epoch=time.time() - 100)().stdout
    assert out.startswith(b'{"errors": ') and out.endswith(b"}\n")
    assert 13 <= int(out[11:-2]) < 19


def test_a_command_hangs_after_its_output(node, tmp_path):
    node("mlxlink", CommandEntry(stdout="half an ans", hang=True))
    child = subprocess.Popen([str(tmp_path / "mlxlink")], stdout=subprocess.PIPE)
    assert b"half an ans" == child.stdout.read(11)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.kill()
    assert b"" == child.communicate()[0]


def test_an_exit_status_that_no_process_can_have_is_refused():
    with pytest.raises(SandboxError, match="0 to 255"):
        command_table([CommandEntry(exit=256)], 0)
