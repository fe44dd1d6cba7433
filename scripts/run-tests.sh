#!/bin/sh
# All tests, in five parts at once that take about as long: two compute, and three with whole processes mostly wait. What
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

third() { # REMAINDER: every third file of the tests with whole gateways
    ls tests/e2e/*/test_*.py | awk "NR % 3 == $1"
}

web="tests/contract/console tests/contract/rooms tests/contract/services tests/contract/web"
programs="tests/language tests/unit/runtime/execution"
part 1 $(third 1) $programs >"$parts/1.log" 2>&1 &
one=$!
part 2 $(third 2) $web >"$parts/2.log" 2>&1 &
two=$!
part 3 $(third 0) tests/chaos >"$parts/3.log" 2>&1 &
three=$!
part 4 tests/unit/runtime/sessions >"$parts/4.log" 2>&1 &
four=$!
ended='wait; cat "$parts"/?.log; rm -rf "$parts"; exit 130'
trap "$ended" INT
trap "kill \$(cat \"\$parts\"/*/process); $ended" TERM

echo "Parts by themselves, and what parts agree on:"
part 0 --ignore=tests/unit/runtime/sessions --ignore=tests/e2e --ignore=tests/chaos $(printf -- "--ignore=%s " $web $programs)
echo "Whole gateways, and sessions by themselves:"
wait $one $two $three $four
cat "$parts"/?.log
"$python" -m tests.repeat "$parts"
status=$?
rm -rf "$parts"
exit $status
