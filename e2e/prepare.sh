#!/usr/bin/env bash
# Installs what the end-to-end tests need: Node.js where it is missing and can be installed, and the packages that
# e2e/package-lock.json pins, into e2e/node_modules. It does nothing when they are there.
set -euo pipefail
cd "$(dirname "$0")"

if [ ! -f package-lock.json ]; then
  exit 0 # no test that needs Node.js
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "e2e: Node.js is missing, installing it" >&2
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "e2e: install Node.js 18 or later with npm (https://nodejs.org), then run this again" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } >&2 </dev/null; then
    echo "e2e: Node.js could not be installed; install version 18 or later with npm by hand, then run this again" >&2
    exit 1
  fi
fi

major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if [ "$major" -lt 18 ]; then
  echo "e2e: Node.js $(node --version) is too old; install version 18 or later" >&2
  exit 1
fi

# The mark holds the lock file that was installed, so that a second run costs nothing.
mark=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$mark"; then
  npm ci --no-audit --no-fund --loglevel=error >&2 </dev/null
  cp package-lock.json "$mark"
fi
