"""The Python client of the Fieldmark API: missions, webhooks and scores.

One file for Python 3.9 or later; it needs only the standard library.

    import fieldmark
    client = fieldmark.Client("https://geo.example", key="fm_live_...")
    mission = client.open({"source": "billing", "externalId": "INV-17", "title": "Check the meter"})

Parameters and results are dictionaries with the names of the API. Every failure is an Error with a
code. Calls that failed because the server was busy or the connection was lost are repeated, if
repeating them cannot have a second effect.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import random
import secrets
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, TypedDict

__all__ = ["Client", "Error", "verify_webhook"]

DEFAULT_TIMEOUT = 15.0  # seconds of one attempt, longer than those of the server
TOLERANCE = 300  # seconds between the time of a message and now
MAX_RETRIES = 3
MAX_RETRY_AFTER = 30.0  # seconds; a longer Retry-After is left to the caller
FIRST_PAUSE = 0.1  # seconds
MAX_RESPONSE = 8 << 20  # bytes: far above the largest page of missions
MAX_PROBLEM = 64 << 10  # bytes of a problem document

MISSIONS = "/api/public/v1/missions"
WEBHOOKS = "/api/public/v1/webhooks"


class Error(Exception):
    """A call that failed. Branch on code, which is stable.

    Besides the codes of the API there are timeout and origin_unavailable for a connection without a
    response, and invalid_signature for a message that verify_webhook refuses.
    """

    def __init__(self, code: str, detail: str = "", status: int = 0,
                 problem: Optional[Dict[str, Any]] = None, retry_after: Optional[float] = None) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.status = status  # of the response; 0 without one
        self.problem = problem or {}  # the document (RFC 9457), with errors of members
        self.retry_after = retry_after  # seconds; None without Retry-After


class MissionRequest(TypedDict, total=False):
    """A mission to open. source and externalId identify it."""

    source: str
    externalId: str
    title: str
    description: str
    priority: str  # LOW, MEDIUM, HIGH or CRITICAL
    location: Dict[str, Any]
    window: Dict[str, str]
    contact: Dict[str, str]
    labels: Dict[str, str]
    metadata: Dict[str, Any]


class Mission(MissionRequest, total=False):
    """A mission of the account."""

    id: str
    status: str
    version: int
    createdAt: str
    updatedAt: str


class Event(TypedDict, total=False):
    """An event, as sent to endpoints. Polled events have a number too."""

    number: int
    id: str
    type: str
    timestamp: str
    data: Any


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The API never redirects; following one would carry the key elsewhere."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        return None


class Client:
    """Calls the API. It can be used by several threads.

    The address and the key come from FIELDMARK_URL and FIELDMARK_API_KEY if they are not given. The
    timeout is that of one attempt, in seconds.
    """

    def __init__(self, base_url: Optional[str] = None, key: Optional[str] = None,
                 timeout: float = DEFAULT_TIMEOUT) -> None:
        base_url = base_url or os.environ.get("FIELDMARK_URL", "")
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or "@" in parts.netloc:
            raise Error("invalid_parameter", "base_url (or $FIELDMARK_URL) must be http or https, a host and "
                        "at most a path")
        self._base = base_url.rstrip("/")
        self._key = key or os.environ.get("FIELDMARK_API_KEY", "")
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirect)

    def open(self, mission: MissionRequest, *, dry_run: bool = False,
             idempotency_key: Optional[str] = None) -> Mission:
        """Create a mission. Opening it again returns the existing one."""
        natural = bool(mission.get("source") and mission.get("externalId"))
        return self._write("POST", MISSIONS, mission, dry_run=dry_run, idempotency_key=idempotency_key,
                           natural=natural)

    def get(self, mission_id: str) -> Mission:
        """Return a mission."""
        return self.request("GET", _path(MISSIONS, mission_id))

    def find(self, **filters: Any) -> Iterator[Mission]:
        """Yield the missions that match the filters of the API, such as status or source, page by page."""
        return self._pages(MISSIONS, filters)

    def edit(self, mission_id: str, patch: Mapping[str, Any], *, version: Optional[int] = None,
             dry_run: bool = False, idempotency_key: Optional[str] = None) -> Mission:
        """Apply a merge patch (RFC 7396): None removes a member. With version, only to that one."""
        return self._write("PATCH", _path(MISSIONS, mission_id), patch, version=version, dry_run=dry_run,
                           idempotency_key=idempotency_key)

    def move(self, mission_id: str, status: str, *, version: Optional[int] = None, dry_run: bool = False,
             idempotency_key: Optional[str] = None, **details: Any) -> Mission:
        """Change the status of a mission. Details are reason, scheduled and assignee."""
        return self._write("POST", _path(MISSIONS, mission_id, "transitions"), {"status": status, **details},
                           version=version, dry_run=dry_run, idempotency_key=idempotency_key)

    def cancel(self, mission_id: str, reason: Optional[Mapping[str, str]] = None, *,
               version: Optional[int] = None, dry_run: bool = False,
               idempotency_key: Optional[str] = None) -> Mission:
        """Cancel a mission. Repeating it has no further effect."""
        return self._write("POST", _path(MISSIONS, mission_id, "cancel"), {"reason": reason} if reason else {},
                           version=version, dry_run=dry_run, idempotency_key=idempotency_key)

    def batch(self, missions: Iterable[MissionRequest], *, dry_run: bool = False,
              idempotency_key: Optional[str] = None) -> List[Dict[str, Any]]:
        """Create up to 100 missions, and return a result for each in the same order."""
        report = self._write("POST", MISSIONS + "/batch", {"missions": list(missions)}, dry_run=dry_run,
                             idempotency_key=idempotency_key)
        return report["results"]

    def endpoints(self) -> List[Dict[str, Any]]:
        """Return the webhook endpoints of the account."""
        return self.request("GET", WEBHOOKS)["data"]

    def deliveries(self, endpoint_id: str, state: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """Yield the deliveries to an endpoint, the newest first, page by page."""
        return self._pages(_path(WEBHOOKS, endpoint_id, "deliveries"), {"state": state})

    def replay(self, endpoint_id: str, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Send messages to an endpoint again."""
        return self.request("POST", _path(WEBHOOKS, endpoint_id, "replays"), request)

    def poll(self, after: int = 0, types: Iterable[str] = (), endpoint_id: Optional[str] = None) -> Iterator[Event]:
        """Yield the events after a number, to the end of the log. Continue after the number of the last.

        With endpoint_id, only what that webhook endpoint selects by its types and its filter.
        """
        query = {"type": list(types), "endpoint": endpoint_id}
        while True:
            page = self.request("GET", _query("/api/public/v1/events", {"after": after, **query}))
            yield from page.get("data") or []
            if not page.get("hasMore") or page["next"] <= after:
                return
            after = page["next"]

    def score(self, slug: str) -> Dict[str, Any]:
        """Return the score of a brand. It needs no key."""
        return self.request("GET", _path("/api/v1/score", slug))

    def request(self, method: str, path: str, body: Any = None, *,
                idempotency_key: Optional[str] = None) -> Any:
        """Call any operation of the API. The path begins with /api/; the result is the decoded body."""
        if method == "GET":
            return self._send(method, path, body, {})
        return self._write(method, path, body, idempotency_key=idempotency_key)

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        query = dict(query)
        while True:
            page = self.request("GET", _query(path, query))
            yield from page.get("data") or []
            cursor = page.get("nextCursor")
            if not page.get("hasMore") or not cursor or cursor == query.get("cursor"):
                return  # a server that repeats its cursor would be read forever
            query["cursor"] = cursor

    def _write(self, method: str, path: str, body: Any, *, version: Optional[int] = None, dry_run: bool = False,
               idempotency_key: Optional[str] = None, natural: bool = False) -> Any:
        headers = {}
        if idempotency_key or not natural:  # without a key of its own, a write gets one for its repetitions
            headers["Idempotency-Key"] = idempotency_key or secrets.token_hex(16)
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        return self._send(method, _query(path, {"dryRun": "true"}) if dry_run else path, body, headers)

    def _send(self, method: str, path: str, body: Any, headers: Dict[str, str]) -> Any:
        """Send a request, again where that is useful. Every request here can be repeated."""
        headers = {"Accept": "application/json, application/problem+json", **headers}
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        if self._key:
            headers["Authorization"] = "Bearer " + self._key
        request = urllib.request.Request(self._base + path, data=data, headers=headers, method=method)
        for attempt in range(MAX_RETRIES + 1):
            try:
                raw = self._attempt(request)
                try:
                    return json.loads(raw) if raw else None
                except ValueError:
                    raise Error("internal", "the response is not valid JSON") from None
            except Error as error:
                pause = _pause(error, attempt)
                if pause is None or attempt == MAX_RETRIES:
                    raise
                time.sleep(pause)

    def _attempt(self, request: urllib.request.Request) -> bytes:
        deadline = time.monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return _read(response, MAX_RESPONSE, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise _response_error(error, deadline) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, (socket.timeout, TimeoutError)):
                raise Error("timeout", "the server did not answer in time") from error
            raise Error("origin_unavailable", f"the connection failed: {reason}") from error


