"""The checks that come with fleetcheck; a package, so that ``pytest --pyargs fleetcheck.checks`` finds them."""
