"""Own what the agent learns about itself: EVOLUTION.md and the governance of its rules."""
