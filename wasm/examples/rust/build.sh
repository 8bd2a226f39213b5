#!/bin/sh
# Compiles the scorer to $1, relative to the folder it is called from, for the target wasm32-unknown-unknown.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r Cargo.toml src "$work"
if [ ! -e src/scorer.rs ]; then
  cp ../../guest/rust/scorer.rs "$work/src"
fi
cd "$work"
RUSTFLAGS='-C target-cpu=mvp -C target-feature=+bulk-memory,+sign-ext -C link-arg=-zstack-size=8192 -C link-arg=--initial-memory=65536 -C link-arg=--max-memory=65536' \
  cargo build --quiet --release --target wasm32-unknown-unknown
cp target/wasm32-unknown-unknown/release/strict.wasm "$out"
