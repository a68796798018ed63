"""Every mistake in an inventory is refused in one line that names file, line and what was expected."""


from __future__ import annotations

from pathlib import Path

import pytest

from fleetcheck.inventory import InventoryError, load
from fleetcheck.profiles import shipped_profiles

HEAD = "fleet: f\ndefaults: {profile: cpu-host}\n"          # so that what a case adds begins in line 3
NODE_KEYS = ("address, profile, rack, slot, leaf, rail, nvlink_domain, power_feed, labels, ssh, state, until, note, "
             "transport, become, torch_python, scratch, serials, cables, bmc, claim, load, interconnect")
SHIPPED = "a100-sxm4-80-8, b200-sxm-8, cpu-host, gb200-nvl72-tray, h100-sxm5-8, h200-sxm-8"
NAME_RULE = ("is not allowed; expected letters, digits, dots, dashes and underscores, at most 253, "
             "the first a letter or digit")


def refusal(path: Path) -> str:
    with pytest.raises(InventoryError) as caught:
        load(path)
    return str(caught.value).replace(str(path), path.name)


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "x.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("nodes:\n  a: {rak: 1}\n", f"x.yaml:4: unknown key 'rak' under nodes.a; expected one of: {NODE_KEYS} "
                 "(did you mean 'rack'?)", id="unknown key of a node"),
    pytest.param("nodez: {a: }\n", "x.yaml:3: unknown key 'nodez'; expected one of: fleet, ssh, defaults, nodes, groups, "
                 "policy, power, isolation, alerts, sandbox, notes (did you mean 'nodes'?) (and 1 more error)", id="unknown key of the file"),
    pytest.param("nodes: {a: {ssh: {usr: x}}}\n", "x.yaml:3: unknown key 'usr' under nodes.a.ssh; expected one of: user, "
                 "port, identity_file, known_hosts, jump, config_file, options (did you mean 'user'?)",
                 id="unknown key under ssh"),
    pytest.param("nodes:\n  rack: {state: spare, prt: 1}\n", f"x.yaml:4: unknown key 'prt' under nodes.rack; "
                 f"expected one of: {NODE_KEYS}", id="unknown key of a node named like a key"),
    pytest.param("nodes: {a: {port: 2222}}\n", "x.yaml:3: unknown key 'port' under nodes.a; expected ssh: {port: …}",
                 id="key one level too high"),
    pytest.param("nodes: {a: }\ngroups:\n  g: {nodes: a, becom: x}\n", "x.yaml:5: unknown key 'becom' under groups.g; "
                 f"expected one of: {NODE_KEYS}, nodes (did you mean 'become'?)", id="unknown key of a group"),
    pytest.param("nodes:\n  a: {rak: 1}\n  b: {state: x}\n", f"x.yaml:4: unknown key 'rak' under nodes.a; expected one "
                 f"of: {NODE_KEYS} (did you mean 'rack'?) (and 1 more error)", id="two errors"),
    pytest.param("groups: {}\n", "x.yaml:1: key 'nodes' is missing; expected nodes: …", id="no nodes"),
    pytest.param("nodes: {}\n", "x.yaml:3: there is no node; expected names or ranges such as 'n[01-32]' under nodes",
                 id="empty nodes"),
    pytest.param("nodes: [a, b]\n", "x.yaml:3: nodes is a list; expected a mapping of keys", id="list of nodes"),
    pytest.param("nodes: {a: 5}\n", "x.yaml:3: nodes.a is '5'; expected a mapping of keys", id="number for a node"),
    pytest.param("nodes: {a: {state: broken}}\n", "x.yaml:3: nodes.a.state is 'broken'; expected 'in-service', 'spare', "
                 "'maintenance', 'rma' or 'decommissioned'", id="unknown state"),
    pytest.param("nodes: {a: {until: soon}}\n", "x.yaml:3: nodes.a.until: 'soon' is no date; expected one such as "
                 "2026-11-30", id="no date"),
    pytest.param("nodes: {a: {interconnect: {ports: 80-90}}}\n", "x.yaml:3: nodes.a.interconnect.ports: '80-90' is no range of ports; "
                 "expected two of 1024 to 65535, such as 29500-29599", id="ports too low"),
    pytest.param("nodes: {a: {interconnect: {environment: {LD_PRELOAD: /x.so}}}}\n", "x.yaml:3: nodes.a.interconnect.environment.LD_PRELOAD: "
                 "LD_PRELOAD is not taken from an inventory; it loads code into every rank", id="code for every rank"),
    pytest.param("nodes: {a: {interconnect: {environment: {RANK: 1}}}}\n", "x.yaml:3: nodes.a.interconnect.environment.RANK: "
                 "RANK is not taken from an inventory; fleetcheck sets it", id="variable of ours"),
    pytest.param("nodes: {a: {ssh: {port: 99999}}}\n", "x.yaml:3: nodes.a.ssh.port is '99999'; expected a value less than "
                 "or equal to 65535", id="port too high"),
    pytest.param("nodes: {a: {scratch: tmp}}\n", "x.yaml:3: nodes.a.scratch: 'tmp' is not absolute; expected a path on "
                 "the node such as /scratch", id="relative scratch"),
    pytest.param("nodes: {a: {ssh: {identity_file: ~nosuchuser/k}}}\n", "x.yaml:3: nodes.a.ssh.identity_file: "
                 "'~nosuchuser/k': there is no such user; expected a path or ~/path", id="no such home"),
])
def test_a_wrong_key_or_value_is_named(tmp_path: Path, text: str, expected: str) -> None:
    assert expected == refusal(written(tmp_path, HEAD + text))


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("  a: {}\n  a: {}\n", "x.yaml:5: key 'a' is given twice, first in line 4; expected it once", id="twice"),
    pytest.param("  n[1-4]: {}\n  n[3-6]: {}\n", "x.yaml:5: node 'n3' is given twice: by 'n[3-6]' and by 'n[1-4]' in line "
                 "4; expected it once, or the second range to lie within the first", id="overlap"),
    pytest.param("  n[1-2]: {}\n  n[1,2]: {}\n", "x.yaml:5: node 'n1' is given twice: by 'n[1,2]' and by 'n[1-2]' in line "
                 "4; expected it once, or the second range to lie within the first", id="the same range otherwise"),
    pytest.param("  n1: {}\n  n[1-2]: {}\n", "x.yaml:5: node 'n1' is given twice: by 'n[1-2]' and by 'n1' in line 4; "
                 "expected it once, or the second range to lie within the first", id="wider after narrower"),
    pytest.param("  n[1:30]: {}\n", "x.yaml:4: bad range 'n[1:30]'; expected a ClusterShell range: 'n[1-30]'",
                 id="range of Ansible"),
    pytest.param("  s-[01:99:2].dc1: {}\n", "x.yaml:4: bad range 's-[01:99:2].dc1'; expected a ClusterShell range: "
                 "'s-[01-99/2].dc1'", id="range of Ansible with a step"),
    pytest.param("  n[3-1]: {}\n", "x.yaml:4: bad range 'n[3-1]'; expected a ClusterShell range: 'n[1-3]'", id="backwards"),
    pytest.param("  n[01-100]: {}\n", "x.yaml:4: bad range 'n[01-100]'; expected a ClusterShell range: 'n[001-100]'",
                 id="uneven padding"),
    pytest.param("  n[1-: {}\n", "x.yaml:4: bad range 'n[1-'; expected a ClusterShell range such as 'n[01-32]'", id="open"),
    pytest.param("  n[a-c]: {}\n", "x.yaml:4: bad range 'n[a-c]'; expected a ClusterShell range such as 'n[01-32]'",
                 id="letters"),
    pytest.param("  n[1-1000001]: {}\n", "x.yaml:4: range 'n[1-1000001]' names more than 1,000,000 nodes; expected a fleet",
                 id="too many"),
    pytest.param("  n[1-1001]x[1-1000]: {}\n", "x.yaml:4: range 'n[1-1001]x[1-1000]' names more than 1,000,000 nodes; "
                 "expected a fleet", id="too many by product"),
    pytest.param("  'a;reboot': {}\n", f"x.yaml:4: node name 'a;reboot' {NAME_RULE}", id="shell word"),
    pytest.param("  a/b: {}\n", f"x.yaml:4: node name 'a/b' {NAME_RULE}", id="slash"),
    pytest.param("  -oX=y: {}\n", f"x.yaml:4: node name '-oX=y' {NAME_RULE}", id="leading dash"),
    pytest.param('  "a\\nb": {}\n', f"x.yaml:4: node name 'a\\nb' {NAME_RULE}", id="line break"),
    pytest.param('  "@all": {}\n', f"x.yaml:4: node name '@all' {NAME_RULE}", id="group sign"),
    pytest.param(f"  {'a' * 254}: {{}}\n", f"x.yaml:4: node name '{'a' * 77}...' {NAME_RULE}", id="too long"),
    pytest.param("  '': {}\n", f"x.yaml:4: node name '' {NAME_RULE}", id="empty"),
])
def test_a_wrong_node_name_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected == refusal(written(tmp_path, f"{HEAD}nodes:\n{text}"))


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("  n[1-30]: {address: 192.0.2.1}\n", "x.yaml:4: nodes 'n1' and 'n2' have the same address 192.0.2.1; "
                 "expected one each: write address: '{name}.example', or as many addresses as nodes: '192.0.2.[31-60]'",
                 id="thirty nodes, one address"),
    pytest.param("  n[1-30]: {address: '192.0.2.[31:60]'}\n", "x.yaml:4: bad range '192.0.2.[31:60]'; expected a "
                 "ClusterShell range: '192.0.2.[31-60]'", id="range of Ansible in a value"),
    pytest.param("  n[1-30]: {address: '192.0.2.[31-61]'}\n", "x.yaml:4: '192.0.2.[31-61]' are 31 addresses for the 30 "
                 "nodes 'n[1-30]'; expected as many of each", id="one address too many"),
    pytest.param("  a: {address: 192.0.2.1:2222}\n", "x.yaml:4: address '192.0.2.1:2222' carries a port; expected address: "
                 "192.0.2.1 and ssh: {port: 2222}", id="port"),
    pytest.param("  a: {address: '[::1]:22'}\n", "x.yaml:4: address '[::1]:22' carries a port; expected address: ::1 and "
                 "ssh: {port: 22}", id="port after IPv6"),
    pytest.param("  a: {address: 192.0.2.300}\n", "x.yaml:4: address '192.0.2.300' is no IPv4 address; expected four "
                 "numbers of 0 to 255", id="no IPv4"),
    pytest.param("  a: {address: '$(id)'}\n", "x.yaml:4: address '$(id)' is not allowed; expected a host name or an IP "
                 "address", id="shell words"),
    pytest.param("  a: {ssh: {user: 'x;y'}}\n", "x.yaml:4: nodes.a.ssh.user: 'x;y' is not allowed; expected a user name "
                 "such as ops", id="user"),
    pytest.param("  a: {ssh: {jump: 'b -oProxyCommand=x'}}\n", "x.yaml:4: nodes.a.ssh.jump: 'b -oProxyCommand=x' is not "
                 "allowed; expected [USER@]HOST[:PORT], several joined by commas", id="jump"),
    pytest.param("  a: {ssh: {options: {ProxyCommand: nc}}}\n", "x.yaml:4: nodes.a.ssh.options.ProxyCommand: ProxyCommand "
                 "is not taken from an inventory; it runs a shell: put it into ~/.ssh/config if it must be", id="option"),
    pytest.param("  a: {ssh: {options: {StrictHostKeyChecking: no}}}\n", "x.yaml:4: nodes.a.ssh.options."
                 "StrictHostKeyChecking: StrictHostKeyChecking is not taken from an inventory; host keys are always "
                 "verified", id="host keys unverified"),
    pytest.param("  a: {become: sudo}\n", "x.yaml:4: nodes.a.become: 'sudo' may ask for a password; expected sudo -n",
                 id="sudo that asks"),
    pytest.param("  a: {become: 'sudo -n \"'}\n", "x.yaml:4: nodes.a.become: 'sudo -n \"': no closing quotation; expected "
                 "words such as: sudo -n", id="open quotation"),
    pytest.param('  a: {note: "\\e[2J"}\n', "x.yaml:4: nodes.a.note: control characters are not allowed; expected text",
                 id="control characters"),
])
def test_a_way_to_the_wrong_machine_or_to_a_shell_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected == refusal(written(tmp_path, f"{HEAD}nodes:\n{text}"))


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("g: b", "x.yaml:4: group 'g': unknown node b; expected nodes of the inventory (a)", id="unknown node"),
    pytest.param("g: '@h'", "x.yaml:4: group 'g': unknown group 'h'; expected one of: none", id="unknown group"),
    pytest.param("g: a!a", "x.yaml:4: group 'g': there is no node in it; expected some of a", id="empty"),
    pytest.param("g: '@h', h: '@g'", "x.yaml:4: groups name each other in a circle: g → h → g; expected an end", id="circle"),
    pytest.param("g: {become: x}", "x.yaml:4: key 'nodes' is missing under groups.g; expected nodes: …", id="no nodes"),
    pytest.param("'g;x': a", "x.yaml:4: group 'g;x': this name is not allowed; expected one such as leaf1", id="name"),
])
def test_a_wrong_group_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected == refusal(written(tmp_path, f"{HEAD}nodes: {{a: }}\ngroups: {{{text}}}\n"))


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param(f"{HEAD}nodes:\n\ta: {{}}\n", "x.yaml:4: not valid YAML at column 1: while scanning for the next token, "
                 "found character that cannot start any token; indent with spaces, not tabs", id="tab"),
    pytest.param(f"{HEAD}nodes: {{a: {{}}\n", "x.yaml:4: not valid YAML at column 1: while parsing a flow mapping, did not "
                 "find expected ',' or '}'", id="open brace"),
    pytest.param(f"{HEAD}nodes: {{a: }}\n---\nb: 1\n", "x.yaml:4: not valid YAML at column 1: expected a single document in "
                 "the stream, but found another document", id="two documents"),
    pytest.param("a: *b\n", "x.yaml:1: not valid YAML at column 4: found undefined alias", id="undefined alias"),
    pytest.param("fleet: f\na: \x01\n", "x.yaml:2: not valid YAML: character U+0001 is not allowed", id="control character"),
    pytest.param("", "x.yaml:1: the inventory is empty; expected a YAML mapping", id="empty"),
    pytest.param("# nothing\n", "x.yaml:1: the inventory is empty; expected a YAML mapping", id="comment only"),
    pytest.param("- a\n", "x.yaml:1: the inventory is a list; expected a mapping of keys", id="list"),
    pytest.param("hello\n", "x.yaml:1: the inventory is a single value; expected a mapping of keys", id="word"),
    pytest.param("[servers]\nnode-[1:30] ansible_host=192.0.2.[31:60]\n", "x.yaml:2: ansible_host=192.0.2.[31:60] is no range to "
                 "Ansible but one literal value for 30 nodes; as YAML: address: '192.0.2.[31-60]'", id="inventory of Ansible"),
    pytest.param(b"fleet: f\nnodes: \xff\n", "x.yaml:2: byte 0xff is not UTF-8; expected a YAML file in UTF-8", id="bytes"),
    pytest.param(f"{HEAD}nodes: &x {{a: *x}}\n", "x.yaml:3: nested over 40 deep (an alias to itself?); expected a plain "
                 "mapping", id="alias to itself"),
    pytest.param("a: " + "[" * 100 + "]" * 100, "x.yaml:1: nested over 40 deep (an alias to itself?); expected a plain "
                 "mapping", id="deep"),
    pytest.param(f"{HEAD}nodes: !!python/object:os.system {{a: 1}}\n", "x.yaml:3: tag 'tag:yaml.org,2002:python/object:"
                 "os.system' is not allowed; expected plain YAML", id="object"),
    pytest.param(f"{HEAD}nodes:\n  ? [a]\n  : {{}}\n", "x.yaml:4: this key is no plain name; expected NAME: value, quoted "
                 "if it has a bracket", id="list as a key"),
    pytest.param(f"{HEAD}<<: {{a: 1}}\nnodes: {{a: }}\n", "x.yaml:3: unknown key '<<'; expected one of: fleet, ssh, "
                 "defaults, nodes, groups, policy, power, isolation, alerts, sandbox, notes", id="merge key"),
])
def test_a_file_that_is_no_inventory_is_refused(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert expected == refusal(written(tmp_path, text))


def test_an_alias_bomb_is_refused_without_being_built(tmp_path: Path) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    bomb = "\n".join(["l0: &l0 [x, x, x, x, x, x, x, x, x, x]", *levels])
    assert "x.yaml:1: aliases repeat more than 10000 values; expected the values themselves" == refusal(written(tmp_path, bomb))


def test_an_absent_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "none.yaml: cannot read the inventory: No such file or directory; expected a YAML file" == (
        refusal(tmp_path / "none.yaml"))
    (tmp_path / "folder").mkdir()
    assert "folder: cannot read the inventory: Is a directory; expected a YAML file" == refusal(tmp_path / "folder")


def test_a_missing_profile_lists_those_there_are_and_where_it_looked(tmp_path: Path) -> None:
    path = written(tmp_path, "fleet: f\nnodes:\n  a: {profile: h100-sxm5}\n")
    assert refusal(path) == (f"x.yaml:3: no profile 'h100-sxm5'; expected one of: {SHIPPED} (looked in "
                             f"{tmp_path}/profiles and {shipped_profiles()}) (did you mean 'h100-sxm5-8'?)")


def test_a_profile_is_never_looked_up_outside_its_folders(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("name: secret\n")
    assert refusal(written(tmp_path, "fleet: f\nnodes:\n  a: {profile: ../secret}\n")).startswith(
        "x.yaml:3: no profile '../secret'; expected one of: ")


def test_a_node_without_a_profile_is_refused(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "fleet: f\nnodes: {'n[1-3]': }\n")) == (
        f"x.yaml:2: n[1-3] has no profile; expected profile: NAME under defaults, a group or the node, one of: {SHIPPED}")
