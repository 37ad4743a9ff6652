"""Consent of a person on this machine: settings that widen something, and keys whose signatures count."""
