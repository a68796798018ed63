"""From verdicts to acts: nodes taken out of service and given back, planned by pure code, guarded, confirmed. Runs on the controller."""
