"""Apply the guard to a home: to what is written, shown and indexed, and to quarantined texts."""
