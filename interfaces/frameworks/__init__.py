"""Own adapters for the memory interfaces of agent frameworks. Each needs the extra of its own name."""
