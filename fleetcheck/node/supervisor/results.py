"""Runs on the node: what the processes of a load hand back, joined to one result; passes of a night joined too. Pure."""

from typing import Any, Dict, List, Mapping, Sequence

Leaves = Dict[str, Any]

MOST_MISMATCHES = 64
TENTHS = 10
LEAST_OF = ("tested_", "free_", "allocated_", "uncached_")
SUM_OF = ("verified_bytes", "verified_rounds", "passes", "cycles")


def of_processes(parts: Sequence[Leaves], expected: int) -> Leaves:
    """One RESULT out of those of several processes, each over some devices; expected: how many devices there are."""
    devices = sorted((device for part in parts for device in part.get("devices", [])), key=lambda one: one.get("index", 0))
    errors = [part["error"] for part in parts if part.get("error")]
    joined = dict(parts[0]) if parts else {}
    joined.update(
        ok=bool(parts) and all(part.get("ok") for part in parts), error="; ".join(dict.fromkeys(errors)),
        seconds=max([part.get("seconds", 0) for part in parts], default=0), devices=devices,
        links=[link for part in parts for link in part.get("links", [])],
        software=next((part["software"] for part in parts if part.get("software")), {}),
    )
    if len(parts) != 1 or "coverage" not in joined:
        good = sum(1 for device in devices if not device.get("error"))
        joined["coverage"] = "%d of %d" % (good, max(expected, len(devices)))
    return joined


def without_result(error: str, seconds: float, devices: Sequence[Mapping[str, Any]], cut: bool = False) -> Leaves:
    """What stands for the result of a process that brought none; devices: index and uuid of those it ran on.

    cut: the end of all came upon it, so that its silence tells nothing of them.
    """
    lost = [{"index": device["index"], "uuid": device.get("uuid", ""), "name": "", "error": error, "metrics": {},
             "tenths": {}, "mismatches": [], "mismatch_count": 0, "checksums": {}, "cut": cut} for device in devices]
    return {"ok": False, "error": error, "seconds": round(seconds, 1), "software": {}, "devices": lost, "links": [],
            "coverage": "0 of %d" % len(lost)}


def cut_short(result: Leaves, why: str) -> Leaves:
    """A result whose devices broke off for a reason of ours: told, and cut."""
    devices = [dict(device, error=why + device["error"], cut=True) if device.get("error") else device for device in result["devices"]]
    return dict(result, devices=devices, error=why + result["error"])


def shaped(value: Any) -> Leaves:
    """A RESULT as it must be; ValueError for a thing that is none."""
    if not isinstance(value, dict) or not isinstance(value.get("devices", []), list):
        raise ValueError("not a result: %.80r" % (value,))
    for device in value.get("devices", []):
        if not isinstance(device, dict) or not isinstance(device.get("index"), int):
            raise ValueError("not a device of a result: %.80r" % (device,))
    return dict(value, ok=bool(value.get("ok")), error=str(value.get("error") or ""),
                seconds=float(value.get("seconds") or 0), devices=value.get("devices", []), links=value.get("links") or [])


def of_passes(earlier: Leaves, later: Leaves) -> Leaves:
    """Two passes of a load as one result: the worst is kept, speeds are means over time, mismatches add up."""
    if not earlier:
        return dict(later, passes=1)
    before, now = {each["index"]: each for each in earlier["devices"]}, {each["index"]: each for each in later["devices"]}
    shares = (earlier["seconds"], later["seconds"])
    devices = [device_passes(before.get(index), now.get(index), shares) for index in sorted(set(before) | set(now))]
    joined = dict(later, devices=devices, links=worst_links(earlier["links"] + later["links"]))
    cut = only_cut(later)
    joined.update(ok=earlier["ok"] and (later["ok"] or cut), error=earlier["error"] or ("" if cut else later["error"]),
                  seconds=sum(shares), passes=earlier.get("passes", 1) + 1, software=later.get("software") or earlier.get("software", {}),
                  coverage=earlier["coverage"] if cut or (not earlier["ok"] and later["ok"]) else later.get("coverage", ""))
    return joined


