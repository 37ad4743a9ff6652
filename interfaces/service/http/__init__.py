"""The HTTP application: callers, endpoints, jobs and figures."""
