#!/bin/sh
# Compiles the scorer to $1: by TinyGo if TINYGO=1, else by the Go tool chain.
set -eu
cd "$(dirname "$0")"
if [ "${TINYGO:-}" = 1 ]; then
  exec tinygo build -target wasm-unknown -opt 2 -gc leaking -no-debug -o "$1" .
fi
GOOS=wasip1 GOARCH=wasm exec go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags '-s -w -buildid=' -o "$1" .
