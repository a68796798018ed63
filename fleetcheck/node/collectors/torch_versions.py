"""Runs on the node, in its torch environment: the program that tells the versions there. Never imported by collectors itself."""

SOURCE = r'''
import ctypes, json, os, re, sys
import torch
def text(call):
    try:
        return call()
    except Exception as error:
        return {"absent": "%s: %s" % (type(error).__name__, error)}
def dotted(value):
    if isinstance(value, int):
        return "%d.%d.%d" % (value // 10000, value // 100 % 100, value % 100)
    return ".".join(str(part) for part in value)
def required():
    from importlib.metadata import requires
    found = [re.match(r"nvidia-nccl-cu\d+\s*\(?==\s*([\w.]+)", each) for each in requires("torch") or []]
    return next((each.group(1) for each in found if each), "")
def installed():
    from importlib.metadata import distributions
    found = [each.version for each in distributions() if re.match(r"nvidia[-_]nccl[-_]cu\d+$", each.metadata["Name"] or "")]
    return found[0] if found else ""
def plugin():
    name = os.environ.get("NCCL_NET_PLUGIN") or "libnccl-net.so"
    try:
        ctypes.CDLL(name)
    except OSError:
        return ""
    with open("/proc/self/maps") as maps:
        found = [line.split()[-1] for line in maps if "libnccl-net" in line]
    return os.path.basename(os.path.realpath(found[0])) if found else name
print("fleetcheck-versions " + json.dumps({
    "torch": torch.__version__.split("+")[0], "cuda": torch.version.cuda or "",
    "nccl": text(lambda: dotted(torch.cuda.nccl.version())),
    "nccl_required": text(required), "nccl_installed": text(installed), "plugin": text(plugin)}))
'''
