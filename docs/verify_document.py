#!/usr/bin/env python3
"""Check offline that a dossier, JSON or PDF, is what an Almoner service signed. Needs Python 3.9 and nothing else.

    python3 verify_document.py FILE PUBLIC_KEY

PUBLIC_KEY is 64 hexadecimal digits: ``GET /.well-known/almoner-keys`` of the service tells it; keep it. The signature
is Ed25519 (RFC 8032) over the file with zeros for the signature's own 128 digits. Ends with 0 when it is genuine.
"""

import hashlib
import re
import sys

SEAL = re.compile(rb"almoner-ed25519:([0-9a-f]{16}):([0-9a-f]{128})")

# Edwards curve 25519, RFC 8032 section 5.1: points as (x, y) in extended coordinates (X, Y, Z, T).
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * D * a[3] * b[3] % P, 2 * a[2] * b[2] % P
    x, y, z, t = f - e, h - g, h + g, f + e
    return x * y % P, z * t % P, y * z % P, x * t % P


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def equal(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def point_of(encoded):
    """The point that 32 bytes stand for, None when they stand for none."""
    number = int.from_bytes(encoded, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    if x % 2 != odd:
        x = P - x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(message, signature, public):
    key, r = point_of(public), point_of(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return equal(times(s, BASE), add(r, times(h, key)))


def fault_of(document, public):
    """Why the document is not to be trusted; None when it is genuine."""
    seals = set(SEAL.findall(document))
    if not seals:
        return "it bears no signature"
    if len(seals) > 1:
        return "it bears signatures that differ"
    key_id, signature = seals.pop()
    if key_id.decode() != hashlib.sha256(public).hexdigest()[:16]:
        return f"it was signed with the key {key_id.decode()}, not with this one"
    unsigned = SEAL.sub(lambda seal: seal[0][:-128] + b"0" * 128, document)
    if not is_signed(unsigned, bytes.fromhex(signature.decode()), public):
        return "it was altered after it was signed, or signed by somebody else"
    return None


def main():
    if len(sys.argv) != 3 or not re.fullmatch("[0-9a-fA-F]{64}", sys.argv[2]):
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        fault = fault_of(file.read(), bytes.fromhex(sys.argv[2]))
    if fault:
        sys.exit(f"NOT GENUINE: {fault}.")
    print("Genuine: every byte is as it was signed.")


if __name__ == "__main__":
    main()
