#!/bin/sh
# Compiles the scorer to $1, relative to the folder it is called from: by TinyGo if TINYGO=1, else by the Go tool chain.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
if [ "${TINYGO:-}" = 1 ]; then
  exec tinygo build -target wasm-unknown -opt 2 -gc leaking -no-debug -o "$out" .
fi
GOOS=wasip1 GOARCH=wasm exec go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags '-s -w -buildid=' -o "$out" .
