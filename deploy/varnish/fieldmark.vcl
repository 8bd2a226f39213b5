# Varnish 6.0 or later in front of edges of Fieldmark, with the module xkey of varnish-modules. The origin purges it:
#
#   fieldmark cdn add varnish --kind varnish --at http://varnish.internal:6081/ --token-file token
#
# Set the address of the edges, the networks of the origins and the token. The token travels without encryption: keep
# the path from the origins to Varnish in a network of your own, and name it in FIELDMARK_CDN_NETWORKS.
vcl 4.1;

import std;
import xkey;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    .probe = { .url = "/readyz"; .interval = 2s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

acl origins {
    "127.0.0.1";
    "::1";
}

sub vcl_recv {
    if (req.method == "PURGE" || req.method == "BAN") {
        if (client.ip !~ origins || req.http.Fieldmark-Purge-Token != "change-me") {
            return (synth(403, "Forbidden"));
        }
        if (req.method == "PURGE" && req.http.xkey-softpurge) {
            set req.http.Purged = xkey.softpurge(req.http.xkey-softpurge);
            return (synth(200, "Purged " + req.http.Purged));
        }
        if (req.method == "BAN" && req.http.Fieldmark-Ban) {
            ban("obj.http.Surrogate-Key ~ " + req.http.Fieldmark-Ban);
            return (synth(200, "Banned"));
        }
        return (synth(400, "No keys"));
    }
    unset req.http.Fieldmark-Purge-Token;
    # A response that was purged is served for a second more while it is fetched again, and for as long as it permits
    # only while no edge is healthy.
    if (std.healthy(req.backend_hint)) {
        set req.grace = 1s;
    }
}

sub vcl_backend_response {
    if (beresp.http.Surrogate-Key) {
        set beresp.http.xkey = beresp.http.Surrogate-Key;
        # Edges state a long lifetime here while the origin has verified that every CDN is purged. Sites behind the edges
        # cannot: edges remove their keys.
        if (beresp.http.Surrogate-Control ~ "max-age=[0-9]") {
            set beresp.ttl = std.duration(
                regsub(beresp.http.Surrogate-Control, "^.*max-age=([0-9]+).*$", "\1s"), beresp.ttl);
            set beresp.grace = std.duration(
                regsub(beresp.http.Surrogate-Control, "^.*stale-if-error=([0-9]+).*$", "\1s"), beresp.grace);
        }
    }
}

sub vcl_deliver {
    unset resp.http.xkey;
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    # What is purged is as new as a response of an edge, so Cache-Control counts from now for readers.
    if (resp.http.Surrogate-Control) {
        unset resp.http.Surrogate-Control;
        unset resp.http.Age;
    }
}
