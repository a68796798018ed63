"""Ansible's inventories become ones of ours: ranges and groups stay folded, what has no counterpart is said and never shown."""

import pytest
from typer.testing import CliRunner

from fleetcheck import cli
from fleetcheck.imports import command
from fleetcheck.inventory import InventoryError, load

INI = """# the cluster
login ansible_host=10.0.0.1 ansible_user=root

[leaf1]
n[01:16] rack=12 slot=a
[leaf2]
n[17:32] rack=13 ; later

[gpu:children]
leaf1
leaf2

[gpu:vars]
ansible_user = ops
ansible_become=true
ansible_ssh_common_args='-o ProxyJump=bastion.example'
api_token=hunter2

[bmc]
b1 ansible_host=192.0.2.31
b2 ansible_host=192.0.2.32
b3:2222 ansible_host=192.0.2.33
[spare]
"""
YAML = """all:
  vars: {ansible_user: ops, ansible_become_pass: !vault "$ANSIBLE_VAULT;1.1;AES256 6162"}
  children:
    gpu:
      hosts:
        n[1:4]:
        n5: {ansible_host: 10.0.0.5, ansible_port: 2222}
      children:
        inner:
          hosts:
            n[1:2]: {ansible_user: root}
    cpu: {hosts: {c1: {mounts: [/a, /b]}}, vars: {ansible_become: "yes", ansible_become_method: su}}
"""


def imported(folder, text, name="hosts.ini", profile="cpu-host", **words):
    """The inventory that comes of it, and what was said."""
    source, output = folder / name, folder / "made.yaml"
    source.write_text(text)
    said = (folder / "said").open("w+")
    command.run("ansible", [source], output, said, said, profile=profile, **words)
    said.seek(0)
    return load(output), output.read_text(), said.read().replace(f"{folder}/", "")


def refusal(folder, text, name="hosts.ini", **words):
    with pytest.raises(InventoryError) as caught:
        imported(folder, text, name, **words)
    assert not (folder / "made.yaml").exists()
    return str(caught.value).replace(f"{folder}/", "")


def test_an_ini_inventory_keeps_its_ranges_and_groups(tmp_path):
    loaded, text, _ = imported(tmp_path, INI)
    nodes = {node.name: node for node in loaded.nodes}
    assert 36 == len(nodes)
    assert ("12", "a", "ops", "bastion.example", ("sudo", "-n")) == (
        nodes["n01"].labels["rack"], nodes["n01"].labels["slot"], nodes["n01"].ssh.user, nodes["n01"].ssh.jump, nodes["n01"].become)
    assert ("10.0.0.1", "root", ()) == (nodes["login"].address, nodes["login"].ssh.user, nodes["login"].become)
    assert ["192.0.2.31", "192.0.2.32", "192.0.2.33"] == [nodes[name].address for name in ("b1", "b2", "b3")]
    assert 2222 == nodes["b3"].ssh.port
    assert {"leaf1": 16, "leaf2": 16, "gpu": 32, "bmc": 3} == {name: len(members) for name, members in loaded.groups.items()}
    assert all(folded in text for folded in ("  n[01-16]: {rack: '12', slot: a}\n", "  leaf2: n[17-32]\n", "'@leaf1,@leaf2'", "address: '192.0.2.[31-32]'"))


def test_what_has_no_counterpart_is_said_with_its_line_and_without_its_value(tmp_path):
    _, text, said = imported(tmp_path, INI)
    for told in (text, said):
        assert "hosts.ini:17: api_token has no counterpart" in told
        assert "hosts.ini:23: group spare has no host: left out" in told
        assert "hunter2" not in told


def test_a_yaml_inventory_with_a_vault(tmp_path):
    loaded, text, said = imported(tmp_path, YAML, "hosts.yml")
    nodes = {node.name: node for node in loaded.nodes}
    assert {"n1", "n2", "n3", "n4", "n5", "c1"} == set(nodes)
    assert ("10.0.0.5", 2222, "ops") == (nodes["n5"].address, nodes["n5"].ssh.port, nodes["n5"].ssh.user)
    assert ["root", "ops"] == [nodes[name].ssh.user for name in ("n2", "n3")]
    assert {"gpu": 5, "inner": 2, "cpu": 1} == {name: len(members) for name, members in loaded.groups.items()}
    assert "hosts.yml:2: ansible_become_pass has no counterpart" in said
    assert "hosts.yml:12: mounts has no counterpart" in said
    assert "hosts.yml:12: ansible_become becomes another user than root, or by another program than sudo and doas" in said
    assert "6162" not in said + text


def test_variables_in_files_beside_it_are_missed_aloud(tmp_path):
    (tmp_path / "group_vars").mkdir()
    assert "group_vars: not read; its variables are missing here" in imported(tmp_path, "[a]\nn1\n")[2]


def test_addresses_that_are_the_name_and_more_stay_one_word(tmp_path):
    _, text, _ = imported(tmp_path, "[a]\n" + "".join(f"n{number} ansible_host=n{number}.mgmt.example\n" for number in range(1, 9)))
    assert "  n[1-8]: {address: '{name}.mgmt.example'}\n" in text


