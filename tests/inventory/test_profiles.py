"""Profiles are found, extended and refused; every shipped limit says unit, source and date."""


from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from fleetcheck import profiles
from fleetcheck.bound import Bound, Expectation
from fleetcheck.inventory import Inventory, InventoryError, load
from fleetcheck.profile import Bundle, GpuProfile, Profile

SHIPPED = sorted(path.stem for path in profiles.shipped_profiles().glob("*.yaml"))
GPU_KINDS = [name for name in SHIPPED if name != "cpu-host"]


def shipped(name: str) -> Profile:
    return profiles.load_profile(name, profiles.shipped_profiles().parent / "any.yaml")


def limits(value: object) -> Iterator[Expectation | Bundle]:
    """Every limit and bundle anywhere in a profile."""
    if isinstance(value, (Expectation, Bundle)):
        yield value
    elif isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from limits(getattr(value, field))
    elif isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from limits(item)


def site(folder: Path, text: str) -> Inventory:
    (folder / "profiles").mkdir(exist_ok=True)
    (folder / "profiles" / "site.yaml").write_text(text)
    (folder / "x.yaml").write_text("fleet: f\nnodes: {a: {profile: site}}\n")
    return load(folder / "x.yaml")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(InventoryError) as caught:
        site(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_limit_says_unit_source_and_date(name: str) -> None:
    found = list(limits(shipped(name)))
    assert len(found) >= 8
    assert [] == [limit for limit in found if not limit.source.strip() or limit.date > datetime.date(2026, 11, 30)]
    assert [] == [limit for limit in found if isinstance(limit, Bound) and not limit.unit.strip()]


def test_the_kinds_of_node_that_are_promised_are_shipped() -> None:
    assert SHIPPED == ["a100-sxm4-80-8", "b200-sxm-8", "cpu-host", "gb200-nvl72-tray", "h100-sxm5-8", "h200-sxm-8"]


@pytest.mark.parametrize(("name", "gpus", "links", "watts", "architecture"), [
    ("a100-sxm4-80-8", 8, 12, 400, "x86_64"), ("h100-sxm5-8", 8, 18, 700, "x86_64"), ("h200-sxm-8", 8, 18, 700, "x86_64"),
    ("b200-sxm-8", 8, 18, 1000, "x86_64"), ("gb200-nvl72-tray", 4, 18, 1200, "aarch64"),
])
def test_gpu_counts_links_and_power_are_those_of_the_hardware(
        name: str, gpus: int, links: int, watts: int, architecture: str) -> None:
    profile = shipped(name)
    gpu = profile.gpu
    assert gpu is not None and gpu.nvlinks is not None
    assert (gpus, links, watts) == (gpu.count.low, gpu.nvlinks.low, gpu.power_limit_watts.high)
    assert architecture == profile.architecture


@pytest.mark.parametrize("name", GPU_KINDS)
def test_only_what_the_hardware_lacks_is_left_out_of_a_gpu_profile(name: str) -> None:
    gpu = shipped(name).gpu
    assert gpu is not None
    missing = {field for field in GpuProfile.model_fields if getattr(gpu, field) is None}
    lacking = {"retired_pages", "temperature_margin_celsius"} if name == "a100-sxm4-80-8" else {"retired_pages"}
    assert lacking == missing


def test_a_host_without_accelerators_expects_none() -> None:
    assert (None, None, ()) == (shipped("cpu-host").gpu, shipped("cpu-host").hcas, shipped("cpu-host").bundles)


@pytest.mark.parametrize("name", GPU_KINDS)
def test_a_rolling_upgrade_raises_nothing_until_the_old_bundle_ends(name: str) -> None:
    new, old = shipped(name).bundles
    assert (True, True) == (new.current(datetime.date(2027, 1, 31)), old.current(datetime.date(2027, 1, 31)))
    assert (True, False) == (new.current(datetime.date(2027, 2, 1)), old.current(datetime.date(2027, 2, 1)))


def test_a_site_profile_changes_what_it_names_and_keeps_the_rest(tmp_path: Path) -> None:
    inventory = site(tmp_path, (
        "extends: h100-sxm5-8\ngpu:\n  power_limit_watts: {equals: 650, source: power contract, date: 2026-06-01}\n"
        "  temperature_margin_celsius: null\nhcas: {names: [mlx5_0, mlx5_3]}\n"))
    profile, below = inventory.profiles["site"], shipped("h100-sxm5-8")
    assert profile.gpu is not None and below.gpu is not None and profile.hcas is not None and below.hcas is not None
    assert ("650 W", "power contract") == (str(profile.gpu.power_limit_watts), profile.gpu.power_limit_watts.source)
    assert None is profile.gpu.temperature_margin_celsius
    assert below.gpu.nvlinks == profile.gpu.nvlinks
    assert (("mlx5_0", "mlx5_3"), below.hcas.link_layer) == (profile.hcas.names, profile.hcas.link_layer)
    assert ("site", "h100-sxm5-8") == (profile.name, profile.extends)


def test_a_limit_changed_without_a_source_names_the_file_that_changed_it(tmp_path: Path) -> None:
    gpu = site(tmp_path, "extends: h100-sxm5-8\ngpu: {nvlinks: {low: 16}}\n").profiles["site"].gpu
    assert gpu is not None and gpu.nvlinks is not None
    assert (16, None) == (gpu.nvlinks.low, gpu.nvlinks.high)
    assert gpu.nvlinks.source.startswith("site.yaml, over: NVIDIA H100")


def test_both_ends_of_a_limit_may_be_changed_one_at_a_time(tmp_path: Path) -> None:
    memory = site(tmp_path, "extends: h100-sxm5-8\nmemory: {total_bytes: {low: 1.0e+12}}\n").profiles["site"].memory
    assert (1.0e12, 2.2e12) == (memory.total_bytes.low, memory.total_bytes.high)


def test_the_texts_of_a_whole_chain_are_kept(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "middle.yaml").write_text("extends: h100-sxm5-8\n")
    inventory = site(tmp_path, "extends: middle\n")
    assert ["site.yaml", "middle.yaml", "h100-sxm5-8.yaml"] == list(inventory.profile_texts)
    assert "extends: middle\n" == inventory.profile_texts["site.yaml"]


def test_a_copy_of_inventory_and_profiles_loads_to_the_same(tmp_path: Path) -> None:
    original = site(tmp_path, "extends: h100-sxm5-8\ndescription: ours\n")
    copy = tmp_path / "run"
    (copy / "profiles").mkdir(parents=True)
    (copy / "inventory.yaml").write_text(original.text)
    for name, text in original.profile_texts.items():
        (copy / "profiles" / name).write_text(text)
    assert (original.nodes, original.profiles) == ((again := load(copy / "inventory.yaml")).nodes, again.profiles)


def test_a_site_profile_stands_before_a_shipped_one_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    text = (profiles.shipped_profiles() / "cpu-host.yaml").read_text().replace("CPU-only host", "ours")
    (tmp_path / "profiles" / "cpu-host.yaml").write_text(text)
    (tmp_path / "x.yaml").write_text("fleet: f\nnodes: {a: {profile: cpu-host}}\n")
    assert "ours" == load(tmp_path / "x.yaml").profiles["cpu-host"].description


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("extends: h100-sxm5-8\ngpu:\n  nvlinkz: {low: 1}\n", "profiles/site.yaml:3: unknown key 'nvlinkz' under gpu; "
                 "expected one of: ", id="unknown key"),
    pytest.param("extends: h100-sxm5-8\ngpu:\n  nvlinks: {low: 20, high: 18}\n", "profiles/site.yaml:3: gpu.nvlinks: low 20 is "
                 "above high 18", id="ends the wrong way round"),
    pytest.param("extends: h100-sxm5-8\ngpu:\n  nvlinks: {high: inf}\n", "profiles/site.yaml:3: gpu.nvlinks.high is 'inf'; expected "
                 "a finite number", id="infinite limit"),
    pytest.param("extends: h100-sxm5-8\ngpu:\n  nvlinks: {equals: 18, low: 1}\n", "profiles/site.yaml:3: gpu.nvlinks: give "
                 "either equals or low/high, not both", id="equals and low"),
    pytest.param("extends: h100-sxm5-8\nlimits:\n  x: {low: 1, unit: s}\n", "profiles/site.yaml:3: key 'source' is missing "
                 "under limits.x; expected source: … (and 1 more error)", id="no source"),
    pytest.param("extends: h100-sxm5-8\nbundles:\n  - name: x\n    drive: '1'\n", "profiles/site.yaml:4: unknown key 'drive' "
                 "under bundles.0; expected one of: name, driver, ", id="inside a list"),
    pytest.param("extends: h100-sxm5-8\ngpu: {nvlinks: {low: 1, date: 2026-13-01}}\n", "profiles/site.yaml:2: gpu.nvlinks."
                 "date: '2026-13-01' is no date; expected one such as 2026-11-30", id="no date"),
    pytest.param("extends: h100-sxm5-8\ngpu: {nvlinks: {low: many}}\n", "profiles/site.yaml:2: gpu.nvlinks.low is 'many'; "
                 "expected a valid number", id="no number"),
    pytest.param("extends: site\n", "profiles/site.yaml:1: profile 'site' extends itself: site → site; expected a chain that "
                 "ends", id="cycle"),
    pytest.param("extends: h100\n", "profiles/site.yaml:1: no profile 'h100'; expected one of: a100-sxm4-80-8, ", id="missing"),
    pytest.param("extends: [a]\n", "profiles/site.yaml:1: no profile ['a']; expected one of: ", id="list"),
    pytest.param("name: other\nextends: h100-sxm5-8\n", "profiles/site.yaml:1: profile is named 'other'; expected 'site' as "
                 "its file, or no name", id="name"),
    pytest.param("gpu:\n\tx: 1\n", "profiles/site.yaml:2: not valid YAML at column 1: ", id="tab"),
    pytest.param("", "profiles/site.yaml:1: the profile is empty; expected a YAML mapping", id="empty"),
    pytest.param("description: x\n", "profiles/site.yaml:1: key 'architecture' is missing; expected architecture: … (and 3 "
                 "more errors)", id="nothing said"),
])
def test_a_wrong_profile_is_refused_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    found = refusal(tmp_path, text)
    assert found.startswith(expected)
    assert "\n" not in found


def test_an_error_in_what_is_extended_names_the_file_it_is_in(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "below.yaml").write_text("extends: h100-sxm5-8\n\ngpu: {ecc: {allowed: 5}}\n")
    assert refusal(tmp_path, "extends: below\n").startswith("profiles/below.yaml:3: gpu.ecc.allowed is '5'; expected ")
