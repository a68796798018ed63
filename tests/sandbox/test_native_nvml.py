"""The simulated NVML, as the real pynvml sees it: every test loads the compiled library in a process of its own."""

import json
import os
import subprocess
import sys
import time

import pytest

from fleetcheck.sandbox.native import LIBRARY, STATE, SYMBOLS, NvmlRule, nvml, nvml_state, place
from fleetcheck.sandbox.nvml_surface import functions

PRELUDE = """
import ctypes, json
import pynvml as nvml
from pynvml import *

def told(call, *arguments):
    try:
        answer = call(*arguments)
    except NVMLError as error:
        return type(error).__name__.replace("NVMLError_", "")
    if hasattr(answer, "_fields_"):
        return {name: getattr(answer, name) for name, *_ in answer._fields_}
    return answer

def gpu(index):
    return nvmlDeviceGetHandleByIndex(index)
"""
LOST = NvmlRule("*", 1, ret="GPU_IS_LOST")


@pytest.fixture
def ask(tmp_path):
    """Run a pynvml script, which prints one JSON value, over a library that answers from these rules."""

    def run(rules, script, gpus=(0, 1, 2), absent=(), epoch=None):
        place(nvml(absent), tmp_path / LIBRARY)
        (tmp_path / STATE).write_bytes(nvml_state(rules, gpus, time.time() if epoch is None else epoch))
        done = subprocess.run([sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, timeout=30,
                              env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, check=False)
        assert (0, "") == (done.returncode, done.stderr)
        return json.loads(done.stdout)

    return run


def asks(expression):
    return f"nvmlInit(); print(json.dumps({expression}))"


def test_every_symbol_is_exported(ask):
    missing = f"[name for name in {SYMBOLS!r} if not hasattr(ctypes.CDLL('{LIBRARY}'), name)]"
    assert 98 == len(SYMBOLS)
    assert [] == ask([], f"print(json.dumps({missing}))")


def test_structs_are_as_large_as_pynvml_declares_them(ask):
    names = {"nvmlMemory_t": "c_nvmlMemory_t", "nvmlMemory_v2_t": "c_nvmlMemory_v2_t", "nvmlPciInfo_t": "nvmlPciInfo_t",
             "nvmlFieldValue_t": "c_nvmlFieldValue_t", "nvmlProcessInfo_t": "c_nvmlProcessInfo_t",
             "nvmlEventData_t": "c_nvmlEventData_t", "nvmlGpuFabricInfo_t": "c_nvmlGpuFabricInfo_t",
             "nvmlGpuFabricInfoV_t": "c_nvmlGpuFabricInfo_v3_t", "nvmlTemperature_t": "c_nvmlTemperature_v1_t",
             "nvmlEccSramErrorStatus_t": "c_nvmlEccSramErrorStatus_v1_t", "nvmlRepairStatus_t": "c_nvmlRepairStatus_t",
             "nvmlBAR1Memory_t": "c_nvmlBAR1Memory_t", "nvmlViolationTime_t": "c_nvmlViolationTime_t"}
    sizes = {p.type: f.size(p) for f in functions().values() for p in f.outputs if p.type in names}
    script = f"print(json.dumps({{k: ctypes.sizeof(getattr(nvml, v)) for k, v in {names!r}.items()}}))"
    assert ask([], script) == sizes


def test_nothing_answers_before_init(ask):
    assert "Uninitialized" == ask([], "nvmlInit(); nvmlShutdown(); print(json.dumps(told(nvmlDeviceGetCount)))")


@pytest.mark.parametrize("name", ["nvmlInit_v2", "nvmlInitWithFlags"])
def test_init_fails_as_the_rule_for_either_name_says(ask, name):
    rule = NvmlRule(name, ret="DRIVER_NOT_LOADED")
    assert "DriverNotLoaded" == ask([rule], "print(json.dumps(told(nvmlInit)))")


def test_a_library_without_state_says_which_file_it_misses(tmp_path):
    place(nvml(), tmp_path / LIBRARY)
    done = subprocess.run([sys.executable, "-c", "import pynvml; pynvml.nvmlInit()"], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, check=False)
    assert str(tmp_path / STATE) in done.stderr


def test_the_library_finds_its_state_beside_a_symbolic_link(tmp_path):
    (tmp_path / LIBRARY).symlink_to(nvml())
    (tmp_path / STATE).write_bytes(nvml_state([], [0, 1], 0))
    script = PRELUDE + asks("nvmlDeviceGetCount()")
    out = subprocess.check_output([sys.executable, "-c", script], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert b"2\n" == out


def test_a_call_without_a_rule_is_not_supported(ask):
    assert "NotSupported" == ask([], asks("told(nvmlDeviceGetPowerUsage, gpu(0))"))


def test_a_lost_gpu_fails_every_call_on_handles_that_are_held_too(ask, tmp_path):
    rules = [NvmlRule("nvmlDeviceGetName", value="H100"), NvmlRule("nvmlDeviceGetUUID", 1, value="GPU-1"),
             NvmlRule("nvmlDeviceGetTopologyCommonAncestor", value=20), NvmlRule("nvmlDeviceGetFieldValues", value=1)]
    (tmp_path / "later").write_bytes(nvml_state([*rules, LOST], [0, 1, 2], 0))
    script = f"""
import os
nvmlInit(); held = gpu(1); before = told(nvmlDeviceGetName, held); nvmlShutdown()
os.rename({str(tmp_path / "later")!r}, {str(tmp_path / STATE)!r})
nvmlInit()
print(json.dumps([before, told(nvmlDeviceGetName, held), told(gpu, 1), told(nvmlDeviceGetPowerUsage, held),
    told(nvmlDeviceGetHandleByUUID, "GPU-1"), told(nvmlDeviceGetFieldValues, held, [82]),
    told(nvmlDeviceGetTopologyCommonAncestor, gpu(0), held), told(nvmlDeviceGetName, gpu(0)), nvmlDeviceGetCount()]))
"""
    assert ["H100", *["GpuIsLost"] * 6, "H100", 3] == ask(rules, script)


def test_a_missing_gpu_shifts_the_indices_after_it(ask):
    rules = [NvmlRule("nvmlDeviceGetMinorNumber", n, value=n) for n in range(4)]
    every = "[[nvmlDeviceGetIndex(gpu(i)), nvmlDeviceGetMinorNumber(gpu(i))] for i in range(nvmlDeviceGetCount())]"
    assert [[0, 0], [1, 2], [2, 3]] == ask(rules, asks(every), gpus=(0, 2, 3))
    assert "InvalidArgument" == ask(rules, asks("told(gpu, 3)"), gpus=(0, 2, 3))


def test_gpu_on_a_handle_call_is_the_gpu_asked_for(ask):
    rules = [NvmlRule("nvmlDeviceGetPciInfo_v3", n, value={"busId": f"00000000:{n + 1:02X}:00.0"}) for n in range(2)]
    rules += [NvmlRule("nvmlDeviceGetSerial", n, value=1650 + n) for n in range(2)]
    rules += [NvmlRule(f"nvmlDeviceGetHandleBy{by}", 1, ret="UNKNOWN") for by in ("Index_v2", "PciBusId_v2", "Serial")]
    script = asks("""[told(gpu, 1), told(nvmlDeviceGetHandleByPciBusId, b"0000:02:00.0"),
        told(nvmlDeviceGetHandleBySerial, "1651"),
        nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId(b"0000:01:00.0")), told(nvmlDeviceGetHandleBySerial, "9")]""")
    assert ["Unknown"] * 3 + [0, "NotFound"] == ask(rules, script)


def test_each_field_has_its_own_return_code_and_type(ask):
    call = "nvmlDeviceGetFieldValues"
    rules = [
        NvmlRule(call, args={"field": "NVML_FI_DEV_MEMORY_TEMP"}, value=61),
        NvmlRule(call, args={"field": 165}, value=1),
        NvmlRule(call, args={"field": 165, "scope": 3}, ret="NO_DATA"),
        NvmlRule(call, args={"field": 193}, value=-4),
        NvmlRule(call, args={"field": 94}, value=1 << 40),
        NvmlRule(call, args={"field": 91}, value={"value": 7, "valueType": "NVML_VALUE_TYPE_SIGNED_LONG_LONG"}),
        NvmlRule(call, args={"field": 92}, value=2.5),
    ]
    script = """
nvmlInit()
read = {0: "dVal", 1: "uiVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
values = nvmlDeviceGetFieldValues(gpu(0), [82, (165, 2), (165, 3), 193, 94, 91, 92, 230])
print(json.dumps([[v.nvmlReturn, v.valueType, getattr(v.value, read[v.valueType])] for v in values]))
"""
    expected = [[0, 1, 61], [0, 1, 1], [21, 0, 0], [0, 5, -4], [0, 3, 1 << 40], [0, 4, 7], [0, 0, 2.5], [3, 0, 0]]
    assert expected == ask(rules, script)


def test_fabric_state_reads_three_in_every_version(ask):
    value = {"clusterUuid": "8a4d4b14-3bd3-4a3c-9e3c-0c4f1c1b6a11", "state": 3, "cliqueId": 5, "healthMask": 0x1AA}
    rules = [NvmlRule("nvmlDeviceGetGpuFabricInfoV", value={**value, "healthSummary": 1}),
             NvmlRule("nvmlDeviceGetGpuFabricInfo", value={"state": 3})]
    script = """
nvmlInit()
answers = []
for kind in (c_nvmlGpuFabricInfo_v2_t, c_nvmlGpuFabricInfo_v3_t, c_nvmlGpuFabricInfo_t):
    info = kind.from_buffer(bytearray(b"\\xee" * ctypes.sizeof(kind)))
    if hasattr(kind, "version"):
        info.version = nvmlGpuFabricInfo_v2 if kind is c_nvmlGpuFabricInfo_v2_t else nvmlGpuFabricInfo_v3
        nvmlDeviceGetGpuFabricInfoV(gpu(0), byref(info))
        answers += [bytes(info.clusterUuid).hex(), info.cliqueId, info.healthMask, info.state]
    else:
        nvmlDeviceGetGpuFabricInfo(gpu(0), byref(info))
        answers += [info.state]
print(json.dumps(answers + [info.status]))
"""
    uuid = value["clusterUuid"].replace("-", "")
    assert [uuid, 5, 0x1AA, 3, uuid, 5, 0x1AA, 3, 3, 0] == ask(rules, script)


def test_a_caller_of_an_older_struct_is_not_written_past_its_end(ask):
    rule = NvmlRule("nvmlDeviceGetGpuFabricInfoV", value={"state": 3, "healthSummary": 2})
    script = """
nvmlInit()
room = bytearray(b"\\xee" * 64)
info = c_nvmlGpuFabricInfo_v2_t.from_buffer(room); info.version = nvmlGpuFabricInfo_v2
nvmlDeviceGetGpuFabricInfoV(gpu(0), byref(info)); del info
print(json.dumps(room[36:].hex()))
"""
    assert "ee" * 28 == ask([rule], script)


def test_a_counter_grows_from_the_epoch_and_never_below_zero(ask):
    rules = [NvmlRule("nvmlDeviceGetTotalEnergyConsumption", 0, value={"start": 5_000_000_000, "per_second": 1000}),
             NvmlRule("nvmlDeviceGetTotalEnergyConsumption", 1, value={"start": 5, "per_second": -1}),
             NvmlRule("nvmlDeviceGetFieldValues", value={"start": 7, "per_second": 0.5})]
    script = asks("""[nvmlDeviceGetTotalEnergyConsumption(gpu(0)), nvmlDeviceGetTotalEnergyConsumption(gpu(1)),
        nvmlDeviceGetFieldValues(gpu(0), [94])[0].value.ullVal]""")
    energy, falling, field = ask(rules, script, epoch=time.time() - 100)
    assert 5_000_100_000 <= energy < 5_000_160_000
    assert 0 == falling
    assert 57 <= field < 87


def test_an_old_driver_lacks_the_symbols_named_absent(ask):
    absent = ["nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetMarginTemperature"]
    script = asks("[told(nvmlDeviceGetMarginTemperature, gpu(0)), told(nvmlDeviceGetName, gpu(0))]")
    rules = [NvmlRule("nvmlDeviceGetMarginTemperature", value=40), NvmlRule("nvmlDeviceGetName", value="A100")]
    assert ["FunctionNotFound", "A100"] == ask(rules, script, absent=absent)
    assert [40, "A100"] == ask(rules, script)


def test_lists_are_counted_first_and_fetched_second(ask):
    processes = [{"pid": 7062, "usedGpuMemory": 1 << 30, "gpuInstanceId": 0xFFFFFFFF}, {"pid": 9}]
    rules = [NvmlRule("nvmlDeviceGetComputeRunningProcesses_v3", value=processes),
             NvmlRule("nvmlDeviceGetComputeRunningProcesses_v3", 1, value=[]),
             NvmlRule("nvmlDeviceGetSupportedMemoryClocks", value=[2619, 1593]),
             NvmlRule("nvmlDeviceGetSupportedGraphicsClocks", args={"memoryClockMHz": 2619}, value=[1980]),
             NvmlRule("nvmlDeviceGetRetiredPages", args={"cause": 1}, value=[0x1000, 0x2000]),
             NvmlRule("nvmlDeviceGetRetiredPages_v2", value=[{"addresses": 0x3000, "timestamps": 12}])]
    script = asks("""[[(p.pid, p.usedGpuMemory) for p in nvmlDeviceGetComputeRunningProcesses(gpu(0))],
        nvmlDeviceGetComputeRunningProcesses(gpu(1)), told(nvmlDeviceGetGraphicsRunningProcesses, gpu(1)),
        nvmlDeviceGetSupportedMemoryClocks(gpu(0)), nvmlDeviceGetSupportedGraphicsClocks(gpu(0), 2619),
        told(nvmlDeviceGetSupportedGraphicsClocks, gpu(0), 5), nvmlDeviceGetRetiredPages(gpu(0), 1),
        [(p["address"], p["timestamp"]) for p in nvmlDeviceGetRetiredPages_v2(gpu(0), 0)]]""")
    expected = [[[7062, 1 << 30], [9, 0]], [], "NotSupported", [2619, 1593], [1980], "NotSupported", [4096, 8192],
                [[0x3000, 12]]]
    assert expected == ask(rules, script)


def test_a_later_rule_wins_and_its_mapping_replaces_only_what_it_names(ask):
    rules = [
        NvmlRule("nvmlDeviceGetRemappedRows", value={"corrRows": 1, "uncRows": 2}),
        NvmlRule("nvmlDeviceGetRemappedRows", 0, value={"isPending": True, "uncRows": 3}),
        NvmlRule("nvmlDeviceGetEccMode", ret="NOT_SUPPORTED"),
        NvmlRule("nvmlDeviceGetEccMode", 0, value={"current": 1, "pending": 1}),
        NvmlRule("nvmlDeviceGetSramEccErrorStatus", value={"volatileCor": 4, "bThresholdExceeded": 1}),
        NvmlRule("nvmlDeviceGetComputeRunningProcesses_v3", value=[{"pid": 1}, {"pid": 2}]),
        NvmlRule("nvmlDeviceGetComputeRunningProcesses_v3", 0, value=[{"usedGpuMemory": 5}]),
    ]
    script = """
nvmlInit()
sram = c_nvmlEccSramErrorStatus_v1_t(); nvmlDeviceGetSramEccErrorStatus(gpu(0), byref(sram))
print(json.dumps([nvmlDeviceGetRemappedRows(gpu(0)), nvmlDeviceGetRemappedRows(gpu(1)), nvmlDeviceGetEccMode(gpu(0)),
    told(nvmlDeviceGetEccMode, gpu(1)), sram.volatileCor, sram.volatileUncParity, sram.bThresholdExceeded,
    [p.pid for p in nvmlDeviceGetComputeRunningProcesses(gpu(0))]]))
"""
    assert [[1, 3, 1, 0], [1, 2, 0, 0], [1, 1], "NotSupported", 4, 0, 1, [0]] == ask(rules, script)


def test_a_field_may_stand_under_its_struct_and_without_its_flag_prefix(ask):
    """Descriptions written after pynvml or after an older header mean the same field."""
    rules = [
        NvmlRule("nvmlDeviceGetUnrepairableMemoryFlag_v1", gpu=1, value={"unrepairableMemory": 1}),
        NvmlRule("nvmlDeviceGetGpuFabricInfoV", gpu=1, value={"gpuFabricInfo": {"healthMask": 5}}),
    ]
    script = """
nvmlInit(); fabric = c_nvmlGpuFabricInfo_v3_t(); nvmlDeviceGetGpuFabricInfoV(gpu(1), byref(fabric))
print(json.dumps([told(nvmlDeviceGetUnrepairableMemoryFlag_v1, gpu(1)), fabric.healthMask]))
"""
    assert [1, 5] == ask(rules, script)


def test_args_match_by_name_and_omitted_ones_match_anything(ask):
    rules = [
        NvmlRule("nvmlDeviceGetMemoryErrorCounter", value=0),
        NvmlRule("nvmlDeviceGetMemoryErrorCounter", args={"errorType": 1, "locationType": 2}, value=9),
        NvmlRule("nvmlDeviceGetP2PStatus", value=0),
        NvmlRule("nvmlDeviceGetP2PStatus", 0, args={"device2": 2, "p2pIndex": "NVML_P2P_CAPS_INDEX_NVLINK"}, value=5),
        NvmlRule("nvmlDeviceGetNvLinkState", value="NVML_FEATURE_ENABLED"),
        NvmlRule("nvmlDeviceGetNvLinkState", args={"link": 4}, value=0),
        NvmlRule("nvmlDeviceGetTemperatureV", args={"sensorType": 0}, value=66),
    ]
    script = asks("""[[nvmlDeviceGetMemoryErrorCounter(gpu(0), e, 0, l) for e, l in ((0, 2), (1, 2), (1, 7))],
        [nvmlDeviceGetP2PStatus(gpu(0), gpu(i), p) for i, p in ((1, 2), (2, 2), (2, 0))],
        [nvmlDeviceGetNvLinkState(gpu(0), link) for link in (3, 4)],
        nvmlDeviceGetTemperatureV(gpu(0), 0), told(nvmlDeviceGetTemperatureV, gpu(0), 1)]""")
    assert [[0, 9, 0], [0, 5, 0], [1, 0], 66, "NotSupported"] == ask(rules, script)


def test_strings_end_in_zero_and_say_when_the_buffer_is_too_small(ask):
    pci = {"busId": "00000000:1B:00.0", "busIdLegacy": "0000:1B:00.0-and-more"}
    rules = [NvmlRule("nvmlDeviceGetName", value="NVIDIA H100 80GB HBM3"),
             NvmlRule("nvmlDeviceGetSerial", value=1654123000123), NvmlRule("nvmlDeviceGetPciInfo_v3", value=pci),
             NvmlRule("nvmlDeviceGetGspFirmwareVersion", value="550.90.07"),
             NvmlRule("nvmlDeviceGetVbiosVersion", value="9" * 40)]
    script = """
nvmlInit()
short = ctypes.create_string_buffer(b"x" * 8, 8)
small = [nvml.nvmlLib.nvmlDeviceGetName(gpu(0), short, n) for n in (5, 0)]
pci = nvmlDeviceGetPciInfo(gpu(0))
print(json.dumps([nvmlDeviceGetName(gpu(0)), nvmlDeviceGetSerial(gpu(0)), nvmlDeviceGetGspFirmwareVersion(gpu(0)),
    small, short.raw[5:].decode(), pci.busId, pci.busIdLegacy, told(nvmlDeviceGetVbiosVersion, gpu(0))],
    default=bytes.decode))
"""
    expected = ["NVIDIA H100 80GB HBM3", "1654123000123", "550.90.07", [7, 7], "xxx", "00000000:1B:00.0",
                "0000:1B:00.0-an", "InsufficientSize"]
    assert expected == ask(rules, script)


def test_events_time_out_until_a_rule_brings_one(ask):
    script = """
nvmlInit()
events = nvmlEventSetCreate()
nvmlDeviceRegisterEvents(gpu(0), 8, events)
answer = told(nvmlEventSetWait, events, 1)
print(json.dumps(answer if isinstance(answer, str) else [answer["eventData"], nvmlDeviceGetIndex(answer["device"])]))
"""
    assert "Timeout" == ask([], script)
    xid = {"device": 2, "eventType": 8, "eventData": 79}
    assert [79, 2] == ask([NvmlRule("nvmlEventSetWait_v2", value=xid)], script)


def test_error_texts_are_those_of_a_driver(ask):
    rules = [NvmlRule("nvmlDeviceGetName", ret=27)]
    assert "not in ready state" in ask(rules, "nvmlInit()\ntry: nvmlDeviceGetName(gpu(0))\n"
                                              "except NVMLError as e: print(json.dumps(str(e)))")


def test_a_hanging_call_does_not_return_and_can_be_killed(ask, tmp_path):
    ask([NvmlRule("nvmlDeviceGetPowerUsage", 0, hang=True)], asks("told(nvmlDeviceGetPowerUsage, gpu(1))"))
    script = PRELUDE + "nvmlInit(); print('asking', flush=True); nvmlDeviceGetPowerUsage(gpu(0)); print('answered')"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert "asking\n" == child.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.kill()
    assert "" == child.communicate()[0]


def test_a_state_cut_short_is_no_crash(tmp_path):
    place(nvml(), tmp_path / LIBRARY)
    rules = [NvmlRule("nvmlDeviceGetName", 0, value="H100"),
             NvmlRule("nvmlDeviceGetComputeRunningProcesses_v3", value=[{"pid": 1}])]
    whole = nvml_state(rules, [0], 0)
    script = PRELUDE + f"""
import os
def probe(length):
    open({str(tmp_path / STATE)!r}, "wb").write({whole!r}[:length])
    handle = [told(nvmlInit), told(nvmlDeviceGetCount), told(gpu, 0)][-1]
    isinstance(handle, str) or [told(nvmlDeviceGetName, handle), told(nvmlDeviceGetComputeRunningProcesses, handle)]
for length in range(0, {len(whole)}, 3):
    child = os.fork()
    child or (probe(length), os._exit(0))
    assert os.waitpid(child, 0)[1] == 0, length
"""
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True,
                   env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
