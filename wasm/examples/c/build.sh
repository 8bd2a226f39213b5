#!/bin/sh
# Compiles the scorer to $1, relative to the folder it is called from, by clang 14 or later. Where scorer.h is not beside it, it is in the SDK.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
CC=${CC:-$(command -v clang-19 || echo clang)}
exec "$CC" --target=wasm32 -mcpu=mvp -mbulk-memory -msign-ext -O2 -nostdlib -ffreestanding -fno-builtin -ffp-contract=off \
  -I. -I../../guest/c -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=8192 -Wl,--initial-memory=65536 -Wl,--max-memory=65536 \
  -o "$out" strict.c
