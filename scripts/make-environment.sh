#!/bin/sh
# Make the virtual environment, with the command `parley` that runs this checkout: no build, nothing to fetch.
# Usage: make-environment.sh PYTHON FOLDER
set -eu
python=$1
folder=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    found=$("$python" --version 2>&1) || found="no $python"
    echo "Parley needs Python 3.11 or newer; found: $found." >&2
    echo "Install one, then say which: make run PYTHON=python3.12" >&2
    exit 1
fi
if [ ! -x "$folder/bin/python" ] && ! "$python" -m venv "$folder"; then
    rm -rf "$folder"
    echo "Python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2
    exit 1
fi
# Both name the checkout from where they are, so that a copy or a moved one runs itself.
"$folder/bin/python" - <<'PATHS'
import os, sysconfig

packages = os.path.realpath(sysconfig.get_path("purelib"))  # the folder may be a link out of the checkout
with open(os.path.join(packages, "parley.pth"), "w", encoding="utf-8") as path:
    path.write(os.path.relpath(os.getcwd(), packages) + "\n")
PATHS
cat >"$folder/bin/parley" <<'COMMAND'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/python" -m gateway "$@"
COMMAND
chmod +x "$folder/bin/parley"
