#!/bin/sh
# A fleet run in CI: run.sh --inventory FILE [options of pytest]. Leaves the run's files in ./fleetcheck-run (no links, so that any CI can collect them)
# and ends with the run's exit code (docs/ci.md).
checks=${FLEETCHECK_CHECKS:-checks/}
rm -rf fleetcheck-run
before=$(readlink reports/latest)
${PYTHON:-python3} -m pytest "$checks" -q -p no:cacheprovider "$@"
code=$?
if [ -e reports/latest ] && [ "$(readlink reports/latest)" != "$before" ]; then
  mkdir fleetcheck-run
  for file in junit*.xml report.html verdicts.json metrics.prom; do
    for found in reports/latest/$file; do [ ! -e "$found" ] || cp -L "$found" fleetcheck-run/; done
  done
fi
exit $code
