"""Runs on the node: the NCCL, UCX and CUDA variables that every login gets, with their values; nobody's own are read."""

import re
from typing import Any, Dict, List

from fleetcheck.node.host import Host

READS = (
    ("/etc/environment", "any user"),
    ("/etc/profile", "any user"),
    ("/etc/profile.d", "any user"),
    ("/etc/environment.d", "any user"),
    ("/etc/nccl.conf", "any user"),
)

EVERYBODYS = (
    "/etc/environment", "/etc/nccl.conf", "/etc/profile", "/etc/profile.local", "/etc/bash.bashrc", "/etc/bash.bashrc.local", "/etc/bashrc",
    "/etc/zshenv", "/etc/csh.cshrc", "/etc/security/pam_env.conf",
)
"""Debian, RHEL and SLES name them differently."""
ASSIGNED = r"^\s*(?:export\s+|setenv\s+)?((?:%s)\w*)(?:\s*=\s*|(?<=\w)\s+(?:DEFAULT|OVERRIDE)=|(?<=\w)\s+(?=\S+\s*$))"
"""NAME=value, ``setenv NAME value`` of csh, ``NAME DEFAULT=value`` of pam_env."""
SETTING = re.compile(ASSIGNED % "NCCL_|UCX_|CUDA_|NVIDIA_" + r"(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s;#]*))", re.MULTILINE)


def login_files(host: Host) -> List[str]:
    """The files on this node that set variables for every login."""
    paths = list(EVERYBODYS)
    for pattern in ("/etc/profile.d/*.sh", "/etc/profile.d/*.csh", "/etc/environment.d/*.conf"):
        paths += host.glob(pattern)
    return [path for path in paths if host.exists(path)]


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{variables: [{name, value, file}]}; a file that is not there sets none."""
    found = []
    for path in login_files(host):
        said = host.read_or_absent(path)
        if isinstance(said, dict):
            return {"variables": said}
        found += [{"name": row[0], "value": (row[1] or row[2] or row[3])[:200], "file": path} for row in SETTING.findall(said)]
    return {"variables": found}
