"""The library that runs trained models: loaded without telemetry, and only where its memory suffices."""
