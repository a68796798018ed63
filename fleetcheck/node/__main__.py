"""Runs on the node: one request in, one framed answer out."""

import json
import os
import sys
from typing import Any, Dict, Mapping, Sequence

from fleetcheck.node import runner
from fleetcheck.node.host import Host, current_root
from fleetcheck.node.runtime import runtime

REPLY_LIMIT = (8 << 20) - 4096


def main(block: bytes) -> None:
    """Answer the request; exit status 0 once the answer is written, 1 when the controller has gone."""
    answer_stream = own_output()
    request = json.loads(block.decode("utf-8"))
    host = Host(current_root())
    runner.expect_end(request["seconds"])
    try:
        answers = runner.gather(request, host, sys.stdin.fileno())
        send(answer_stream, framed(request["nonce"], reply(runtime(host), answers)))
    except runner.Ended as end:
        sys.stderr.write("fleetcheck: %s\n" % end)
        os._exit(1)


def own_output() -> int:
    """A private copy of standard output; whatever libraries print from now on goes nowhere."""
    copy = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return copy


def reply(about: Mapping[str, Any], answers: Mapping[str, bytes]) -> bytes:
    """The reply: {"runtime": …, "answers": {name: answer}}, each answer already in JSON."""
    parts = [json.dumps(name).encode() + b":" + answer for name, answer in sorted(fitting(answers).items())]
    return b'{"runtime":' + json.dumps(about).encode() + b',"answers":{' + b",".join(parts) + b"}}"


def fitting(answers: Mapping[str, bytes]) -> Dict[str, bytes]:
    """The answers, the longest replaced by an error until all fit into one reply."""
    kept = dict(answers)
    while sum(len(answer) for answer in kept.values()) > REPLY_LIMIT:
        longest = max(kept, key=lambda name: len(kept[name]))
        kept[longest] = runner.failed("its answer of %d bytes did not fit into the reply" % len(kept[longest]))
    return kept


def framed(nonce: str, body: bytes) -> bytes:
    """The body between marks that only this exchange knows, so that no banner or motd is taken for it."""
    return b"\n<<fleetcheck %s %d>>\n%s\n<<end %s>>\n" % (nonce.encode(), len(body), body, nonce.encode())


def send(descriptor: int, body: bytes) -> None:
    """Write it all."""
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view):]


def local(arguments: Sequence[str]) -> None:
    """For trials by hand: ``python -m fleetcheck.node COLLECTOR…`` prints the reply."""
    request = {"nonce": "-", "seconds": 60, "collectors": list(arguments), "settings": {}}
    main(json.dumps(request).encode())


if __name__ == "__main__":
    local(sys.argv[1:])
