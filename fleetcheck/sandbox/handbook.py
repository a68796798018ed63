"""The generated parts of docs/sandbox.md: ``python -m fleetcheck.sandbox.handbook docs/sandbox.md`` brings them up to date."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from fleetcheck import profiles
from fleetcheck.sandbox import faults
from fleetcheck.sandbox.machine import describe


def current(text: str) -> str:
    """The handbook with what stands between its markers generated anew."""
    for name, part in parts().items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = before + begin + part + end + rest.partition(end)[2]
    return text


def parts() -> Mapping[str, str]:
    """Name of a generated part → Markdown."""
    return {"faults": fault_table(), "base machines": machines()}


def fault_table() -> str:
    """Every shipped fault with its sentence."""
    rows = "".join(f"| `{name}` | {fault.description} |\n" for name, fault in faults.shipped().items())
    return f"| fault | what it is |\n|---|---|\n{rows}"


def machines() -> str:
    """The base machine of every shipped profile."""
    folder = profiles.shipped_profiles()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    return "\n".join(describe(profiles.load_profile(name, folder.parent / "none.yaml")) for name in names)


def main(path: Path) -> None:
    """Bring a handbook up to date in place."""
    path.write_text(current(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
