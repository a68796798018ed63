"""Healthy nodes with the variation that healthy nodes show; ``make noise`` runs 1,000 of them and says what that proves."""

from __future__ import annotations

from corpus import Fault, Injection


def healthy(count: int, seed: int) -> list[Injection]:
    """Healthy nodes, each with variation of its own."""
    return [Injection(Fault(id="healthy", component="noise"), number, "h100-sxm5-8", {}) for number in range(count)]
