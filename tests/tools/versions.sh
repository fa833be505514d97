#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# versions.sh SOURCE VERSION: the Debian and the Python packages have the version of the project.
set -eu
complain() { echo "$*" >&2; exit 1; }
head -1 "$1/conf/debian/changelog" | grep -q "^torusd ($2-[0-9]*) " ||
    complain "conf/debian/changelog is not of $2: $(head -1 "$1/conf/debian/changelog")"
grep -qx "version = \"$2\"" "$1/client/python/pyproject.toml" || complain "pyproject.toml is not of $2"
echo "all are of version $2"
