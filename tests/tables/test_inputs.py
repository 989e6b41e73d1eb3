"""Claims about what a column becomes for a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from sdgm.tables import Number


def test_missing_values_that_training_did_not_see_are_named_by_their_row_from_one() -> None:
    with pytest.raises(ValueError, match="has 1 missing values, the first in row 2, but had none"):
        Number("age").encoded(np.array([1.0, np.nan, 3.0]))
