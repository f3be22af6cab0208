"""Model versions: loading the active one, activation, reports."""
