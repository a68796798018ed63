"""What loads draw, and that no rack draws more than it may."""

import pytest
from fakeloads import Fleet, controlled, inventory_of
from typer.testing import CliRunner

from fleetcheck.burnin.admission import admission
from fleetcheck.burnin.power import draws, energy_kwh, nodes_for, watts
from fleetcheck.cli import app
from fleetcheck.inventory import InventoryError, load

RACK = """fleet: f
defaults: {{profile: h100-sxm5-8, claim: none}}
power:
  node_watts: 2500
  gpu_watts: 700
  racks: {{"12": {{watts: {watts}}}}}
nodes:
  n[01-16]: {{rack: 12}}
  m[1-2]: {{rack: 13}}
"""


def rack(folder, watts=40000, text=RACK):
    path = folder / "x.yaml"
    path.write_text(text.format(watts=watts))
    return load(path)


@pytest.mark.parametrize(("gpus", "each", "nodes"), [(0, 8, 0), (1, 8, 1), (8, 8, 1), (9, 8, 2), (72, 4, 18)])
def test_nodes_are_rounded_up(gpus, each, nodes):
    assert nodes == nodes_for(gpus, each)


def test_power_is_that_of_accelerators_and_of_the_nodes_around_them():
    assert 16 * 700 + 2 * 2500 == watts(16, 8, 700, 2500)
    assert 8.1 == energy_kwh(8100, 3600)


def test_a_rack_is_never_loaded_beyond_its_budget(tmp_path):
    inventory = rack(tmp_path)
    allowed = admission(draws(inventory, inventory.nodes), None)
    waves = allowed.waves([node.name for node in inventory.nodes])
    assert [6, 4, 4, 4] == [len(wave) for wave in waves] and all(allowed.draws.of(allowed.draws.in_rack("12", wave)) <= 40000 for wave in waves)
    assert sorted(node.name for node in inventory.nodes) == sorted(name for wave in waves for name in wave)


def test_the_controller_keeps_to_the_budget(tmp_path):
    text = RACK.replace("n[01-16]: {{rack: 12}}", "n[1-5]: {{rack: 12}}").replace("  m[1-2]: {{rack: 13}}\n", "")
    fleet = Fleet()
    with controlled(tmp_path, fleet, rack(tmp_path, 20000, text), duration=120, needed=("gemm",)) as (loads, futures):
        for name in futures:
            loads.ready(name, None)
        for future in futures.values():
            future.result(30)
    assert 2 == fleet.most


def test_without_budgets_32_nodes_are_loaded_at_once_and_with_them_as_many_as_they_allow(tmp_path):
    inventory = inventory_of(tmp_path, "n[001-100]")
    assert 32 == admission(draws(inventory, inventory.nodes), None).limit
    assert 7 == admission(draws(inventory, inventory.nodes), 7).limit
    whole = inventory_of(tmp_path, "n[001-100]", power="power: {node_watts: 500, racks: {'1': {watts: 50000}}}\n")
    assert 100 == len(admission(draws(whole, whole.nodes), None).waves([node.name for node in whole.nodes])[0])


@pytest.mark.parametrize(("change", "said"), [
    (("watts: {watts}", "watts: 8000"), "x.yaml:6: n01 alone draws 8.1 kW under load, over the budget of rack 12, 8.0 kW"),
    (("  node_watts: 2500\n", ""), "x.yaml:3: power: budgets need node_watts"),
    (('"12": {{watts', '"14": {{watts'), "x.yaml:6: no node stands in rack '14'; expected one of: 12, 13"),
    (("watts: {watts}", "watts: 40 kW"), "x.yaml:6: power.racks.12.watts is '40 kW'; expected "),
    (("watts: {watts}", "watts: 0"), "x.yaml:6: power.racks.12.watts is '0'; expected a value greater than 0"),
    (("watts: {watts}", "kilowatts: 40"), "x.yaml:6: unknown key 'kilowatts' under power.racks.12; expected one of: watts"),
])
def test_a_budget_that_makes_no_sense_is_refused_with_its_line(tmp_path, change, said):
    with pytest.raises(InventoryError) as refused:
        inventory = rack(tmp_path, text=RACK.replace(*change))
        draws(inventory, inventory.nodes)
    assert said in str(refused.value)


def test_plan_says_it_all_before_anything_starts(tmp_path):
    rack(tmp_path)
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "x.yaml"), "--duration", "4h"])
    assert 0 == done.exit_code, done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["12", "16", "128", "129.6", "kW", "OVER", "40.0", "kW", "4"] in lines
    assert ["13", "2", "16", "16.2", "kW", "none", "given", "2"] in lines
    assert "18 nodes, 144 GPUs: m[1-2],n[01-16]" in done.output and "4 h a node" in done.output
    assert "4 waves of at most 6 nodes at once" in done.output and "all done in about 16 h" in done.output
    assert "at most 48.6 kW at once, 583.2 kWh" in done.output


def test_plan_of_some_nodes_counts_only_those(tmp_path):
    rack(tmp_path)
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "x.yaml"), "--tier", "full", "--nodes", "n[01-02]"])
    assert "2 nodes, 16 GPUs: n[01-02]" in done.output and "16.2 kW" in done.output and "OVER" not in done.output


def test_power_without_node_watts_says_what_it_leaves_out(tmp_path):
    (tmp_path / "x.yaml").write_text("fleet: f\ndefaults: {profile: h100-sxm5-8, claim: none}\nnodes: {n1: }\n")
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "x.yaml"), "--tier", "full"])
    assert "at most 5.6 kW at once" in done.output and "GPUs alone: power: {node_watts: …} is not in the inventory" in done.output
