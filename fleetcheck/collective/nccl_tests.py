"""nccl-tests as a cross-check of the ranks' own figures: how it is called, and how its figures compare. Runs on the controller; pure.

On one node the program needs nothing else. Over several it needs a launcher, which the inventory gives in words: ``srun …`` inside a
claim, ``mpirun …`` where nodes reach each other. In them {nodes} stands for the nodes' names, {hosts} for ``n1:8,n2:8``, {ranks} and
{per_node} for numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.collective import ncclt, talk
from fleetcheck.collective.bench import metric, size_label
from fleetcheck.collective.reading import Said
from fleetcheck.collective.trial import Trial
from fleetcheck.nodes import Node
from fleetcheck.records import Answer, Evidence

PROGRAMS = {"all_reduce": "all_reduce_perf", "all_gather": "all_gather_perf", "reduce_scatter": "reduce_scatter_perf",
            "all_to_all": "alltoall_perf", "broadcast": "broadcast_perf", "send_recv": "sendrecv_perf"}
APART = 0.15
"""How far the two may be apart: other iterations, another moment, out of place there and in place here."""


def settings(nodes: Sequence[Node], op: str, first: int, last: int, per_node: int, seconds: float) -> dict[str, Any]:
    """What the first of these nodes is asked. Raises ValueError where several nodes have no launcher, or a word has an unknown name."""
    said = (nodes[0].interconnect or {}).get("nccl_tests") or {}
    words = [str(word) for word in said.get("launcher") or ()]
    if len(nodes) > 1 and not words:
        raise ValueError(f"nccl-tests over {len(nodes)} nodes needs a launcher; give interconnect: {{nccl_tests: {{launcher: "
                         "srun --nodelist={nodes} --ntasks-per-node={per_node}}}")
    return {"argv": [*_filled(words, nodes, per_node), *_program(str(said.get("folder") or ""), op, first, last, 1 if words else per_node)],
            "environment": talk.environment(nodes[0]), "seconds": seconds}


def _program(folder: str, op: str, first: int, last: int, of_process: int) -> list[str]:
    """The program's own words: checked results, sizes doubled, of_process accelerators a process."""
    name = f"{folder.rstrip('/')}/{PROGRAMS[op]}" if folder else PROGRAMS[op]
    return [name, "-b", str(first), "-e", str(last), "-f", "2", "-g", str(of_process), "-c", "1", "-n", "20", "-w", "5"]


def _filled(words: Sequence[str], nodes: Sequence[Node], per_node: int) -> list[str]:
    known = {"nodes": ",".join(node.name for node in nodes), "hosts": ",".join(f"{node.name}:{per_node}" for node in nodes),
             "ranks": str(per_node * len(nodes)), "per_node": str(per_node), "count": str(len(nodes))}
    try:
        return [word.format_map(known) for word in words]
    except (KeyError, ValueError, IndexError, AttributeError):
        raise ValueError(f"nccl_tests.launcher: {' '.join(words)!r:.120} names something else than {', '.join(known)}") from None


def output(evidence: Evidence) -> ncclt.Output | Said:
    """What the program printed, or why it printed nothing."""
    if evidence.failure:
        return Said("error", "run", evidence.failure.message)
    answer = evidence.answers.get("nccl_tests", Answer(ok=False, error="no answer"))
    data = answer.data if answer.ok and isinstance(answer.data, Mapping) else {}
    status = data.get("status")
    if not isinstance(status, int):
        why = status.get("absent") if isinstance(status, Mapping) else answer.error
        return Said("error", "run", f"{evidence.node}: nccl-tests was not run: {why!s:.200}")
    found = ncclt.parse(str(data.get("stdout")))
    if status and not found.rows and not found.failures:
        last = (str(data.get("stderr")).strip().splitlines() or ["it said nothing"])[-1]
        return Said("error", "run", f"{evidence.node}: nccl-tests ended with status {status}: {last:.200}")
    return found


def compared(found: ncclt.Output, trial: Trial, op: str, share: float = APART) -> Said:
    """Whether both agree on the sizes that both measured. One that differs blames no node: it says which of the two to look into."""
    judged = ncclt.judge(found)
    if judged.outcome != "passed":
        return judged
    ours = {value.metric: value.number for value in trial.values if not value.sender and not value.rail}
    theirs = {row.size_bytes: min(each.busbw_gbytes_per_second for each in row.figures) for row in found.rows if row.figures}
    both = {size: (busbw, ours[metric(op, "busbw_gb_s", size)]) for size, busbw in theirs.items() if metric(op, "busbw_gb_s", size) in ours}
    apart = [f"{size_label(size)}: {theirs:.4g} by nccl-tests, {own:.4g} by our ranks" for size, (theirs, own) in both.items()
             if abs(theirs - own) > share * max(theirs, own)]
    if not both:
        return Said("error", "output", "nccl-tests and our ranks measured no size in common")
    if apart:
        return Said("failed", "config", f"bus bandwidth in GB/s is apart by more than {share:.0%} at {'; '.join(apart)}; compare the "
                                        "libraries that both load and their environments")
    return Said("passed", "none", f"{len(both)} sizes agree within {share:.0%}")
