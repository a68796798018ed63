"""Nodes that let us in and bring no usable answer: the right kind within the deadline, other nodes unaffected."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakessh import black_hole, free_port, keygen

NONCE = r"""
import json, sys
def nonce():
    stream = sys.stdin.buffer
    stream.read(int(sys.argv[1]))
    for _ in range(2):
        block = stream.read(int(stream.read(10)))
    return json.loads(block)["nonce"].encode()
def say(*parts):
    sys.stdout.buffer.write(b"".join(parts)); sys.stdout.buffer.flush()
def begin(length):
    return b"<<fleetcheck %s %d>>\n" % (n, length)
def end():
    return b"\n<<end %s>>\n" % n
def shell(answer):
    return b'{"runtime":{"hostname":"' + host + b'"},"answers":{"hello":' + answer + b"}}"
import os
host = os.uname().nodename.encode()
say(b"fleetcheck-started\n")
n = nonce()
"""


@pytest.fixture(scope="session")
def impostor(sshd, tmp_path_factory):
    """A login whose forced command is this Python source in place of the node code; its key."""
    folder = tmp_path_factory.mktemp("impostors")
    numbers = itertools.count()

    def impostor(source, command=None):
        number = next(numbers)
        script = folder / f"{number}.py"
        script.write_text(NONCE + source)
        key = keygen(folder / f"key{number}")
        line = command or f"exec python3 {script} $(echo $SSH_ORIGINAL_COMMAND | grep -o '[0-9]*$')"
        sshd.authorize(key, f'command="{line}"')
        return key

    return impostor


@pytest.fixture
def failure(ask, ask_briefly, node, sshd):
    """How asking this node fails."""
    def failure(key, brief=False, **settings):
        asked = node(sshd, name="sick", ssh={"identity_file": key}, **settings)
        found = (ask_briefly(asked, seconds=0.5) if brief else ask(asked)).failure
        assert found is not None and found.message.startswith("sick: facts-fast over ssh to")
        assert found.message.isprintable()
        return found

    return failure


def test_other_nodes_do_not_notice(ask, ask_briefly, node, sshd, impostor):
    """Garbage, a hang, a refused port and a black hole, asked at the same time as healthy nodes."""
    garbage, hang = impostor("\nfor _ in range(200): say(b'g' * (1 << 20))"), impostor("sys.stdin.read()")
    with ThreadPoolExecutor(8) as pool, black_hole() as hole:
        ports = [pool.submit(ask_briefly, node(sshd, ssh={"port": port})) for port in (free_port(), hole)]
        logins = [pool.submit(ask, node(sshd, ssh={"identity_file": garbage})),
                  pool.submit(ask_briefly, node(sshd, ssh={"identity_file": hang}), seconds=0.5)]
        well = [pool.submit(ask, node(sshd)) for _ in range(4)]
        kinds = [sick.result().failure.kind for sick in ports + logins]
        assert ["refused", "connect-timeout", "too-large", "deadline"] == kinds
        assert [None] * 4 == [each.result().failure for each in well]


def test_a_reply_cut_short(failure, impostor):
    found = failure(impostor("say(begin(5000), b'x' * 100)"))
    assert "truncated" == found.kind
    assert "100 of 5,000 bytes" in found.message


def test_200_megabytes_of_garbage(failure, impostor):
    found = failure(impostor("\nfor _ in range(200): say(b'g' * (1 << 20))"))
    assert "too-large" == found.kind
    assert "more than 8,388,608 bytes without a reply" in found.message


def test_200_megabytes_of_garbage_in_place_of_a_shell(failure, impostor):
    found = failure(impostor("", command="head -c 200000000 /dev/zero"))
    assert "too-large" == found.kind


def test_an_announced_length_beyond_the_limit(failure, impostor):
    assert "too-large" == failure(impostor("say(begin(10 ** 11), b'x')")).kind


@pytest.mark.parametrize("length", [-5, 5])
def test_a_wrong_length(failure, impostor, length):
    found = failure(impostor(f"body = shell(b'null'); say(begin(len(body) + {length}), body, end(), b' ' * 99)"))
    assert "garbled" == found.kind
    assert "announced" in found.message


@pytest.mark.parametrize("body", [
    r"""b'\xff\xfe{"a": 1}'""",
    r"""b'["not", "a", "reply"]'""",
    r"""b'{"answers": {}}'""",
    r"""shell(b'[' * 100000 + b']' * 100000)""",
    r"""shell(b'{"ok":true,"seconds":1e999,"error":"","data":{},"metrics":{},"coverage":""}')""",
    r"""shell(b'{"ok":true,"seconds":NaN,"error":"","data":{},"metrics":{},"coverage":""}')""",
    r"""shell(b'{"ok":true,"seconds":' + b'9' * 5000 + b',"error":"","data":{},"metrics":{},"coverage":""}')""",
    r"""shell(b'{"ok":"yes","seconds":1,"error":"","data":{},"metrics":{},"coverage":""}')""",
    r"""shell(b'{"ok":true}')""",
    r"""b''""",
])
def test_a_reply_that_is_none(failure, impostor, body):
    found = failure(impostor(f"body = {body}; say(begin(len(body)), body, end())"))
    assert "garbled" == found.kind


def test_two_replies(failure, impostor):
    assert "garbled" == failure(impostor("body = shell(b'null'); say((begin(len(body)) + body + end()) * 2)")).kind


def test_control_characters_of_a_node_reach_no_message(ask, node, sshd, impostor):
    answer = r"""b'{"ok":false,"seconds":1,"error":"\\u001b[2J\\ud800","data":{"x":"\\u0007\\udfff"},"metrics":{},"coverage":""}'"""
    key = impostor(f"body = shell({answer}); say(begin(len(body)), body, end())")
    evidence = ask(node(sshd, ssh={"identity_file": key}))
    assert evidence.failure is None
    assert r"\x1b[2J\ud800" == evidence.answers["hello"].error
    assert {"x": r"\x07\udfff"} == evidence.answers["hello"].data


def test_a_hang_after_half_a_reply(failure, impostor):
    found = failure(impostor("say(begin(10000), b'x' * 5000); sys.stdin.read()"), brief=True)
    assert "deadline" == found.kind
    assert "5,000 of 10,000 bytes of the reply" in found.message
    assert "D state" in found.message


def test_a_hang_before_any_word(failure, impostor):
    found = failure(impostor("", command="exec cat >/dev/null"), brief=True)
    assert "deadline" == found.kind


def test_another_machine_by_its_name(failure, impostor, sshd):
    found = failure(sshd.identity, labels={"hostname": "rack12-n07"})
    assert "wrong-machine" == found.kind
    assert "expected rack12-n07" in found.message


def test_another_machine_by_its_serial(failure, impostor):
    key = impostor("""
