"""Turn the features of a report and a commit into a probability that the commit is the reported work.

A logistic model with weights of known sign: what a commit has never speaks against it, and what it lacks never for it.
``python -m bench.training.commits`` writes the weights. No false twin of the training data passes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .commit_fit import FEATURES

__all__ = ["CommitModel", "shipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitModel:
    """Weights of the raw features, in the order of ``FEATURES``, and the least probability that verifies."""

    weights: tuple[float, ...]
    bias: float
    threshold: float

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability that the commit is the reported work."""
        score = self.bias + sum(weight * value for weight, value in zip(self.weights, features, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


@cache
def shipped() -> CommitModel:
    """Return the model that comes with the program.

    Raises:
        ValueError: its features are not those of the code.
    """
    found = json.loads(files(__package__).joinpath("data", "commit_model.json").read_text(encoding="utf-8"))
    if tuple(found["features"]) != FEATURES:
        message = "data/commit_model.json has other features than the code. Run `python -m bench.training.commits`"
        raise ValueError(message)
    return CommitModel(weights=tuple(found["weights"]), bias=found["bias"], threshold=found["threshold"])
