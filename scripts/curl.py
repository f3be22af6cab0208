"""Replacement for curl with the options that the documents use, so that their tests do not need curl.

An HTTP error status is a failure, as with `curl --fail-with-body`.
"""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request

_FAILED = 22  # curl's exit code for an HTTP error


def main() -> None:
    """Send one request and print the body of the answer, or its headers for HEAD."""
    parser = argparse.ArgumentParser(prog="curl")
    parser.add_argument("url")
    parser.add_argument("-X", "--request", dest="method")
    parser.add_argument("-H", "--header", dest="headers", action="append", default=[])
    parser.add_argument("-d", "--data")
    parser.add_argument("-I", "--head", action="store_true")
    parser.add_argument("-s", "--silent", action="store_true")
    given = parser.parse_args()
    headers = dict(header.split(": ", 1) for header in given.headers)
    body = None if given.data is None else given.data.encode()
    method = "HEAD" if given.head else given.method
    request = urllib.request.Request(given.url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            shown = str(answer.headers).encode() if given.head else answer.read()
            sys.stdout.buffer.write(shown)
    except urllib.error.HTTPError as error:
        sys.stdout.buffer.write(error.read())
        print(f"curl: HTTP status {error.code}", file=sys.stderr)
        raise SystemExit(_FAILED) from None


if __name__ == "__main__":
    main()
