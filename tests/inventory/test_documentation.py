"""The examples of docs/inventory.md are real: they load, and the tables name every key there is."""

from __future__ import annotations

import re
from pathlib import Path

from fleetcheck.entries import InventoryFile, NodeEntry, SshEntry
from fleetcheck.inventory import load

PAGE = (Path(__file__).parents[2] / "docs" / "inventory.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_load(tmp_path: Path) -> None:
    inventory, profile, sections = EXAMPLES
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "rack12-h100.yaml").write_text(profile + sections)
    (tmp_path / "rack12.yaml").write_text(inventory.replace("profile: h100-sxm5-8", "profile: rack12-h100"))
    loaded = load(tmp_path / "rack12.yaml")
    assert 32 == len(loaded.nodes)
    assert 9000 == loaded.profiles["rack12-h100"].reach.endpoints[0].mtu_bytes
    assert ["2026.11", "2026.8"] == [bundle.name for bundle in loaded.profiles["rack12-h100"].bundles]


def test_every_key_is_documented() -> None:
    keys = {*InventoryFile.model_fields, *NodeEntry.model_fields, *SshEntry.model_fields}
    assert set() == {key for key in keys if f"`{key}`" not in PAGE}
