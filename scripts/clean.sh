#!/bin/sh
# What `make clean` removes: what the Makefile's targets made, by its name, and nothing that somebody put beside it.
#
#   scripts/clean.sh VENV DEMO     relative to the repository's root, as `make clean` gives them, or absolute
set -eu

if [ $# -ne 2 ]; then
    echo "usage: scripts/clean.sh VENV DEMO" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
venv="$1"
demo="$2"

if [ -f "$venv/.ready" ] || [ "$venv" = .venv ]; then
    rm -rf "$venv"
elif [ -e "$venv" ]; then
    echo "clean: $venv stays, it is no environment that \`make setup\` made" >&2
fi

# A folder goes only when nothing is left in it, a single file only with dstcc's mark.
if [ -d "$demo" ]; then
    rm -f "$demo"/stream/payload/??????-?.bin
    rmdir "$demo/stream/payload" 2>/dev/null || true
    if [ ! -e "$demo/stream/payload" ]; then rm -f "$demo/stream/manifest.json"; fi
    if grep -qs '"dstcc_version"' "$demo/run/run.json"; then
        for name in run.json scenario.toml trials.parquet chunks.parquet samples.parquet links.parquet; do
            rm -f "$demo/run/$name"
        done
    fi
    for made in "$demo/report.html" "$demo"/earth.mp4 "$demo"/earth-*.mp4; do
        if grep -qsE 'content="dstcc |dstcc play ' "$made"; then rm -f "$made"; fi
    done
    rmdir "$demo/stream" "$demo/run" "$demo" 2>/dev/null || true
    if [ -d "$demo" ]; then echo "clean: $demo stays, it holds what \`make demo\` did not make" >&2; fi
fi

rm -rf build/lib* build/temp* build/bdist* build/fidelity build/mutants build/sanitize build/coverage
rm -f build/bench.json build/coverage.data*
if [ -d build ]; then
    rmdir build 2>/dev/null || echo "clean: build stays, it holds what no target made" >&2
fi
rm -rf dstcc.egg-info
rm -f dstcc/engine/_engine.*.so svc/dstcc_svc/_openh264.*.so svc/dstcc_svc/_vpx.*.so
