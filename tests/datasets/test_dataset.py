"""Claims about the record that loaders return."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdgm.datasets import make_ripley


def test_a_set_without_splits_says_how_to_get_some() -> None:
    with pytest.raises(ValueError, match=r"Ripley comes without splits: .*StratifiedShuffleSplit"):
        replace(make_ripley(), splits=[], split_names=()).split()


def test_every_split_has_a_name_or_none_has() -> None:
    data = make_ripley()
    assert list(replace(data, split_names=()).split_names) == []
    with pytest.raises(ValueError, match="Ripley has 1 splits but 2 names"):
        replace(data, split_names=["a", "b"])