def only_cut(result: Leaves) -> bool:
    """Whether a pass lacks devices for no other reason than that the end of all came upon it."""
    failed = [device for device in result["devices"] if device.get("error")]
    return bool(failed) and all(device.get("cut") for device in failed)


def device_passes(before: Any, now: Any, shares: Sequence[float]) -> Leaves:
    """One device over two passes."""
    if before is None or now is None:
        missing = before or now
        return dict(missing, error=missing.get("error") or "it was part of only some of the passes")
    if now.get("cut"):
        return dict(before)
    joined = dict(now)
    changes = before.get("checksum_changes", []) + changed(before.get("checksums") or {}, now.get("checksums") or {})
    joined.update(
        error=before.get("error") or now.get("error", ""),
        metrics={name: metric(name, before, now, shares) for name in names(before, now, "metrics")},
        lowest={name: lowest(name, before, now) for name in names(before, now, "metrics")},
        tenths={name: tenths(before, now, name, shares) for name in names(before, now, "tenths")},
        mismatches=((before.get("mismatches") or []) + (now.get("mismatches") or []))[:MOST_MISMATCHES],
        mismatch_count=before.get("mismatch_count", 0) + now.get("mismatch_count", 0),
        checksums=dict(now.get("checksums") or {}, **(before.get("checksums") or {})),
        checksum_changes=changes[:MOST_MISMATCHES],
    )
    return joined


def names(before: Leaves, now: Leaves, section: str) -> List[str]:
    """Names in a section of either pass."""
    return sorted(set(before.get(section) or {}) | set(now.get(section) or {}))


def metric(name: str, before: Leaves, now: Leaves, shares: Sequence[float]) -> Any:
    """A metric over both: what was verified adds up, of what was covered the least counts, speeds are means by time."""
    values: List[Any] = [(before.get("metrics") or {}).get(name), (now.get("metrics") or {}).get(name)]
    if not all(isinstance(value, (int, float)) for value in values):
        return next((value for value in values if isinstance(value, (int, float))), values[-1])
    if name in SUM_OF:
        return values[0] + values[1]
    if name.startswith(LEAST_OF):
        return min(values)
    whole = sum(shares) or 1.0
    return (values[0] * shares[0] + values[1] * shares[1]) / whole


def lowest(name: str, before: Leaves, now: Leaves) -> Any:
    """The least value of a metric in any pass."""
    values = [(before.get("lowest") or before.get("metrics") or {}).get(name), (now.get("metrics") or {}).get(name)]
    return min((value for value in values if isinstance(value, (int, float))), default=values[-1])


def tenths(before: Leaves, now: Leaves, name: str, shares: Sequence[float]) -> List[Any]:
    """Ten means over the time of both: each pass is cut to slices by its share, the slices to ten groups."""
    series = [(section.get("tenths") or {}).get(name) or [] for section in (before, now)]
    if not all(series):
        return series[0] or series[1]
    whole = sum(shares) or 1.0
    placed = []
    for place in range(TENTHS):
        at = (place + 0.5) / TENTHS * whole
        first = at < shares[0]
        values = series[0] if first else series[1]
        inside = at / shares[0] if first else (at - shares[0]) / (shares[1] or 1.0)
        placed.append(values[min(int(inside * len(values)), len(values) - 1)])
    return placed


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> List[Leaves]:
    """Checksums that a later pass of the same device did not repeat."""
    return [{"case": case, "expected": before[case], "got": now[case]}
            for case in sorted(set(before) & set(now)) if before[case] != now[case]]


def worst_links(links: Sequence[Leaves]) -> List[Leaves]:
    """Each link once: its least rate and the sum of its mismatches."""
    found: Dict[Any, Leaves] = {}
    for link in links:
        key = (link.get("from"), link.get("to"), link.get("kind"))
        old = found.get(key)
        if old is None:
            found[key] = dict(link)
        else:
            rates = [rate for rate in (old.get("gb_s"), link.get("gb_s")) if isinstance(rate, (int, float))]
            old.update(gb_s=min(rates) if rates else old.get("gb_s"),
                       mismatch_count=old.get("mismatch_count", 0) + link.get("mismatch_count", 0))
    return list(found.values())
