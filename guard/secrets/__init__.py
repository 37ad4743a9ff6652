"""Find credentials: published formats, assignments to names such as *password*, and passwords in prose."""
