"""Sums of weights and hashes of features are those of one at a time."""

from zlib import crc32

import pytest

from guard.weight_table import WeightTable, feature_hashes

SIGNED = (5, -2, 127, -128, 0)


@pytest.mark.parametrize("buckets", [[], [3], [0, 0, 1], [4, 3, 2, 1, 0]])
def test_the_total_is_the_sum_of_the_signed_bytes(buckets: list[int]) -> None:
    table = WeightTable(bytes(weight % 256 for weight in SIGNED))
    assert table.total(buckets) == sum(SIGNED[bucket] for bucket in buckets)


@pytest.mark.parametrize("features", [[], [""], ["a", "bé", "中"], ["a\0b", "c"], ["\ud800"]], ids=ascii)
def test_features_hashed_at_once_have_the_hashes_of_each_alone(features: list[str]) -> None:
    assert feature_hashes(features) == [crc32(feature.encode("utf-8", "replace")) for feature in features]
