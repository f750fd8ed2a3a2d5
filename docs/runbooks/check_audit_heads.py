"""Check exported heads of the audit log with the public key alone: no database, no network, no Almoner.

    python check_audit_heads.py key.pem /path/to/audit-heads

Needs Python 3.11 and `cryptography`. The key is what `almoner audit public-key` printed when the service was set up.
Exits with 1 if a line was not signed with it, or if the heads of a scope contradict each other.
"""

import json
import sys
from base64 import b64decode
from itertools import pairwise
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key


def wrong(key: Ed25519PublicKey, file: Path) -> str | None:
    """What is wrong with the heads of one scope, the first thing only.

    Lines may come twice and not in order: after a failure they are written again, and several workers may write.
    """
    heads: set[tuple[int, str, str]] = set()
    for number, text in enumerate(file.read_text().splitlines(), start=1):
        where = f"{file.name}, line {number}"
        try:
            head = json.loads(text)
            scope, sequence, hash_, moment = (head[name] for name in ("scope", "sequence", "hash", "signedAt"))
            message = f"almoner audit head 1 {scope} {sequence} {hash_} {moment}"
            key.verify(b64decode(head["signature"], validate=True), message.encode())
        except InvalidSignature:
            return f"{where}: not signed with this key, or edited"
        except (KeyError, TypeError, ValueError):
            return f"{where}: no signed head"
        if scope != file.name.removesuffix(".jsonl"):
            return f"{where}: the head of another scope, {scope}"
        heads.add((sequence, moment, hash_))
    ordered = sorted(heads)
    for (sequence, moment, _), (later, later_moment, _) in pairwise(ordered):
        if sequence == later or moment > later_moment:
            return f"{file.name}: the heads of entries {sequence} and {later} contradict each other"
    return None


def main() -> int:
    """Check every file of the folder."""
    key = load_pem_public_key(Path(sys.argv[1]).read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    files = sorted(Path(sys.argv[2]).glob("*.jsonl"))
    found = [problem for problem in (wrong(key, file) for file in files) if problem]
    heads = sum(len(file.read_text().splitlines()) for file in files)
    print("\n".join([*found, f"{heads} heads of {len(files)} scopes: {'BROKEN' if found else 'OK'}"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
