import base64
import hashlib
import hmac
import sys
import time


def verify(secret: str, id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Say whether a message was signed with the secret, whsec_..., and just now."""
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret[len("whsec_"):])
    want = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    for one in signatures.split():
        scheme, _, signature = one.partition(",")
        try:
            if scheme == "v1" and hmac.compare_digest(base64.b64decode(signature), want):
                return True
        except ValueError:
            pass  # not base64: not ours
    return False


if __name__ == "__main__":
    good = len(sys.argv) == 5 and verify(*sys.argv[1:], sys.stdin.buffer.read())
    print("good" if good else "bad")
    sys.exit(0 if good else 1)
