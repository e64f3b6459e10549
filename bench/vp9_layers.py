"""Measure the overhead of VP9's quality and spatial layers: rate and PSNR of every prefix against single-layer encodes.

::

    python -m bench.vp9_layers [CLIP] [--height 360] [--seconds 2] [--preset medium]

The overhead of a prefix is its rate over that of the single-layer encoder, which has the same speed and the
same key frames, at the same PSNR. That rate is interpolated, in its logarithm, on a curve of single-layer encodes; a
prefix beyond the curve's ends has none. Small pictures are enlarged as everywhere (dstcc_svc.sizes).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from pathlib import Path

import numpy as np
from dstcc_svc.codecs import EncodeSettings, SourceFrame, get_codec
from dstcc_svc.sizes import Enlarger
from dstcc_svc.source import probe, read_frames

CLIP = Path(__file__).parents[1] / "examples/clips/big-buck-bunny.mp4"
CURVE = (63, *range(60, 16, -4))  # quantizers of the single-layer encodes, rates rising
SERIES = ((1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 3), (3, 2))  # layers, and how many sizes they have
TOP = 32  # quantizer of the highest layer


def measure(frames: list[SourceFrame], settings: EncodeSettings) -> list[tuple[float, float]]:
    """(bits per second, luma PSNR in dB) of every prefix."""
    codec = get_codec("vp9")
    enlarge = Enlarger(settings.width, settings.height)
    units = list(codec.encode(frames, settings))
    span_s = float(sum(source.duration for source in frames) * settings.time_base)
    result = []
    for layer in range(settings.layers):
        held = [unit for unit in units if unit.layer <= layer]
        errors = []
        for chunk in range(frames[-1].chunk + 1):
            samples = codec.samples(unit for unit in held if unit.chunk == chunk)
            sources = [source.image for source in frames if source.chunk == chunk]
            for image, source in zip(codec.decode(samples, settings), sources, strict=True):
                pair = (enlarge(image), source)
                luma = [picture.to_ndarray()[: settings.height].astype(float) for picture in pair]
                errors.append(np.mean((luma[0] - luma[1]) ** 2))
        rate = sum(len(unit.data) for unit in held) * 8 / span_s
        result.append((rate, float(np.mean(10 * np.log10(255**2 / np.array(errors))))))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clip", nargs="?", type=Path, default=CLIP)
    parser.add_argument("--height", type=int, default=360, help="luma rows")
    parser.add_argument("--seconds", type=float, default=2.0, help="how much of the clip")
    parser.add_argument("--preset", default="medium", help="x264's name of the effort")
    options = parser.parse_args()
    source = probe(options.clip, options.height)
    base = EncodeSettings(
        source.width, source.height, source.time_base, source.fps, 1, TOP, preset=options.preset
    )
    limit = options.seconds / source.time_base
    frames = list(takewhile(lambda frame: frame.pts < limit, read_frames(source, Fraction(1))))
    print(
        f"{options.clip.name}, {source.width}x{source.height}, {len(frames)} frames, preset {options.preset}"
    )

    curve = [measure(frames, replace(base, crf=crf))[0] for crf in CURVE]
    print("single layer   " + "  ".join(f"{rate / 1e3:.0f} kb/s {psnr:.2f} dB" for rate, psnr in curve))
    levels, rates = [point[1] for point in curve], [np.log(point[0]) for point in curve]
    for layers, sizes in SERIES:
        start = time.process_time()
        prefixes = measure(frames, replace(base, layers=layers, spatial_layers=sizes))
        took_s = time.process_time() - start
        for layer, (rate, psnr) in enumerate(prefixes):
            single = float(np.exp(np.interp(psnr, levels, rates, left=np.nan, right=np.nan)))
            print(
                f"layers {layers}  sizes {sizes}  prefix 0..{layer}  {rate / 1e3:7.0f} kb/s  {psnr:6.2f} dB  "
                f"single {single / 1e3:7.0f} kb/s  overhead {100 * (rate / single - 1):+5.1f} %"
            )
        print(
            f"          {len(frames) / took_s:.1f} frames per CPU second, encoding and decoding every prefix"
        )


if __name__ == "__main__":
    main()
