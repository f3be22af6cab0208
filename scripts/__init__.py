"""Project commands: run the demo, smoke test, check the documents, take screenshots."""
