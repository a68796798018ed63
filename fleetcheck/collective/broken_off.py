"""A member whose connection broke during its trial: did the node go, or only the connection? Runs on the controller.

Ranks end with their connection, so that their partners see a crash. A node that is up since before the trial has shown no fault by that.
"""

from __future__ import annotations

from dataclasses import replace

from fleetcheck.exchange import Request
from fleetcheck.gather import Asks
from fleetcheck.nodes import Node
from fleetcheck.quoting import escaped
from fleetcheck.records import GIVEN_UP, Evidence, Failure

LOOK_SECONDS = 20.0


def looked_at(exchange: Asks, told: Evidence, node: Node) -> Evidence:
    """The same evidence; where its connection broke, with what a second look at the node says of that."""
    failure = told.failure
    if failure is None or failure.kind != "disconnected" or GIVEN_UP in failure.message:
        return told
    again = exchange.ask(node, Request(told.run, told.stage, told.probe, ("system",), LOOK_SECONDS))
    return replace(told, failure=weighed(failure, again, told.seconds))


def weighed(failure: Failure, again: Evidence, seconds: float) -> Failure:
    """The failure by what the node says now. seconds: since its trial began."""
    answer = again.answers.get("system")
    up = answer.data.get("uptime_seconds") if answer and answer.ok else None
    if not isinstance(up, (int, float)) or isinstance(up, bool):
        return failure
    if up < seconds:
        return Failure(failure.kind, f"{failure.message}; the node has rebooted, {up:.0f} s ago")
    return Failure("lost", escaped(f"{failure.message}; the node is up since before the trial, so only the connection to it broke"))
