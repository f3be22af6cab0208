"""Carts: kept in Redis, changed atomically, checked out once."""
