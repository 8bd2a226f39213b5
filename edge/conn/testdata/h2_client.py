"""A client of python3-h2 sends what browsers send, odd frames, and floods.

h2 checks every frame it receives against RFC 9113 and raises an error for a wrong one.
Usage: h2_client.py PORT CA_FILE HOST
"""

import select
import socket
import ssl
import struct
import sys

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
from hyperframe.frame import (AltSvcFrame, ContinuationFrame, HeadersFrame, PingFrame, PriorityFrame,
                              RstStreamFrame, SettingsFrame, WindowUpdateFrame)

PORT, CA_FILE, HOST = int(sys.argv[1]), sys.argv[2], sys.argv[3]
CALM = h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
PROTOCOL = h2.errors.ErrorCodes.PROTOCOL_ERROR


class Client:
    """A connection over TLS."""

    def __init__(self, settings=None):
        context = ssl.create_default_context(cafile=CA_FILE)
        context.set_alpn_protocols(["h2", "http/1.1"])
        raw = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        self.sock = context.wrap_socket(raw, server_hostname=HOST)
        assert self.sock.selected_alpn_protocol() == "h2", self.sock.selected_alpn_protocol()
        self.h2 = h2.connection.H2Connection(config=h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        if settings:
            self.h2.update_settings(settings)
        self.status, self.body, self.ended, self.reset, self.acked = {}, {}, set(), {}, 0
        self.goaway = None
        self.flush()

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def headers(self, method, path, *more):
        return [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path), *more]

    def request(self, method, path, *more, body=None, trailers=None):
        """Sends a request, as far as the windows allow, and returns its stream."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, self.headers(method, path, *more), end_stream=body is None)
        while body:
            window = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            n = min(len(body), window)
            if n > 0:
                self.h2.send_data(stream, body[:n], pad_length=7 if n + 8 <= window else None)
                body = body[n:]
                self.flush()
            else:
                self.receive()
        if trailers:
            self.h2.send_headers(stream, trailers, end_stream=True)
        elif body is not None:
            self.h2.end_stream(stream)
        self.flush()
        return stream

    def receive(self):
        """Reads what has arrived, and reports whether the connection is open."""
        try:
            data = self.sock.recv(65536)
        except OSError:
            data = b""
        for e in self.h2.receive_data(data) if data else []:
            if isinstance(e, h2.events.ResponseReceived):
                self.status[e.stream_id] = dict(e.headers)[":status"]
            elif isinstance(e, h2.events.DataReceived):
                self.body[e.stream_id] = self.body.get(e.stream_id, b"") + e.data
                if e.flow_controlled_length:
                    self.h2.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
            elif isinstance(e, h2.events.StreamEnded):
                self.ended.add(e.stream_id)
            elif isinstance(e, h2.events.StreamReset):
                self.reset[e.stream_id] = e.error_code
            elif isinstance(e, h2.events.PingAckReceived):
                self.acked += 1
            elif isinstance(e, h2.events.ConnectionTerminated):
                self.goaway = e.error_code
        if data and self.goaway is None:
            try:
                self.flush()
            except OSError:
                pass  # what is there to read tells why
        return bool(data) and self.goaway is None

    def answer(self, stream):
        """Returns status and body of a response."""
        while stream not in self.ended and stream not in self.reset:
            assert self.receive(), f"the connection ended with {self.goaway} before stream {stream} was answered"
        assert stream not in self.reset, f"stream {stream} was reset: {self.reset.get(stream)}"
        return self.status[stream], self.body.get(stream, b"")

    def get(self, path, *more):
        status, body = self.answer(self.request("GET", path, *more))
        assert status == "200", f"{path}: {status}"
        return body

    def frame(self, *frames):
        """Sends frames that h2 would not."""
        self.sock.sendall(b"".join(f.serialize() for f in frames))

    def flooded(self, send, times):
        """Calls send until the server ends the connection, and checks how it does."""
        try:
            for _ in range(times):
                send()
                if select.select([self.sock], [], [], 0)[0] and not self.receive():
                    break
        except OSError:
            pass  # the server has closed the connection
        while self.goaway is None and self.receive():
            pass
        # GOAWAY may be lost when the connection is reset.
        assert self.goaway in (CALM, None), self.goaway


class Raw:
    """A frame that hyperframe would not make."""

    def __init__(self, kind, flags, stream, body):
        self.bytes = struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body

    def serialize(self):
        return self.bytes


UNKNOWN = Raw(0xbe, 0xff, 0, b"?")


def ordinary():
    """Requests as browsers send them, a hundred at once, uploads and trailers."""
    c = Client()
    badge = c.get("/api/badge/acme")
    assert len(badge) > 500
    streams = [c.request("GET", f"/api/badge/{'acme' if i % 2 else 'miss'}?x={i}") for i in range(100)]
    for i, stream in enumerate(streams):
        status, body = c.answer(stream)
        assert status == "200" and (i % 2 == 0 or body == badge), (i, status, body[:60])
    sent = bytes(range(256)) * 4000
    assert c.answer(c.request("POST", "/echo", body=sent)) == ("200", sent)
    assert c.answer(c.request("POST", "/echo", body=b"x", trailers=[("checksum", "1")])) == ("200", b"x")
    assert len(c.get("/large/1000000")) == 1000000
    assert c.get("/stream") == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert c.get("/interim") == b"after"


def small():
    """Small windows, small and large header tables."""
    for settings in ({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 300},
                     {h2.settings.SettingCodes.HEADER_TABLE_SIZE: 0},
                     {h2.settings.SettingCodes.HEADER_TABLE_SIZE: 65536},
                     {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1}):
        c = Client(settings)
        badge = c.get("/api/badge/acme")
        assert badge == c.get("/api/badge/acme") and len(c.get("/large/20000")) == 20000
    c = Client()
    c.get("/api/badge/acme")
    for size in (0, 4096, 100, 65536):  # the table shrinks and grows under way
        c.h2.update_settings({h2.settings.SettingCodes.HEADER_TABLE_SIZE: size})
        c.flush()
        assert c.get("/api/badge/acme") == badge


def odd():
    """Frames that a server must ignore or answer."""
    c = Client()
    c.frame(UNKNOWN, PriorityFrame(101, 5, 200),
            AltSvcFrame(0, origin=b"x", field=b"y"), WindowUpdateFrame(0, 1000))
    c.h2.ping(b"12345678")
    c.flush()
    c.get("/api/badge/acme")
    assert c.acked == 1
    stream = c.request("GET", "/large/3000000")
    c.h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)  # half way
    c.flush()
    c.get("/x")

    def ends(code, *frames):
        c = Client()
        c.get("/x")
        c.frame(*frames)
        while c.receive():
            pass
        assert c.goaway == code, f"{frames}: {c.goaway}, want {code}"

    ends(PROTOCOL, Raw(5, 4, 1, b"\0\0\0\2\x82"))
    ends(PROTOCOL, Raw(0, 0, 0, b"x"))
    ends(PROTOCOL, HeadersFrame(2, b"\x82", flags=["END_HEADERS"]))
    ends(PROTOCOL, ContinuationFrame(1, b"\x82", flags=["END_HEADERS"]))
    ends(PROTOCOL, HeadersFrame(3, b"\x82"), PingFrame(0, b"12345678"))
    ends(h2.errors.ErrorCodes.FLOW_CONTROL_ERROR, WindowUpdateFrame(0, 2**31 - 1))
    ends(h2.errors.ErrorCodes.COMPRESSION_ERROR, HeadersFrame(3, b"\xff\xff\xff\x0f", flags=["END_HEADERS"]))


def floods():
    """Each flood ends with GOAWAY(ENHANCE_YOUR_CALM)."""
    def rapid_reset():
        stream = c.h2.get_next_available_stream_id()
        c.h2.send_headers(stream, c.headers("GET", "/x"), end_stream=True)
        c.h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        c.flush()

    c = Client()
    c.flooded(rapid_reset, 2000)
    for frame, times in ((PingFrame(0, b"12345678"), 2000), (SettingsFrame(0, {3: 1}), 2000),
                         (PriorityFrame(1, 0, 1), 5000), (UNKNOWN, 5000)):
        c = Client()
        c.flooded(lambda: c.frame(frame), times)
    c = Client()
    c.get("/x")  # after the SETTINGS of both sides, which must not interrupt the block
    c.frame(HeadersFrame(3, c.h2.encoder.encode(c.headers("GET", "/x")), flags=["END_STREAM"]))
    c.flooded(lambda: c.frame(ContinuationFrame(3, b"")), 100)


for case in (ordinary, small, odd, floods):
    case()
    print(case.__name__, "ok")
