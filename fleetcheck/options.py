"""The options that fleetcheck gives to pytest, and what they ask for. Runs on the controller."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetcheck import plan, shards
from fleetcheck.burnin import clock
from fleetcheck.collective.campaign.terms import MODES
from fleetcheck.settings import Settings

DEFAULT_CONNECTIONS = 32


def add(parser: pytest.Parser) -> None:
    """Make the options known."""
    group = parser.getgroup("fleetcheck", "fleetcheck: check a fleet of GPU nodes")
    for name, metavar, default, words in (
        ("--inventory", "FILE", None, "the fleet; with it, -n N is N connections in flight (default 32)"),
        ("--nodes", "NODESET", None, "only these nodes: 'rack12-n[01-08],!rack12-n03'"),
        ("--group", "GROUP", None, "only the nodes of this group of the inventory"),
        ("--replay", "RUN", None, "judge a recorded run again: an id, a path or 'latest'; no node is contacted"),
        ("--resume", "RUN", None, "go on with an unfinished run, gathering only what is missing"),
        ("--reports", "DIR", "reports", "where runs are kept (default: ./reports)"),
        ("--metrics-dir", "DIR", None, "where node_exporter's textfile collector looks; else the inventory's alerts: {metrics_dir: …}"),
    ):
        group.addoption(name, metavar=metavar, type=_option(_given), default=default, help=words)
    group.addoption("--duration", metavar="TIME", type=_option(clock.duration), default=None,
                    help="how long each node is loaded: 4h, 90min")
    group.addoption("--until", metavar="HH:MM", type=_option(clock.checked_until), default=None,
                    help="all loads have ended by then, in local time")
    group.addoption("--pairs", choices=MODES, default="",
                    help="which nodes are tried with each other: two rounds (quick), or every pair (full; default of tier acceptance)")
    group.addoption("--max-loaded", metavar="N", type=_option(clock.count), default=None,
                    help="nodes under load at once (default 32, or what rack power budgets allow)")
    group.addoption("--shard", metavar="I/N", type=_option(shards.Shard.read), default=None,
                    help="only part I of N of the nodes, and of the checks those of single nodes; runs are kept under REPORTS/shards")
    group.addoption("--merge", metavar="N", type=_option(shards.many), default=0,
                    help="join the newest runs of N shards, run the checks of several nodes, and judge the fleet")
    group.addoption("--no-html", action="store_true", help="write no report.html, which takes seconds for a thousand nodes")
    group.addoption("--tier", choices=plan.TIERS, default="", help="which checks are required for certification (default: quick)")


def _given(text: str) -> str:
    """The text, unless it is empty: a variable that nobody set must not stand for the whole fleet, nor a replay become a run."""
    if not text.strip():
        raise ValueError("nothing is given; name something, or leave the option out (is a variable of the script not set?)")
    return text


def _option(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader of an option's value whose complaint argparse shows as it is."""
    def value(text: str) -> Any:
        try:
            return read(text)
        except ValueError as mistake:
            raise argparse.ArgumentTypeError(str(mistake)) from None
    return value


def settings(config: pytest.Config) -> Settings:
    """What the command line asked for. Raises UsageError on options that contradict each other."""
    option = config.option
    connections = getattr(option, "numprocesses", None)
    if option.replay and option.resume:
        raise pytest.UsageError("give either --replay or --resume, not both")
    if sum(map(bool, (option.merge, option.shard, option.replay))) > 1:
        raise pytest.UsageError("give one of --shard, --merge and --replay")
    if option.merge and option.resume:
        raise pytest.UsageError("what shards left out cannot be resumed; give --merge alone")
    if isinstance(connections, int) and connections < 0:
        raise pytest.UsageError(f"-n {connections} is no number of connections; expected one such as 64")
    reports = Path(option.reports)
    return Settings(
        inventory=option.inventory or "", nodes=option.nodes or "", group=option.group or "", tier=option.tier, replay=option.replay or "",
        resume=option.resume or "", reports=option.shard.folder(reports) if option.shard else reports, duration=option.duration,
        until=option.until or "",
        max_loaded=option.max_loaded, pairs=option.pairs, html=not option.no_html, metrics_dir=option.metrics_dir or "",
        shard=str(option.shard or ""), merge=option.merge,
        connections=connections if isinstance(connections, int) and connections > 0 else DEFAULT_CONNECTIONS,
    )