def test_addresses_in_no_order_are_kept_one_by_one(tmp_path):
    loaded, _, _ = imported(tmp_path, "[a]\nn1 ansible_host=192.0.2.9\nn2 ansible_host=192.0.2.7\nn3 ansible_host=2001:db8::1\n")
    assert ["192.0.2.9", "192.0.2.7", "2001:db8::1"] == [node.address for node in loaded.nodes]


@pytest.mark.parametrize(("text", "name", "expected"), [
    pytest.param("[g]\n[2001:db8::1]:2222\n2001:db8::2\n", "hosts", "hosts:1: no host of it has a name that a node may have", id="addresses alone"),
    pytest.param("[g]\nm1\nn[3:1]\n", "hosts", "hosts:3: bad range '[3:1]'", id="range that ends before it begins"),
    pytest.param("[a]\nn[1:3] ansible_host=192.0.2.1\n", "h.ini", "h.ini:2: n1 and n2 have the same address 192.0.2.1; expected one each", id="one address"),
    pytest.param("[a]\nn[1:3] ansible_host=192.0.2.[1:3]\n", "h.ini", "h.ini:2: 192.0.2.[1:3] is no range to Ansible but one literal address; expected one host each", id="literal range"),
    pytest.param("[a]\nn1 foo\n", "h.ini", "h.ini:2: 'foo' is no VARIABLE=VALUE; expected a host, VARIABLE=VALUE or [GROUP]", id="loose word"),
    pytest.param("[a]\nn1 a='x\n", "h.ini", "h.ini:2: No closing quotation; expected a host, VARIABLE=VALUE or [GROUP]", id="quote"),
    pytest.param("[a\nn1\n[b]\n", "h.ini", "h.ini:1: bad section '[a'; expected a host, VARIABLE=VALUE or [GROUP]", id="bracket"),
    pytest.param("[a b]\nn1\n", "h.ini", "h.ini:1: bad section '[a b]'; expected a host, VARIABLE=VALUE or [GROUP]", id="section name"),
    pytest.param("[a]\nn[1:999999999]\n", "h.ini", "h.ini:2: range 'n[1:999999999]' names more than 100,000 hosts; expected a host, VARIABLE=VALUE or [GROUP]", id="bomb"),
    pytest.param("[a]\n", "h.ini", "h.ini:1: there is no host in it; expected an inventory of Ansible", id="empty"),
    pytest.param("all: {hostz: {n1: }}\n", "h.yml", "h.yml:1: unknown key 'hostz' of group 'all'; expected one of: hosts, children, vars", id="key"),
    pytest.param("all:\n  hosts: [n1]\n", "h.yml", "h.yml:2: 'hosts' is no mapping; expected NAME: …, as in an inventory of Ansible", id="list"),
    pytest.param("all: {hosts: {n[1:b: }}\n", "h.yml", "h.yml:1: not valid YAML", id="no YAML"),
    pytest.param("all:\n  hosts:\n    a: {ansible_port: x, ansible_host: '-oProxyCommand=x'}\n", "h.yml", "the inventory that would come of it:7: nodes.a.address: '-oProxyCommand=x' is not allowed", id="option as an address"),
])
def test_a_mistake_is_one_line(tmp_path, text, name, expected):
    said = refusal(tmp_path, text, name)
    assert said.startswith(expected), said
    assert "\n" not in said


def test_hardware_must_be_named(tmp_path):
    assert refusal(tmp_path, "[a]\nn1\n", profile="").startswith("hosts.ini: an inventory of Ansible does not say what hardware its hosts are; expected --profile NAME, one of a100")


def test_a_file_that_exists_is_never_overwritten(tmp_path):
    (tmp_path / "made.yaml").write_text("mine")
    with pytest.raises(InventoryError, match=r"made.yaml exists; expected --output with a name that is free"):
        imported(tmp_path, "[a]\nn1\n")
    assert "mine" == (tmp_path / "made.yaml").read_text()


def test_names_that_no_node_may_have_are_left_out_aloud(tmp_path):
    loaded, _, said = imported(tmp_path, "[a]\nn1\n'x;reboot'\n")
    assert ["n1"] == [node.name for node in loaded.nodes]
    assert "host 'x;reboot' has a name that no node may have: left out" in said


def test_the_command_prints_an_inventory_and_says_the_rest_on_standard_error(tmp_path):
    (tmp_path / "hosts.ini").write_text(INI)
    ended = CliRunner().invoke(cli.app, ["import", "ansible", str(tmp_path / "hosts.ini"), "--profile", "h100-sxm5-8", "--fleet", "rack12"])
    assert 0 == ended.exit_code
    (tmp_path / "out.yaml").write_text(ended.stdout)
    assert ("rack12", "h100-sxm5-8") == (load(tmp_path / "out.yaml").fleet, load(tmp_path / "out.yaml").nodes[0].profile)
    assert "api_token" in ended.stderr
