"""The version number. Packaging, manifests and the API document read it; a test compares the client's."""

VERSION = "0.2.0"
