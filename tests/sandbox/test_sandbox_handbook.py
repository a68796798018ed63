"""What docs/sandbox.md lists is what there is."""

import re
from pathlib import Path

import yaml

from fleetcheck.sandbox import handbook
from fleetcheck.sandbox.plan import plan

HANDBOOK = Path(handbook.__file__).parents[2] / "docs" / "sandbox.md"
REFRESH = "run python -m fleetcheck.sandbox.handbook docs/sandbox.md"


def test_its_lists_are_current():
    text = HANDBOOK.read_text()
    assert handbook.current(text) == text, REFRESH


def test_its_examples_are_accepted(described):
    examples = re.findall(r"```yaml\n(.*?)```", HANDBOOK.read_text(), re.DOTALL)
    parts = [yaml.safe_load(example) for example in examples]
    whole = next(part["sandbox"]["nodes"] for part in parts if "sandbox" in part)
    plan(described(yaml.safe_dump(whole), "sim-[01-08]"))
    for part in parts:
        if "sandbox" not in part:
            plan(described(yaml.safe_dump({"n1": part}, allow_unicode=True)))
