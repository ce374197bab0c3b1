#!/bin/sh
# The machine's python3, which sees the Python client's packages before its own.
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH="$here/../site${PYTHONPATH:+:$PYTHONPATH}" exec python3 "$@"
