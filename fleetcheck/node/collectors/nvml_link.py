"""What NVML tells of one GPU's NVLinks and of the fabric behind them (node side). Lists are by link index."""

from typing import Any, Dict, List

import pynvml as n

from fleetcheck.node.collectors.nvml_call import BAD_CODES, UNSUPPORTED, Nvml, absent, is_absent

Leaves = Dict[str, Any]

COUNTERS = {
    "replay": n.NVML_NVLINK_ERROR_DL_REPLAY,
    "recovery": n.NVML_NVLINK_ERROR_DL_RECOVERY,
    "crc_flit": n.NVML_NVLINK_ERROR_DL_CRC_FLIT,
    "crc_data": n.NVML_NVLINK_ERROR_DL_CRC_DATA,
}
PAST_THE_LAST = 2  # links not supported in a row that end the scan: the binding's maximum (36) exceeds any board's


def states(nvml: Nvml, handle: Any) -> List[Any]:
    """State of each link (0 down, 1 up, 2 asleep); the links past the last one are left out, but for the first."""
    found: List[Any] = []
    for link in range(n.NVML_NVLINK_MAX_LINKS):
        found.append(nvml.ask(n.nvmlDeviceGetNvLinkState, handle, link))
        if ends(found):
            break
    return trimmed(found)


def trimmed(found: List[Any]) -> List[Any]:
    """Without the unsupported links at the end, but for the first one, which tells that there are none."""
    while len(found) > 1 and is_absent(found[-1]) and found[-1]["absent"] in UNSUPPORTED:
        found.pop()
    return found


def ends(found: List[Any]) -> bool:
    """Whether asking further links is pointless: two unsupported in a row, or a GPU that is gone."""
    reasons = [state["absent"] if is_absent(state) else "" for state in found]
    return reasons[-1] in BAD_CODES[:3] or (len(found) >= PAST_THE_LAST and all(
        reason in UNSUPPORTED for reason in reasons[-PAST_THE_LAST:]))


def links(nvml: Nvml, handle: Any) -> Leaves:
    """State, version, speed and bit error rates of each link."""
    found = states(nvml, handle)
    present = range(len(found)) if not (len(found) == 1 and is_absent(found[0])) else range(0)
    per_link = [per_link_fields(nvml, handle, link) for link in present]
    return {
        "state": found,
        "state_field": [fields["state"] for fields in per_link],
        "version": [nvml.ask(n.nvmlDeviceGetNvLinkVersion, handle, link) for link in present],
        "speed_mbytes_per_second": [fields["speed"] for fields in per_link],
        "symbol_ber_packed": [fields["symbol_ber"] for fields in per_link],
        "effective_ber_packed": [fields["effective_ber"] for fields in per_link],
    }


def per_link_fields(nvml: Nvml, handle: Any, link: int) -> Leaves:
    """Fields scoped to one link; drivers that know only one speed for all links tell it by the older field."""
    fields = nvml.fields(handle, {
        "state": (n.NVML_FI_DEV_NVLINK_GET_STATE, link),
        "speed": (n.NVML_FI_DEV_NVLINK_GET_SPEED, link),
        "symbol_ber": (n.NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER, link),
        "effective_ber": (n.NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, link),
    })
    if is_absent(fields["speed"]) and fields["speed"]["absent"] in UNSUPPORTED:
        fields["speed"] = nvml.fields(handle, {"speed": n.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON})["speed"]
    return fields


def errors(nvml: Nvml, handle: Any) -> Leaves:
    """Error counters by kind, a list over links each: lifetime totals, of which only growth tells anything."""
    found: Dict[str, List[Any]] = {name: [] for name in COUNTERS}
    for link in range(n.NVML_NVLINK_MAX_LINKS):
        for name, counter in COUNTERS.items():
            found[name].append(nvml.ask(n.nvmlDeviceGetNvLinkErrorCounter, handle, link, counter))
        if any(ends(values) for values in found.values()):
            break
    return {name: trimmed(values) for name, values in found.items()}


def fabric(nvml: Nvml, handle: Any) -> Leaves:
    """NVSwitch fabric: state (3 completed), status, clique, cluster UUID; health mask from driver 550 on, then a summary of it too.

    A driver that knows a younger struct than it is asked by is asked by the older one.
    """
    oldest = {"state": "state", "status": "status", "clique": "cliqueId", "uuid": "clusterUuid"}
    older = dict(oldest, health_mask="healthMask")
    told = nvml.filled(dict(older, health_summary="healthSummary"), n.nvmlDeviceGetGpuFabricInfoV, handle, n.c_nvmlGpuFabricInfo_v3_t())
    if told["state"] in (absent("ARGUMENT_VERSION_MISMATCH"), absent("INVALID_ARGUMENT")):
        told.update(nvml.filled(older, n.nvmlDeviceGetGpuFabricInfoV, handle, n.c_nvmlGpuFabricInfo_v2_t()))
        told["health_summary"] = absent("ARGUMENT_VERSION_MISMATCH")
    elif told["state"] == absent("FUNCTION_NOT_FOUND"):
        told.update(nvml.filled(oldest, n.nvmlDeviceGetGpuFabricInfo, handle, n.c_nvmlGpuFabricInfo_t()))
    if not is_absent(told["uuid"]):
        told["uuid"] = "".join("%02x" % octet for octet in told["uuid"])
    return told
