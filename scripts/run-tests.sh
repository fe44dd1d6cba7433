#!/bin/sh
# All tests, in four parts at once that take about as long: those with whole processes wait more than they compute. What
# failed beside the others is repeated alone (tests/repeat.py). With arguments: only those, once.
#   run-tests.sh PYTHON [ARGUMENT OF PYTEST…]
set -u

python=$1
shift
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi

parts=$(mktemp -d)
part() { # NAME ARGUMENT OF PYTEST…
    folder=$parts/$1
    shift
    mkdir "$folder"
    "$python" -m pytest -o "cache_dir=$folder/cache" --durations=15 "$@" &
    echo $! >"$folder/process"
    wait $!
    echo $? >"$folder/status"
}

first=$(ls tests/e2e/*/test_*.py | awk 'NR % 2 == 1')
second=$(ls tests/e2e/*/test_*.py | awk 'NR % 2 == 0')
part 1 $first tests/contract --ignore=tests/contract/web >"$parts/1.log" 2>&1 &
one=$!
part 2 $second tests/chaos tests/contract/web >"$parts/2.log" 2>&1 &
two=$!
part 3 tests/unit/runtime >"$parts/3.log" 2>&1 &
three=$!
ended='wait; cat "$parts"/?.log; rm -rf "$parts"; exit 130'
trap "$ended" INT
trap "kill \$(cat \"\$parts\"/*/process); $ended" TERM

echo "Parts by themselves:"
part 0 --ignore=tests/unit/runtime --ignore=tests/e2e --ignore=tests/chaos --ignore=tests/contract
echo "What parts agree on, whole gateways, and the runtime by itself:"
wait $one $two $three
cat "$parts"/?.log
"$python" -m tests.repeat "$parts"
status=$?
rm -rf "$parts"
exit $status
