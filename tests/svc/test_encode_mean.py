"""The quality of what consists of parts."""

from __future__ import annotations

import pytest
from dstcc_svc.encode import mean_quality
from dstcc_svc.manifest import Quality


def test_a_streams_quality_is_the_mean_over_its_frames() -> None:
    # 1 frame at 20 dB and 3 at 40: 35 dB; SSIM (0.5 + 3 · 0.9) / 4 = 0.8; VMAF (10 + 3 · 90) / 4 = 70
    one, three = Quality(20.0, 0.5, 10.0), Quality(40.0, 0.9, 90.0)
    mean = mean_quality([(1, one), (3, three)])
    assert mean is not None
    assert (mean.psnr_db, mean.ssim, mean.vmaf) == (35.0, pytest.approx(0.8), 70.0)
    # a part without a VMAF leaves none for the whole, one that was not measured nothing at all
    assert mean_quality([(1, one), (3, Quality(40.0, 0.9, None))]) == Quality(35.0, mean.ssim, None)
    assert mean_quality([(1, one), (3, None)]) is None
    assert mean_quality([]) is None
