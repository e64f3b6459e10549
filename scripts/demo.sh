#!/bin/sh
# The demo behind `make demo`: a real clip is layered, sent from Mars over two links under each of the scenario's
# congestion controls and variants and under our transport, with ten seeds each, judged, and shown. Nothing was
# chosen on these seeds, 701 to 710, and nothing may be: constants of controllers are chosen on 1 to 10, settings of stock
# controls on 901 to 905. Run again, it replaces what it made.
#
#   scripts/demo.sh BIN DEMO     BIN: the folder with the dstcc command; DEMO: the folder to write to; both relative to
#                                the repository's root, as `make demo` gives them, or absolute
set -eu

if [ $# -ne 2 ]; then
    echo "usage: scripts/demo.sh BIN DEMO" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
dstcc="$1/dstcc"
demo="$2"
# Ten hours into the mission the controls that get anywhere have got there.
from_s=36000
to_s=36060
mkdir -p "$demo"

step() { printf '\n== %s\n' "$*"; }

step "encode: 5 s of video at 360 rows into chunks of a second, four temporal layers each"
"$dstcc" encode examples/clips/big-buck-bunny.mp4 -o "$demo/stream" --height 360 --crf 33 --force

step "emulate: twelve hours of it, live from Mars over both links, ten times: stock controls as they come and as operators
   set them, mission practice, our transport, and our learned controller on their lanes (some minutes)"
"$dstcc" emulate examples/demo/mars-two-links.toml --set video.stream="$demo/stream" \
    --seed 701 --seeds 10 -o "$demo/run" --force

step "report: the trials on one page; play: a minute of what Earth saw, ten hours into the mission, of four side by side"
"$dstcc" report "$demo/run" -o "$demo/report.html" --force &
report=$!
trap 'kill "$report" 2>/dev/null || true' EXIT  # not left behind by a film that fails
"$dstcc" play "$demo/run" --trial "dstcc/s701" --trial "dstcc-lanes on 16 lanes/s701" --trial "tuned cubic/s701" \
    --trial "cubic in one stream/s701" --from "$from_s" --to "$to_s" -o "$demo/earth.mp4" --force
wait "$report"

cat <<TEXT

Made in $demo:
  stream/        the clip as layers: manifest.json and a payload file per chunk and layer
  run/           the trials as Parquet tables, with the scenario and the command that made them
  report.html    open it in a browser: who played how much, the picture on Earth under each, what each knew and had for
                 it, windows and rates over the mission, every chunk's fate
  earth.mp4      a minute as Earth saw it under four of them: missing layers cost frames, lost chunks stand still, and the
                 line below says since when; dstcc play demo/run --trial ID shows any other
TEXT