def _read(response: Any, limit: int, deadline: float) -> bytes:
    """Read at most limit bytes until the deadline, also from a server that sends one byte at a time."""
    parts: List[bytes] = []
    size = 0
    while True:
        part = response.read1(64 << 10)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > limit:
            raise Error("internal", f"the response exceeds {limit} bytes")
        if time.monotonic() > deadline:
            raise Error("timeout", "the server did not answer in time")
    if response.length:  # read1 does not report a body that ends early
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _response_error(response: urllib.error.HTTPError, deadline: float) -> Error:
    """Return the error of a response that is not successful."""
    retry_after = None
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit() and len(text) < 10:
        retry_after = float(text)
    problem: Any = None
    if response.headers.get_content_type() == "application/problem+json":
        try:
            problem = json.loads(_read(response, MAX_PROBLEM, deadline))
        except (Error, ValueError, OSError, http.client.HTTPException):
            pass
    if isinstance(problem, dict) and isinstance(problem.get("code"), str):
        return Error(problem["code"], problem.get("detail", ""), response.code, problem, retry_after)
    code = {429: "rate_limited", 503: "origin_unavailable"}.get(response.code, "internal")
    return Error(code, f"status {response.code} without a problem document", response.code, None, retry_after)


def _pause(error: Error, attempt: int) -> Optional[float]:
    """Return the seconds before the next attempt, or None if it is not worth it."""
    lost = error.status == 0 and error.code == "origin_unavailable"
    # An attempt whose connection was lost may still be running.
    if not (lost or error.status in (429, 503) or error.code == "idempotency_in_progress"):
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= MAX_RETRY_AFTER else None
    half = FIRST_PAUSE * 2 ** attempt / 2
    return half + random.random() * half  # so that clients that failed together do not return together


