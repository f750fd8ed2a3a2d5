"""Whether the server or worker of this container lives: exit status 0, else 1 with a sentence."""

import os
import sys
import urllib.request

port = os.environ.get("ALMONER_WORKER_PORT") or os.environ.get("ALMONER_PORT") or "8080"
path = sys.argv[1] if len(sys.argv) > 1 else "/healthz"
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=4) as answer:
        sys.exit(0 if answer.status == 200 else 1)
except OSError as error:
    sys.exit(f"{path} on port {port}: {error}")
