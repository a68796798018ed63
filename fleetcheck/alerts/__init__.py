"""Telling people: what stands wrong with a fleet, to Alertmanager and to a webhook."""
