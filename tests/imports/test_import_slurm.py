"""Slurm's files become an inventory: nodes with ranges, partitions and switches as groups, profiles as far as Gres tells."""

import pytest

from fleetcheck.imports import command
from fleetcheck.imports.slurm_records import records
from fleetcheck.inventory import InventoryError, load

CONF = """# slurm.conf
ClusterName=rack12
TopologyPlugin=topology/tree
SlurmctldHost=head(10.0.0.250)
NodeName=DEFAULT CPUs=224 Gres=gpu:h100:8 \\
    State=UNKNOWN
NodeName=n[01-16] NodeAddr=10.0.0.[1-16]
nodename=n[17-32]   # others
NodeName=cpu[1-4] Gres=(null) State=CLOUD
PartitionName=DEFAULT MaxTime=INFINITE
PartitionName=batch Nodes=ALL Default=YES
PartitionName=debug Nodes=n[01-02],x9
NodeSet=fast Nodes=n[03-04]
PartitionName=fastq Nodes=fast,n05
Include /etc/slurm/more.conf
"""
TOPOLOGY = "SwitchName=leaf1 Nodes=n[01-16]\nSwitchName=leaf2 Nodes=n[17-32]\nSwitchName=spine Switches=leaf[1-2]\n"
SHOWN = """NodeName=g01 Arch=x86_64 CoresPerSocket=56
   CPUAlloc=0 CPUEfctv=224 CPUTot=224 CPULoad=0.01
   Gres=gpu:nvidia_h100_80gb_hbm3:8(S:0-1)
   NodeAddr=10.1.0.1 NodeHostName=g01 Version=22.05.8
   OS=Linux 5.15.0-1 #1 SMP Debian x86_64
   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0
   Partitions=batch,debug
   Reason=bad = gpu [root@2026-11-30T01:00:00]

NodeName=g02 Arch=x86_64 CoresPerSocket=56
   Gres=gpu:nvidia_h100_80gb_hbm3:8(S:0-1)
   NodeAddr=10.1.0.2 NodeHostName=g02
   State=IDLE Partitions=batch

"""


def imported(folder, *texts, profile=""):
    sources = []
    for number, text in enumerate(texts, 1):
        sources.append(folder / f"f{number}.conf")
        sources[-1].write_text(text)
    with (folder / "said").open("w+") as said:
        command.run("slurm", sources, folder / "made.yaml", said, said, profile=profile)
        said.seek(0)
        return load(folder / "made.yaml"), (folder / "made.yaml").read_text(), said.read().replace(f"{folder}/", "")


def test_nodes_partitions_and_switches(tmp_path):
    loaded, text, _ = imported(tmp_path, CONF, TOPOLOGY)
    nodes = {node.name: node for node in loaded.nodes}
    assert ("rack12", 36) == (loaded.fleet, len(nodes))
    assert ("10.0.0.16", "h100-sxm5-8", "leaf1") == (nodes["n16"].address, nodes["n16"].profile, nodes["n16"].labels["leaf"])
    assert ("n17", "leaf2") == (nodes["n17"].address, nodes["n17"].labels["leaf"])
    assert ("cpu-host", "spare") == (nodes["cpu1"].profile, nodes["cpu1"].state)
    assert {"batch": 36, "debug": 2, "fast": 2, "fastq": 3, "leaf1": 16, "leaf2": 16, "spine": 32} == {name: len(members) for name, members in loaded.groups.items()}
    assert "  n[01-16]: {address: '10.0.0.[1-16]', profile: h100-sxm5-8}\n" in text
    assert "  leaf2: {nodes: 'n[17-32]', leaf: leaf2}\n" in text


def test_nodes_on_one_line_each_keep_what_stands_behind_their_kernel(tmp_path):
    shown = [" ".join(block.split()) for block in SHOWN.strip().split("\n\n")]
    loaded, *_ = imported(tmp_path, "\n".join(shown))
    assert {"batch": 2, "debug": 1} == {name: len(members) for name, members in loaded.groups.items()}


@pytest.mark.parametrize("sentence", [
    "f1.conf: profile h100-sxm5-8 is a guess from Gres=gpu:h100:8: look whether it is that model",
    "f1.conf: nodes without GPUs in Gres have profile cpu-host; --profile NAME says otherwise",
    "f1.conf:12: x9 of debug is no node of these files: left out",
    "f1.conf:15: Include /etc/slurm/more.conf: not read; give that file too",
    "f1.conf:3: a topology is configured, and none of these files tells it; give topology.conf, or the output of: scontrol show topology",
])
def test_what_cannot_be_mapped_is_said_in_the_file_and_aloud(tmp_path, sentence):
    _, text, said = imported(tmp_path, CONF)
    assert sentence in said
    assert sentence in text.replace(f"{tmp_path}/", "")


