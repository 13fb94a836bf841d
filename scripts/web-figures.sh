#!/bin/sh
# The figures of the dashboard in docs/explanation/performance.md. Run it on a quiet machine; needs Chromium and chromedriver.
#
#   scripts/web-figures.sh          measure everything
#   scripts/web-figures.sh small    with small numbers, to see that it works
#   scripts/web-figures.sh latency  one of: latency first-page slow-down report
set -eu
cd "$(dirname "$0")/.."
exec cargo bench -q -p wavecrew --bench web -- "$@"