body = b'{"runtime":{"hostname":"sick","serials":{"chassis":"B2"}},"answers":{}}'; say(begin(len(body)), body, end())""")
    found = failure(key, serials={"chassis": "A1"}, labels={})
    assert "wrong-machine" == found.kind
    assert "chassis serial is 'B2', expected 'A1'" in found.message


def test_a_login_shell_that_runs_nothing(failure, impostor):
    found = failure(impostor("", command="echo 'This account is currently not available.'; exit 1"))
    assert "node-code" == found.kind
    assert "not available" in found.message


def test_a_session_that_breaks_off(failure, impostor):
    """The session's sshd is killed, as by a node running out of memory."""
    found = failure(impostor("", command="kill -9 $PPID"))
    assert "disconnected" == found.kind
    assert "look at the server's log" in found.message


def test_node_code_that_ends_in_an_exception(failure, impostor):
    found = failure(impostor("raise SystemError('no such luck')"))
    assert "node-code" == found.kind
    assert "SystemError: no such luck" in found.message


def test_no_python_on_the_node(failure, impostor, tmp_path):
    found = failure(impostor("", command=f"mkdir -p {tmp_path}/bin; export PATH={tmp_path}/bin FLEETCHECK_ROOT={tmp_path}; eval $SSH_ORIGINAL_COMMAND"))
    assert "no-python" == found.kind
    assert "install python3" in found.message


def test_only_python_2_on_the_node(failure, impostor, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python2").write_text("#!/bin/sh\necho Python 2.7.18 >&2\n")
    (tmp_path / "bin" / "python2").chmod(0o755)
    found = failure(impostor("", command=f"export PATH={tmp_path}/bin FLEETCHECK_ROOT={tmp_path}; eval $SSH_ORIGINAL_COMMAND"))
    assert "no-python" == found.kind
    assert "Python 2.7.18" in found.message


@pytest.mark.parametrize("said", [
    "sudo: a password is required", "sudo: a terminal is required to read the password", "ops is not in the sudoers file."])
def test_sudo_that_refuses(failure, sshd, tmp_path, said):
    (tmp_path / "sudo").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    (tmp_path / "sudo").chmod(0o755)
    found = failure(sshd.identity, become=(f"{tmp_path}/sudo", "-n"))
    assert "become-refused" == found.kind
    assert said in found.message
    assert "/etc/sudoers.d/fleetcheck" in found.message


def test_sudo_that_grants(ask, node, sshd, tmp_path):
    (tmp_path / "sudo").write_text("#!/bin/sh\nshift\nexec \"$@\"\n")
    (tmp_path / "sudo").chmod(0o755)
    assert ask(node(sshd, become=(f"{tmp_path}/sudo", "-n"))).failure is None


def test_sudo_that_is_not_there(failure, sshd):
    found = failure(sshd.identity, become=("no-such-sudo", "-n"))
    assert "become-refused" == found.kind
