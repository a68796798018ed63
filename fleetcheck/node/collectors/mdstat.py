"""Runs on the node: /proc/mdstat taken apart (kernel drivers/md/md.c, md_seq_show)."""

import re
from typing import Any, Dict

_ARRAY = re.compile(r"^(md\S*) : (active|inactive)(?: \((?:auto-)?read-only\))?(?: (raid\d+|linear|multipath|faulty))? (.+)$")
_MEMBER = re.compile(r"^([\w.!-]+)\[(\d+)\]((?:\([A-Z]\))*)$")
_SHAPE = re.compile(r"\[(\d+)/(\d+)\] \[([U_]+)\]")
_CONTAINER = re.compile(r"^(md\S*) : inactive .*\n.* super external:[a-z]")
_VOLUME = r" super external:[/-]%s/"
"""A set of drives as a BIOS or controller declares it (Intel VROC, DDF): inactive for ever; its volumes name it (md(4), mdadm(8))."""
_PROGRESS = re.compile(r"(recovery|resync|reshape|check|repair)\s*=\s*(?:[\d.]+%|DELAYED|PENDING)")


def arrays(said: Any) -> Any:
    """[{name, activity, level, members, failed, wanted, working, shape, progress}]; absent when it is no such file."""
    if isinstance(said, dict):
        return said
    if not said.startswith("Personalities") or "unused devices:" not in said:
        return {"absent": "/proc/mdstat is cut short or no such file: %.60r" % said}
    blocks = re.split(r"\n(?=md\S* : |unused devices:)", said)
    return [array(block) for block in blocks if re.match(r"md\S* : ", block) and not holds_volumes(block, said)]


def holds_volumes(block: str, said: str) -> bool:
    """Whether it is no array, but the container of arrays that are there; one whose volumes are missing is told as inactive."""
    found = _CONTAINER.match(block)
    return bool(found and re.search(_VOLUME % re.escape(found.group(1)), said))


def array(block: str) -> Dict[str, Any]:
    """One array; one without redundancy has no shape."""
    head = _ARRAY.match(block.split("\n")[0])
    name = block.split(" ")[0]
    members = [_MEMBER.match(word) for word in head.group(4).split()] if head else []
    if head is None or not all(members):
        return {"name": name, "activity": {"absent": "not an array: %.80r" % block}}
    shape, progress = _SHAPE.search(block), _PROGRESS.search(block)
    return dict(
        {"name": name, "activity": head.group(2), "level": head.group(3) or "", "progress": progress.group(1) if progress else ""},
        members=[each.group(1) for each in members if each],
        failed=[each.group(1) for each in members if each and "(F)" in each.group(3)],
        **counts(shape.groups() if shape else ())
    )


def counts(shape: Any) -> Dict[str, Any]:
    """Members wanted and working by ``[2/1] [U_]``; the two must agree."""
    if not shape:
        missing = {"absent": "no redundancy: the kernel tells no shape"}
        return {"wanted": missing, "working": missing, "shape": missing}
    wanted, working, letters = int(shape[0]), int(shape[1]), shape[2]
    if len(letters) != wanted or letters.count("U") != working:
        broken = {"absent": "the shape contradicts itself: [%s/%s] [%s]" % shape}
        return {"wanted": broken, "working": broken, "shape": broken}
    return {"wanted": wanted, "working": working, "shape": letters}
