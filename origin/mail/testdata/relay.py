"""An SMTP relay for the tests, by aiosmtpd: relay.py MODE CERTIFICATE KEY.

MODE is plain, starttls or smtps; the last two ask for the password "secret" of "fieldmark". It
prints its port, and then each reply to RCPT and each mail as a line of JSON. Mail to greylisted@
is refused for now, to unknown@ permanently.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def say(**what):
    print(json.dumps(what), flush=True)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        reply = "250 OK"
        if address.startswith("greylisted@"):
            reply = "451 4.7.1 Greylisted, try again later"
        if address.startswith("unknown@"):
            reply = "550 5.1.1 User unknown"
        say(rcpt=address, reply=reply)
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server, session, envelope):
        say(to=envelope.rcpt_tos, sender=envelope.mail_from, tls=session.ssl is not None or mode == "smtps",
            data=envelope.content.decode("utf-8"))
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"fieldmark", b"secret"), handled=False)


async def main():
    context = None
    if mode != "plain":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])

    def connect():
        if mode == "plain":
            return SMTP(Handler(), hostname="relay.example")
        return SMTP(Handler(), hostname="relay.example", authenticator=authenticate, auth_required=True,
                    auth_require_tls=mode == "starttls", require_starttls=mode == "starttls",
                    tls_context=context if mode == "starttls" else None)

    server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0,
                                                            ssl=context if mode == "smtps" else None)
    say(port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


mode = sys.argv[1]
asyncio.run(main())
