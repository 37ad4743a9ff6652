"""The prompt: budget tiers, the progressive index, the four layers, and the receipt that explains them."""

__all__: list[str] = []
