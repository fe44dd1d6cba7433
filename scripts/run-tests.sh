#!/bin/sh
# All tests, in three parts at once: those with whole gateways wait more than they compute. With arguments: only those.
#   run-tests.sh PYTHON [ARGUMENT OF PYTEST…]
set -u

python=$1
shift
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi

logs=$(mktemp -d)
first=$(ls tests/e2e/test_*.py | awk 'NR % 2 == 1')
second=$(ls tests/e2e/test_*.py | awk 'NR % 2 == 0')
"$python" -m pytest $first >"$logs/1" 2>&1 &
one=$!
"$python" -m pytest $second tests/chaos >"$logs/2" 2>&1 &
other=$!
trap 'kill $one $other 2>/dev/null; cat "$logs"/?; rm -rf "$logs"; exit 130' INT TERM

status=0
echo "Parts, and what they agree on:"
"$python" -m pytest --ignore=tests/e2e --ignore=tests/chaos || status=$?
echo "Whole gateways:"
wait $one || status=$?
wait $other || status=$?
cat "$logs"/?
rm -rf "$logs"
exit $status