def _path(base: str, *names: str) -> str:
    return "/".join([base, *(urllib.parse.quote(name, safe="") for name in names)])


def _query(path: str, query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    return path + "?" + urllib.parse.urlencode(given, doseq=True) if given else path


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, tolerance: int = TOLERANCE) -> Event:
    """Verify a message to an endpoint and return its event, or raise an Error with code invalid_signature.

    Body is what was received, byte by byte. Secret is the secret of the endpoint (whsec_, scheme v1) or
    its public key (whpk_, scheme v1a), which needs the package cryptography: Ed25519 is not part of the
    standard library. Tolerance is in seconds.
    """
    if isinstance(body, str):
        raise TypeError("body must be the bytes that were received")
    fields = {name.lower(): value for name, value in headers.items()}
    prefix, _, digits = secret.partition("_")
    try:
        key = base64.b64decode(digits, validate=True)
    except ValueError:
        key = b""
    # A shorter secret than the API accepts was cut, and an empty one would verify what anyone can sign.
    if not (prefix == "whsec" and len(key) >= 24 or prefix == "whpk" and len(key) == 32):
        raise Error("invalid_signature", "the secret is not whsec_ or whpk_ and base64")
    message, at = fields.get("webhook-id", ""), fields.get("webhook-timestamp", "")
    if not message or not (at.isascii() and at.isdigit() and len(at) < 16) or abs(time.time() - int(at)) > tolerance:
        raise Error("invalid_signature", "webhook-id is missing, or webhook-timestamp is too far from now")
    signed = f"{message}.{at}.".encode() + body
    for signature in fields.get("webhook-signature", "").split():
        scheme, _, digits = signature.partition(",")
        try:
            got = base64.b64decode(digits, validate=True)
        except ValueError:
            continue
        if _verify(prefix, scheme, key, signed, got):
            try:
                return json.loads(body)
            except ValueError:
                raise Error("invalid_signature", "the signature is valid, but the body is not JSON") from None
    raise Error("invalid_signature", "no signature in webhook-signature is valid")


def _verify(prefix: str, scheme: str, key: bytes, signed: bytes, signature: bytes) -> bool:
    if prefix == "whsec" and scheme == "v1":
        return hmac.compare_digest(signature, hmac.new(key, signed, hashlib.sha256).digest())
    if prefix == "whpk" and scheme == "v1a":
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError:
            raise Error("invalid_signature", "messages of scheme v1a need the package cryptography") from None
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
            return True
        except (InvalidSignature, ValueError):
            return False
    return False
