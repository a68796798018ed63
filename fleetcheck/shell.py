"""The one line that a login shell on the node runs: it finds a python3 and hands it the bootstrap.

Understood alike by bash, dash, zsh, tcsh and fish: inside the single quotes there is no quote, backslash, exclamation
mark or line break.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

STARTED = b"fleetcheck-started"
NO_PYTHON = 91
OLD_PYTHON = 92

_VERSIONS = " ".join(f"python3.{minor}" for minor in range(14, 5, -1))
_PLACES = " ".join(f'"$r/{place}"' for place in (
    "usr/bin/python3", "usr/libexec/platform-python", "usr/local/bin/python3", "bin/python3"))
_SCRIPT = (
    f"echo {STARTED.decode()}; LC_ALL=C; export LC_ALL; r=${{FLEETCHECK_ROOT%/}}; "
    f'for p in python3 {_PLACES} {_VERSIONS} "$r"/opt/*/bin/python3 "$r"/opt/*/*/bin/python3; do '
    '"$p" -ISc "import sys; sys.exit(sys.version_info < (3, 6))" </dev/null >/dev/null 2>&1 && '
    'exec "$p" -IBSc "import sys; b = sys.stdin.buffer.read(int(sys.argv[1])); '
    'len(b) == int(sys.argv[1]) and exec(b)" "$1"; done; '
    "for p in python3 python python2 python2.7; do "
    f'command -v "$p" >/dev/null 2>&1 && {{ "$p" -V >&2; exit {OLD_PYTHON}; }}; done; exit {NO_PYTHON}'
)


def command(bootstrap_bytes: int, become: Sequence[str] = ()) -> str:
    """The line; ``become`` are the words that gain privilege (``sudo -n``), which must not ask for anything."""
    script = ["/bin/sh", "-c", _SCRIPT, "fleetcheck", str(bootstrap_bytes)]
    words = ["env", "LC_ALL=C", *become, *script] if become else script
    return "exec " + " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    return f"'{word}'" if word == _SCRIPT else shlex.quote(word)