def test_what_scontrol_shows_of_nodes_and_topology(tmp_path):
    loaded, text, _ = imported(tmp_path, SHOWN, "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=g[01-02]\n", "Configuration data as of 2026-11-30T09:00:00\nClusterName             = shown\n\n")
    assert ("shown", ["10.1.0.1", "10.1.0.2"]) == (loaded.fleet, [node.address for node in loaded.nodes])
    assert {"h100-sxm5-8"} == {node.profile for node in loaded.nodes}
    assert {"batch": 2, "debug": 1, "s1": 2} == {name: len(members) for name, members in loaded.groups.items()}
    assert "  g[01-02]: {address: '10.1.0.[1-2]', profile: h100-sxm5-8}\n" in text


def test_blocks_are_nvlink_domains(tmp_path):
    loaded, _, _ = imported(tmp_path, "ClusterName=c\nNodeName=t[1-4] Gres=gpu:gb200:4\n", "BlockName=b1 Nodes=t[1-2]\nBlockName=b2 Nodes=t[3-4]\n")
    assert ["b1", "b1", "b2", "b2"] == [node.labels["nvlink_domain"] for node in loaded.nodes]
    assert {"gb200-nvl72-tray"} == {node.profile for node in loaded.nodes}


def test_a_named_profile_is_that_of_every_node(tmp_path):
    loaded, _, _ = imported(tmp_path, "NodeName=a[1-2] Gres=gpu:8\n", profile="h100-sxm5-8")
    assert {"h100-sxm5-8"} == {node.profile for node in loaded.nodes}


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("ClusterName=c\n", "f1.conf:1: there is no NodeName in it; expected slurm.conf or the output of: scontrol show node", id="no node"),
    pytest.param("NodeName=a[1-\n", "f1.conf:1: bad range 'a[1-'; expected a ClusterShell range such as 'n[01-32]'", id="range"),
    pytest.param("\nNodeName=a[1-2] NodeAddr=10.0.0.[1-3]\n", "f1.conf:2: '10.0.0.[1-3]' is 3 addresses for 2 nodes; expected one each", id="addresses"),
    pytest.param("NodeName=a Gres=gpu:8\n", "f1.conf:1: Gres=gpu:8 names no hardware that a shipped profile is for; expected --profile NAME", id="no type"),
    pytest.param("NodeName=a Gres=gpu:mi300x:8\n", "f1.conf:1: Gres=gpu:mi300x:8 names no hardware", id="other hardware"),
    pytest.param("NodeName=a Gres=gpu:h100:4\n", "f1.conf:1: Gres=gpu:h100:4 names no hardware", id="other count"),
    pytest.param("ClusterName=c\nwhat is this\n", "f1.conf:2: 'what is this' is no KEY=VALUE; expected slurm.conf or what scontrol prints", id="no pairs"),
    pytest.param("NodeName=a;b\n", "f1.conf:1: node name 'a;b' is not allowed", id="hostile name"),
])
def test_a_mistake_is_one_line(tmp_path, text, expected):
    with pytest.raises(InventoryError) as caught:
        imported(tmp_path, text)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(expected), caught.value
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InventoryError, match=r"no.conf: cannot read it: No such file or directory; expected slurm.conf or what scontrol prints"):
        command.run("slurm", [tmp_path / "no.conf"], None, None, None)


@pytest.mark.parametrize(("text", "kinds"), [
    ("NodeName=a B=c \\\n  D=e\nPartitionName=p Nodes=a\n", [("nodename", {"nodename": "a", "b": "c", "d": "e"}), ("partitionname", {"partitionname": "p", "nodes": "a"})]),
    ("  NodeName=a\n  NodeName=b\n", [("nodename", {"nodename": "a"}), ("nodename", {"nodename": "b"})]),
    ("NodeName=a Reason=\"two words\" # NodeName=z\n", [("nodename", {"nodename": "a", "reason": "two words"})]),
    ("", []),
])
def test_records(text, kinds):
    assert kinds == [(each.kind, dict(each.keys)) for each in records(text)]


def test_thousands_of_nodes_of_scontrol_are_no_trouble(tmp_path):
    text = "".join(f"NodeName=n{number:05}\n   Gres=gpu:h100:8 NodeAddr=n{number:05}\n   Partitions=batch\n\n" for number in range(3_000))
    loaded, made, _ = imported(tmp_path, text)
    assert 3_000 == len(loaded.nodes)
    assert "  n[00000-02999]: {profile: h100-sxm5-8}\n" in made


def test_a_switch_named_like_a_partition_of_other_nodes_lends_them_no_leaf(tmp_path):
    loaded, _, said = imported(tmp_path, "NodeName=a[1-4] Gres=gpu:h100:8\nPartitionName=r1 Nodes=a[1-4]\n", "SwitchName=r1 Nodes=a[1-2]\nSwitchName=up Switches=r1\n")
    assert {"r1": 4, "switch-r1": 2, "up": 2} == {name: len(members) for name, members in loaded.groups.items()}
    assert ["r1", "r1", None, None] == [node.labels.get("leaf") for node in loaded.nodes]
    assert "f2.conf:1: switch r1 is called switch-r1 here, for a partition of other nodes has its name" in said
