"""NVML rules that cannot be simulated: refused before a node starts."""

import pytest

from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.native import NvmlRule, nvml_state


@pytest.mark.parametrize(("rule", "words"), [
    (NvmlRule("nvmlDeviceGetNames"), ["nvmlDeviceGetNames", "nvmlDeviceGetName"]),
    (NvmlRule("nvmlDeviceGetNvLinkState", args={"lnk": 1}), ["nvmlDeviceGetNvLinkState", "link"]),
    (NvmlRule("nvmlDeviceGetFieldValues", args={"fieldId": 1}), ["field"]),
    (NvmlRule("nvmlDeviceGetRemappedRows", value={"pending": 1}), ["nvmlDeviceGetRemappedRows", "isPending"]),
    (NvmlRule("nvmlDeviceGetRemappedRows", value=[0, 1]), ["4 values", "corrRows, uncRows, isPending"]),
    (NvmlRule("nvmlDeviceGetName", ret="GPU_LOST"), ["GPU_LOST", "GPU_IS_LOST"]),
    (NvmlRule("nvmlDeviceGetGpuFabricInfoV", value=3), ["mapping of clusterUuid"]),
    (NvmlRule("nvmlDeviceGetSupportedMemoryClocks", value=3), ["list"]),
    (NvmlRule("nvmlDeviceGetTemperature", value=-1), ["holds 0 to"]),
    (NvmlRule("nvmlDeviceGetTemperature", value="warm"), ["whole number", "'warm'"]),
    (NvmlRule("nvmlDeviceGetTemperature", value={"start": "x", "per_second": 1}), ["growing number"]),
    (NvmlRule("nvmlDeviceGetTemperature", args={"sensorType": "NVML_TEMPERATURE_GPUS"}), ["NVML_TEMPERATURE_GPU"]),
    (NvmlRule("nvmlDeviceValidateInforom", value=1), ["no output", "return"]),
    (NvmlRule("nvmlSystemGetDriverVersion", 3, value="1"), ["leave gpu out"]),
    (NvmlRule("nvmlDeviceGetName", 64, value="1"), ["from 0 to 63"]),
    (NvmlRule("*", 1, value=3), ["return or hang"]),
])
def test_a_rule_that_cannot_be_simulated_is_refused_with_what_would_do(rule, words):
    with pytest.raises(SandboxError) as refused:
        nvml_state([rule], [0, 1], 0)
    assert [] == [word for word in words if word not in str(refused.value)]


def test_a_list_gives_the_outputs_of_a_call_in_the_order_of_the_header():
    by_name = {"corrRows": 0, "uncRows": 1, "isPending": 1, "failureOccurred": 0}
    in_order = NvmlRule("nvmlDeviceGetRemappedRows", value=[0, 1, 1, 0])
    assert nvml_state([in_order], [0], 0) == nvml_state([NvmlRule("nvmlDeviceGetRemappedRows", value=by_name)], [0], 0)
