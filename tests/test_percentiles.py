"""The percentiles of pictures are NumPy's."""

import numpy as np
import pytest

from unrender.images.measures import percentile


@pytest.mark.parametrize("share", [0, 0.5, 1, 75, 99, 100])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_percentile_is_the_one_that_numpy_gives(share: float, size: int) -> None:
    values = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    assert percentile(values, share) == pytest.approx(float(np.percentile(values, share)))
