"""Runs on the node: what one rank tells the collector that started it: JSON lines, where it stands among them."""

import os
import sys
import time

from fleetcheck.node.encode import encode

PULSE_SECONDS = 0.5


class Voice:
    """The rank's private standard output; libraries print to standard error from here on."""

    def __init__(self):
        self.output = os.dup(1)
        os.dup2(2, 1)
        self.last = 0.0

    def tell(self, line):
        """One line, whole; whoever listens may be gone."""
        view = memoryview(encode(line) + b"\n")
        try:
            while view:
                view = view[os.write(self.output, view):]
        except OSError:
            os._exit(1)
        self.last = time.monotonic()

    def at(self, place):
        """Where the rank stands now: told before it can hang there."""
        self.tell({"at": place})

    def pulse(self):
        """It still gets on; told twice a second at most."""
        if time.monotonic() - self.last > PULSE_SECONDS:
            self.tell({})

    def failed(self, kind, why):
        """Why this rank ends without having done what it was asked, and its end."""
        self.tell({"failed": kind, "why": why[:500]})
        sys.stderr.flush()
        os._exit(1)
