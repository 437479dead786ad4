"""Posts JSON to a REST interface and prints the answer.

    python post.py URL BODY

It is run as a file, by its path, inside a network namespace, so it imports nothing but the standard library.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

_TIMEOUT_S = 30.0


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    url, body = argv
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode())
        return 1
    except urllib.error.URLError as error:
        print(error.reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
