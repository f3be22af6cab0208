"""What a server process needs at run time: threads for computation, background tasks, logs, metrics."""
