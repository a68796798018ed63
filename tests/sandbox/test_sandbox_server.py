"""The SSH side of a simulated node behaves as sshd does: streams, end of file, exit status, signals, many at once."""

import os
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import paramiko
import pytest

NODES = "n[1-4]"
DESCRIBED = ""
MANY = 64


def gone(pid):
    """Wait until a process has ended; a process that never does stops the test by its own timeout."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True


@pytest.mark.parametrize("command, status", [("exit 7", 7), ("ls", 127), ("true", 0)])
def test_the_exit_status_is_the_commands(fleet, command, status):
    assert status == fleet.ssh("n1", command).returncode


def test_a_signal_that_ends_the_command_is_told(fleet):
    with fleet.client("n1") as client:
        channel = client.get_transport().open_session()
        channel.exec_command("kill -TERM $$")
        assert -1 == channel.recv_exit_status()


def test_both_outputs_come_apart_and_whole(fleet):
    done = fleet.ask("n1", "sys.stderr.write('e' * 300000); tell('o' * 300000)")
    assert 300_000 == len(done)


def test_binary_input_reaches_the_command_to_its_last_byte(fleet):
    sent = os.urandom(5_000_000)
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    assert sent == fleet.ssh("n1", f"python3 -c '{code}'", sent).stdout


def test_a_command_that_closes_its_input_does_not_stall_the_client(fleet):
    assert b"done\n" == fleet.ssh("n1", "exec <&-; echo done", b"x" * 3_000_000).stdout


def test_the_process_group_ends_when_the_client_is_gone(fleet):
    with fleet.client("n2") as client:
        _, out, _ = client.exec_command("python3 -c 'import signal; signal.pause()' & echo $!; wait")
        pid = int(out.readline())
    assert gone(pid)


def test_a_client_may_send_a_signal(fleet):
    with fleet.client("n2") as client:
        channel = client.get_transport().open_session()
        channel.exec_command("echo ready; exec python3 -c 'import signal; signal.pause()'")
        assert b"ready\n" == channel.recv(100)
        request = paramiko.Message()
        request.add_byte(b"\x62")  # SSH_MSG_CHANNEL_REQUEST of RFC 4254
        request.add_int(channel.remote_chanid)
        request.add_string("signal")
        request.add_boolean(False)
        request.add_string("TERM")
        client.get_transport()._send_user_message(request)
        assert -1 == channel.recv_exit_status()


def test_a_detached_process_outlives_its_session(fleet):
    command = "python3 -c 'import os, signal; os.setsid(); signal.pause()' </dev/null >/dev/null 2>&1 & echo $!"
    pid = int(fleet.ssh("n2", command).stdout)
    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)


def test_many_sessions_run_at_once(fleet):
    with fleet.client("n3") as client, ThreadPoolExecutor(8) as pool:

        def one(number):
            stdin, out, _ = client.exec_command(f"read line; echo $line {number}")
            stdin.write("answer\n")
            return out.read().decode()

        assert [f"answer {number}\n" for number in range(MANY)] == list(pool.map(one, range(MANY)))


def test_another_key_is_refused(fleet, tmp_path):
    node = fleet.nodes["n1"]
    stranger = paramiko.ECDSAKey.generate()
    client = paramiko.SSHClient()
    client.load_host_keys(str(node.ssh.known_hosts))
    with pytest.raises(paramiko.AuthenticationException):
        client.connect(node.address, node.ssh.port, "root", pkey=stranger, allow_agent=False, look_for_keys=False)


def test_every_node_has_a_host_key_of_its_own(fleet):
    keys = [line.split()[2] for line in fleet.nodes["n1"].ssh.known_hosts.read_text().splitlines()]
    assert 4 == len(set(keys))


def test_a_node_is_a_jump_host_to_its_neighbours_only(fleet):
    neighbour = fleet.nodes["n2"]
    with fleet.client("n1") as client:
        transport = client.get_transport()
        channel = transport.open_channel(
            "direct-tcpip", (neighbour.address, neighbour.ssh.port), ("127.0.0.1", 0), timeout=5
        )
        assert channel.recv(4) == b"SSH-"
        with socket.create_server(("127.0.0.1", 0)) as stranger, pytest.raises(paramiko.ChannelException):
            transport.open_channel("direct-tcpip", stranger.getsockname(), ("127.0.0.1", 0), timeout=5)


def test_without_a_command_there_is_a_shell(fleet):
    done = subprocess.run(fleet.argv("n1"), input=b"echo from the shell\n", capture_output=True, timeout=30)
    assert b"from the shell\n" == done.stdout
