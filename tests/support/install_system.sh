#!/bin/sh
# Install what the tests need beside Python packages: chromium, redis-server, gettext, PostgreSQL's binaries. Quiet when there.
set -e
missing=""
command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing="$missing chromium"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v msgfmt >/dev/null || missing="$missing gettext"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing="$missing postgresql"
[ -z "$missing" ] && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -q
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q $missing
else
    echo "The tests need$missing: install them (apt-get install$missing) and try again." >&2
    exit 1
fi
