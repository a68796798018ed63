"""A fleet in shards: each runs by itself, and the merge of them finds what one whole run finds."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from fleetrun import attentive, clean_environment
from loadnode import processes_with
from smallsite import Site

from fleetcheck import inventory
from fleetcheck.inventory import InventoryError, Node
from fleetcheck.run import RunError
from fleetcheck.settings import Settings
from fleetcheck.shards import Shard, all_of, narrowed, nodes_of

CHECKS = """
    import pytest

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_known(system):
        assert system.hostname

    @pytest.mark.check(component="disk", severity="degraded", action="isolate", per="fleet")
    def test_filesystems_are_alike(group, filesystems_by_node):
        assert not filesystems_by_node.odd("the number of file systems", len)
"""
FLEET = """fleet: f
defaults: {profile: cpu-host, transport: local}
nodes:
  'n[1-3]': {rack: 1}
  n4: {rack: 2, transport: ssh, address: 127.0.0.1, ssh: {port: 1}}
  n5: {rack: 2}
  n6: {rack: 2, state: maintenance}
"""


def run(site, *words):
    return site.run("checks", "--inventory", "fleet.yaml", "--no-html", *words)


def made(folder):
    site = Site(folder)
    site.write(CHECKS)
    (folder / "fleet.yaml").write_text(FLEET)
    return site


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """Both shards and the whole, run once."""
    site = made(tmp_path_factory.mktemp("fleet"))
    for number in (1, 2):
        run(site, "--shard", f"{number}/2")
    site.whole = run(site, "--reports", "whole")
    return site


@pytest.fixture
def fleet(sharded, tmp_path):
    """The same, to be changed."""
    shutil.copytree(sharded.folder, tmp_path / "fleet", symlinks=True)
    site = Site.__new__(Site)
    site.folder = tmp_path / "fleet"
    return site


def latest(site, number):
    return site.folder / "reports" / "shards" / f"{number}-of-2" / "latest"


def told(folder):
    """What a run says, without what differs from run to run."""
    verdicts = json.loads((folder / "verdicts.json").read_text())
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return ({name: (node["verdict"], node["certified"], node["coverage"]) for name, node in verdicts["nodes"].items()}, verdicts["complete"],
            Counter((line["check"], line["node"], line["outcome"]) for line in lines), {line["run"] for line in lines} == {folder.resolve().name})


def test_a_merge_finds_what_one_run_finds(sharded, fleet):
    merged = run(fleet, "--merge", "2")
    assert told(merged.run) == told(sharded.folder / "whole" / "latest"), merged.output
    assert merged.status == sharded.whole.status and told(merged.run)[1] and ("test_filesystems_are_alike", "", "passed") in told(merged.run)[2]
    assert (merged.run / "measurements.parquet").exists() and not (latest(fleet, 1) / "measurements.parquet").exists()
    assert 5 == len((merged.run / "evidence.jsonl").read_text().splitlines()), "nobody is asked twice"
    refused = fleet.run("checks", "--resume", "latest")
    assert 4 == refused.status and "join them again: --merge 2" in refused.output


def test_a_shard_certifies_nothing_and_knows_its_own_nodes_only(sharded):
    verdicts = json.loads((latest(sharded, 1) / "verdicts.json").read_text())
    assert ["n1", "n2", "n3"] == list(verdicts["nodes"]) and not verdicts["complete"]
    assert "--shard 1/2" == json.loads((latest(sharded, 1) / "run.json").read_text())["narrowed"]
    assert not (sharded.folder / "reports" / "latest").exists()


MISFITS = [
    ({"interrupted": True}, "go on with it: --shard 2/2 --resume latest"), ({"tier": "full"}, "its tier is 'full', now it is 'quick'"),
    ({"version": "0.0"}, "it was written by fleetcheck 0.0"), ({"nodes": "n4"}, "its nodes is 'n4', now it is ''"), (None, "it has no run.json"),
]


@pytest.mark.parametrize(("wrong", "words"), MISFITS)
def test_a_shard_that_is_no_part_of_it_is_named(fleet, wrong, words):
    about = latest(fleet, 2) / "run.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), **wrong} if wrong else {}))
    with pytest.raises(RunError, match=r"^shard 2/2, ") as refused:
        joined(fleet)
    assert words in str(refused.value)


def joined(site, of=2):
    return all_of(Settings(tier="quick", merge=of, reports=site.folder / "reports"), inventory.load(site.folder / "fleet.yaml"))


def test_a_shard_of_another_fleet_or_time_is_refused(fleet):
    assert 2 == len(joined(fleet))
    with pytest.raises(RunError, match=r"no run of shard 1/3 under .*/1-of-3: run it first, with --shard 1/3"):
        joined(fleet, 3)
    (fleet.folder / "fleet.yaml").write_text(FLEET.replace("state: maintenance", "state: spare"))
    with pytest.raises(RunError, match="inventory or profiles have changed since; run it again, with --shard 1/2"):
        joined(fleet)
    (fleet.folder / "fleet.yaml").write_text(FLEET)
    latest(fleet, 1).resolve().rename(latest(fleet, 1).parent / "20200101-000000-abcd")
    latest(fleet, 1).unlink()
    latest(fleet, 1).symlink_to("20200101-000000-abcd")
    with pytest.raises(RunError, match=r"20200101-000000-abcd is older than .*; run that shard again"):
        joined(fleet)


def test_what_a_shard_left_out_makes_the_whole_partial(fleet):
    about = latest(fleet, 2) / "run.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "narrowed": "--shard 2/2, -k not n5"}))
    assert "-k not n5" == narrowed("", joined(fleet)) == narrowed("-k not n5", joined(fleet))


@pytest.mark.parametrize("words", [("--shard", "3/2"), ("--merge", "0"), ("--merge", "2", "--shard", "1/2"), ("--shard", "1/2", "--replay", "latest"),
                                   ("--merge", "2", "--resume", "latest"), ("--shard", "1/9")])
def test_a_mistake_is_one_sentence(fleet, words):
    refused = run(fleet, *words)
    assert 4 == refused.status and "Traceback" not in refused.output and "error" in refused.output.lower()


def test_racks_stay_whole_and_every_node_is_in_one_shard():
    node = Node(name="n", address="h", profile="p")
    racked = [dataclasses.replace(node, name=f"n{number:03}", labels={"rack": str(number // 16)}) for number in range(160)]
    loose = [dataclasses.replace(node, name=f"m{number}") for number in range(7)]
    parts = [nodes_of(Shard(number, 4), [*racked, *loose]) for number in range(1, 5)]
    assert sorted(node.name for part in parts for node in part) == sorted(node.name for node in [*racked, *loose])
    for rack in map(str, range(10)):
        assert 1 == sum(any(node.labels.get("rack") == rack for node in part) for part in parts)
    assert max(map(len, parts)) - min(map(len, parts)) <= 16
    with pytest.raises(InventoryError, match=r"a rack is never cut; use fewer shards"):
        nodes_of(Shard(2, 3), racked[:32])


def shards(site, *words, **more):
    return subprocess.Popen([sys.executable, "-m", "fleetcheck.cli", "shards", "2", "checks", "--no-html", *words], cwd=site.folder, env=clean_environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def test_one_command_runs_all_shards_and_joins_them(tmp_path):
    process = shards(made(tmp_path), "--inventory", "fleet.yaml")
    output = process.communicate(timeout=120)[0]
    assert 1 == process.returncode and "shard 2/2 ended with exit code 1" in output and "COMPLETE: 5 nodes" in output, output


def test_a_shard_that_cannot_begin_ends_the_rest_in_its_own_words(tmp_path):
    process = shards(made(tmp_path), "--inventory", "none.yaml")
    output = process.communicate(timeout=120)[0]
    assert 4 == process.returncode and "none.yaml: cannot read the inventory" in output


def test_an_interruption_ends_every_shard(tmp_path):
    site = made(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("n5: {rack: 2}", "n5: {rack: 2, transport: ssh, address: 192.0.2.1}"))
    process = shards(site, "--inventory", "fleet.yaml", "--reports", str(tmp_path / "reports"), preexec_fn=attentive)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("reports/shards/*/*/plan.jsonl")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=120)[0]
    assert 2 == process.returncode and "interrupted: shards at work were ended" in output, output
    assert [] == processes_with(str(tmp_path / "reports"))
