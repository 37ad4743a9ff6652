"""Share what measurements need: baselines, confidence intervals, datasets and pages."""
