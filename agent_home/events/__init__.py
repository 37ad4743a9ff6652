"""The event log of a home: what was written, cited, closed, archived, judged, fetched and prompted, and when."""
