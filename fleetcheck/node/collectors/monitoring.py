"""Runs on the node: what its own exporters tell: whether they answer, how fresh their samples are, which GPUs they see."""

import re
import time
from typing import Any, Dict, List, Optional

from fleetcheck.node.host import Host, ProgramMissing, absent

READS = (("curl http://localhost", "any user"),)

SECONDS = 5
LIMIT = 16 << 20
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(\{.*\})?[ \t]+([+-]?(?:[\d.]+(?:[eE][+-]?\d+)?|Inf|NaN))(?:[ \t]+(-?\d+))?$", re.ASCII)
INDEX = re.compile(r'[{,]gpu="([^"]+)"')
XID = "DCGM_FI_DEV_XID_ERRORS"


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{exporters: {name: …}}."""
    return {"exporters": {each["name"]: exporter(host, each) for each in settings.get("exporters", ())}}


def exporter(host: Host, asked: Dict[str, Any]) -> Dict[str, Any]:
    """{answers, said, samples, gpus, newest_seconds, now_seconds, xids} of one exporter."""
    url = "http://localhost:%d%s" % (asked["port"], asked["path"])
    try:
        done = host.run(["curl", "-sS", "-f", "--max-time", SECONDS, url], SECONDS + 3, limit=LIMIT)
    except ProgramMissing as error:
        return gap(absent(error), absent(error)["absent"])
    except OSError as error:
        return gap(False, absent(error)["absent"])
    if done.status != 0:
        return gap(False, done.stderr.strip()[:200] or "curl ended with %d" % done.status)
    return read(done.stdout, url)


def gap(answers: Any, said: str) -> Dict[str, Any]:
    """An exporter that told nothing."""
    nothing = {"absent": said}
    return {"answers": answers, "said": said, "samples": nothing, "gpus": nothing, "newest_seconds": nothing,
            "now_seconds": nothing, "xids": nothing}


def read(said: str, url: str) -> Dict[str, Any]:
    """Prometheus text: its samples; a page that has none is no exporter's."""
    lines = [line for line in said.split("\n") if line.strip() and not line.startswith("#")]
    rows = [found for found in map(SAMPLE.match, lines) if found]
    odd = [line for line in lines if not SAMPLE.match(line)]
    if not rows or odd:
        return gap({"absent": "%s: not a page of metrics: %.80r" % (url, odd[0] if odd else said)}, "")
    return {
        "answers": True, "said": "", "samples": len(rows), "gpus": gpus(rows), "xids": xids(rows),
        "newest_seconds": newest(rows), "now_seconds": time.time(),
    }


def gpus(rows: List[Any]) -> List[str]:
    """The GPUs that DCGM's samples name, once each; partitions of one (MIG) are not counted apart."""
    found = (INDEX.search(row.group(2) or "") for row in rows if row.group(1).startswith("DCGM_"))
    return sorted({each.group(1) for each in found if each})


def xids(rows: List[Any]) -> Dict[str, Any]:
    """{GPU: its last Xid} of the gauge that keeps it for ever."""
    found: Dict[str, Any] = {}
    for row in rows:
        index = INDEX.search(row.group(2) or "")
        if row.group(1) == XID and index:
            value = number(row.group(3))
            found[index.group(1)] = {"absent": "%s: not a number: %.40r" % (XID, row.group(3))} if value is None else int(value)
    return found


def newest(rows: List[Any]) -> Any:
    """When the newest sample was taken, by its own time or by node_time_seconds; most exporters tell neither."""
    times = [int(row.group(4)) / 1000.0 for row in rows if row.group(4)]
    times += [value for value in (number(row.group(3)) for row in rows if row.group(1) == "node_time_seconds") if value]
    return max(times) if times else {"absent": "no sample carries a time"}


def number(word: str) -> Optional[float]:
    """A finite value, or None."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None
