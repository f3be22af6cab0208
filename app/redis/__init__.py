"""Redis, or any server that speaks its protocol: the client, its failures, and an embedded Valkey."""
