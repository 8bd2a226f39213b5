#!/bin/sh
# Compiles the scorer to $1, relative to the folder it is called from. Where scorer.ts is not beside it, it is in the SDK.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
ASC=${ASC:-$(command -v asc || echo ./node_modules/.bin/asc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp lenient.ts "$work"
cp scorer.ts "$work" 2>/dev/null || cp ../../guest/assemblyscript/scorer.ts "$work"
"$ASC" "$work/lenient.ts" --runtime stub --optimize --noAssert --use abort= --initialMemory 1 --maximumMemory 1 \
  --disable mutable-globals --disable nontrapping-f2i --baseDir "$work" --outFile "$out"
