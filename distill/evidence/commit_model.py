"""Turn the comparison of a report and a commit into a probability that the commit is the reported work.

Two logistic models follow each other. The first judges each thing that the report names: how much likelier is what the
commit shows of it when the report names a wrong thing. The second judges the report by its weakest things and by how
much the commit has of all. ``python -m bench.training.commits`` writes the weights. The threshold lies above the false
twins of repositories that were left out of the training.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .commit_fit import FEATURES, Fit
from .unit_support import UNIT_FEATURES, UnitFeatures

__all__ = ["REPORT_FEATURES", "CommitModel", "shipped"]

#: What the second model reads: of the doubts about all things, and of the comparison as a whole.
REPORT_FEATURES = ("weakest_doubt", "second_doubt", "mean_doubt", "mean_risk", "trust", *FEATURES)
#: Bounds of the doubt about one thing, in units of log odds.
_MOST_DOUBT = 10.0
_MOST_TRUST = 4.0
#: Trust beyond which more of it adds nothing.
_ENOUGH_TRUST = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitModel:
    """Weights of ``UNIT_FEATURES`` and of ``REPORT_FEATURES``, and the least probability that verifies."""

    unit_weights: tuple[float, ...]
    unit_bias: float
    weights: tuple[float, ...]
    bias: float
    threshold: float

    def probability(self, fit: Fit) -> float:
        """Return the probability that the commit is the reported work, 0 for a comparison with a veto."""
        if fit.veto:
            return 0.0
        score = self.bias + sum(
            weight * value for weight, value in zip(self.weights, self.report_features(fit), strict=True)
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def doubts(self, units: Sequence[UnitFeatures]) -> list[float]:
        """Return the log odds that a thing is wrongly named, for each of *units*."""
        return [
            max(
                -_MOST_DOUBT,
                min(_MOST_DOUBT, self.unit_bias + sum(self.unit_weights[at] * value for at, value in unit)),
            )
            for unit in units
        ]

    def report_features(self, fit: Fit) -> tuple[float, ...]:
        """Return the values of ``REPORT_FEATURES``."""
        doubts = self.doubts(fit.units) or [0.0]
        first, second = sorted([*doubts, min(doubts)], reverse=True)[:2]
        trust = sum(
            max(0.0, min(_MOST_TRUST, -doubt)) * rarity
            for doubt, rarity in zip(doubts, fit.rarities or [0.0], strict=True)
        )
        risk = math.log(sum(map(math.exp, doubts)) / len(doubts))
        return first, second, sum(doubts) / len(doubts), risk, min(trust, _ENOUGH_TRUST), *fit.features


@cache
def shipped() -> CommitModel:
    """Return the model that comes with the program.

    Raises:
        ValueError: its features are not those of the code.
    """
    found = json.loads(files(__package__).joinpath("data", "commit_model.json").read_text(encoding="utf-8"))
    if tuple(found["units"]) != UNIT_FEATURES or tuple(found["features"]) != REPORT_FEATURES:
        message = "data/commit_model.json has other features than the code. Run `python -m bench.training.commits`"
        raise ValueError(message)
    return CommitModel(
        unit_weights=tuple(found["units"].values()),
        unit_bias=found["unit_bias"],
        weights=tuple(found["features"].values()),
        bias=found["bias"],
        threshold=found["threshold"],
    )
