#!/bin/sh
# Programs that some tests need, from the system's packages where they are missing: Chromium, bubblewrap, PostgreSQL,
# and faketime. With Node: the official A2A client in JavaScript.
set -eu

javascript=tests/e2e/services/a2a_js
if [ ! -d $javascript/node_modules ]; then
    if ! command -v npm >/dev/null || ! (cd $javascript && npm ci --silent --no-audit --no-fund); then
        rm -rf $javascript/node_modules
        echo "npm cannot install the A2A client in JavaScript: tests/e2e/services/test_a2a_js.py is left out." >&2
    fi
fi

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
may_install() { command -v apt-get >/dev/null && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }; }

has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

# Chromium without windows takes half of the processor time; where there is none, the whole does.
wanted=""
if ! command -v chromium-headless-shell >/dev/null; then
    if may_install && apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        wanted="chromium-headless-shell"
    else
        has_chromium >/dev/null || wanted="chromium"
    fi
fi
[ "$(uname)" != Linux ] || command -v bwrap >/dev/null || wanted="$wanted bubblewrap"
[ "$(uname)" != Linux ] || command -v faketime >/dev/null || wanted="$wanted faketime"
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || wanted="$wanted postgresql"
[ -n "$wanted" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "The tests need:$(printf ' %s' $wanted). Install it with your system's package manager, then repeat." >&2
    exit 1
fi
if ! may_install; then
    echo "The tests need:$(printf ' %s' $wanted). Install it, then repeat:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y$(printf ' %s' $wanted)" >&2
    exit 1
fi
echo "Installing$(printf ' %s' $wanted)…"
log=$(mktemp)
# shellcheck disable=SC2086
if ! { { $as_root apt-get update || { sleep 10 && $as_root apt-get update; }; } && $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y --no-install-recommends $wanted; } >"$log" 2>&1; then
    [ "$wanted" != chromium-headless-shell ] || ! has_chromium >/dev/null || exit 0
    tail -n 20 "$log" >&2
    echo "apt-get failed; install$(printf ' %s' $wanted) by hand, then repeat." >&2
    exit 1
fi
rm -f "$log"
