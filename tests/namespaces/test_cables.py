"""Real cables, real LLDP: two of them swapped at the switch."""

from fleetrun import CHECKS, run_pytest

FLEET = """fleet: netns
defaults: {profile: cpu-host}
nodes:
  n[1-4]: {cables: {eth0: "leaf/swp[1-4]"}}
sandbox:
  kind: namespaces
  link: {lldp: true}
  nodes:
    n2: {link: {port: swp3}}
    n3: {link: {port: swp2}}
"""


def test_swapped_cables_are_named_with_both_nodes_and_both_ports(spaces, tmp_path):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    ended = run_pytest(CHECKS / "interconnect" / "test_cabling.py", "--inventory", "fleet.yaml", "-n", "4", "-p", "no:cacheprovider", cwd=tmp_path)
    assert 1 == ended.status, ended.output
    results = {line["node"] or line["check"]: line for line in ended.lines("results")}
    assert ["passed", "failed", "failed", "passed"] == [results[f"n{number}"]["outcome"] for number in range(1, 5)], ended.output
    assert "eth0: ends in leaf/swp3, should end in leaf/swp2" in results["n2"]["message"]
    assert ("n2 eth0 ends in leaf/swp3 and n3 eth0 in leaf/swp2: these two cables are swapped"
            in results["test_no_cables_of_two_nodes_are_swapped"]["message"])
    assert {"n2", "n3"} == {name for name, node in ended.verdicts["nodes"].items() if node["verdict"] == "degraded"}
