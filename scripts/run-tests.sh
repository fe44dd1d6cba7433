#!/bin/sh
# All tests, in two halves at once: those with whole gateways wait more than they compute. With arguments: only those.
#   run-tests.sh PYTHON [ARGUMENT OF PYTEST…]
set -u

python=$1
shift
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi

log=$(mktemp)
"$python" -m pytest tests/e2e tests/chaos >"$log" 2>&1 &
whole=$!
trap 'kill $whole 2>/dev/null; cat "$log"; rm -f "$log"; exit 130' INT TERM

status=0
echo "Parts, and what they agree on:"
"$python" -m pytest --ignore=tests/e2e --ignore=tests/chaos || status=$?
echo "Whole gateways:"
wait $whole || status=$?
cat "$log"
rm -f "$log"
exit $status
