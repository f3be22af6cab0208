"""Is the service alive, is it ready, and how is it doing."""
