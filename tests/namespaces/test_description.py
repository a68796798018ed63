"""Links in a description: refused with file and line where nothing could come of them; what they become, in commands."""

import pytest

from fleetcheck import inventory
from fleetcheck.sandbox import SandboxError, plan
from fleetcheck.sandbox.spaces import delay, shape
from fleetcheck.sandbox.spaces.link import Link

HEAD = "fleet: t\nnodes:\n  n[1-3]: {profile: h100-sxm5-8}\nsandbox:\n"


def planned(tmp_path, section):
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + section)
    return plan.plan(inventory.load(path))


@pytest.mark.parametrize(("section", "line", "words"), [
    ("  nodes:\n    n2: {link: {down: true}}\n", 6, "expected kind: namespaces"),
    ("  link: {loss_percent: 1}\n", 5, "expected kind: namespaces"),
    ("  kind: namespace\n", 5, "'simulated' or 'namespaces'"),
    ("  kind: namespaces\n  nodes:\n    n2: {link: {rate: 5}}\n", 7, "unknown key 'rate'"),
    ("  kind: namespaces\n  nodes:\n    n2: {link: {loss_percent: 101}}\n", 7, "100"),
    ("  kind: namespaces\n  nodes:\n    n2: {link: {blocked_ports: 90-80}}\n", 7, "is no range of TCP ports"),
    ("  kind: namespaces\n  nodes:\n    n2: {link: {port: 'a;b'}}\n", 7, "is no switch port"),
    ("  kind: namespaces\n  nodes:\n    n3: {link: {port: swp2}}\n", 7, "the cables of n2 and n3 both end in port swp2"),
])
def test_a_link_that_cannot_be_is_refused_with_its_line(tmp_path, section, line, words):
    with pytest.raises(SandboxError) as refused:
        planned(tmp_path, section)
    assert str(refused.value).startswith(f"{tmp_path}/f.yaml:{line}: "), refused.value
    assert words in str(refused.value)


def test_what_is_said_of_a_node_goes_before_what_holds_for_all(tmp_path):
    links = [one.link for one in planned(tmp_path, "  kind: namespaces\n  link: {rate_mbits_per_second: 200}\n  nodes:\n"
                                                   "    n[2-3]: {link: {rate_mbits_per_second: 40}}\n    n3: {link: {loss_percent: 2}}\n")]
    assert [(200, None), (40, None), (40, 2)] == [(link.rate_mbits_per_second, link.loss_percent) for link in links]
    assert ["swp1", "swp2", "swp3"] == [link.port for link in links]


def test_simulated_nodes_have_no_link(tmp_path):
    assert [None] * 3 == [one.link for one in planned(tmp_path, "  nodes: {}\n")]


def test_a_healthy_link_is_neither_shaped_nor_filtered():
    words = {word for command in (*shape.node(1, Link()), *shape.cable("swp1", 9, Link())) for word in command}
    assert not words & {"tc", "nft", "iptables", "down"}


def test_a_block_of_netlink_messages_tells_its_packets():
    header = delay.attribute(delay.HEADER, b"\0\0\1\2" + b"\x08\0\0")
    one = delay.message(delay.PACKET, 0, delay.attribute(9, b"xy") + header)
    assert [258, 258] == delay.packet_numbers(one + delay.message(3, 0, b"") + one)
    assert [] == delay.packet_numbers(b"\0" * 40)
