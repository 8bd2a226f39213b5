# Reads [feed, ...] from standard input and writes what python-icalendar reads
# out of each: [[event, ...], ...].
import json
import sys

import icalendar

feeds = []
for feed in json.load(sys.stdin.buffer):
    events = []
    for e in icalendar.Calendar.from_ical(feed).walk("vevent"):
        assert not e.errors, e.errors
        events.append({
            "uid": str(e["uid"]),
            "changed": int(e["dtstamp"].dt.timestamp()),
            "sequence": int(e["sequence"]),
            "start": int(e["dtstart"].dt.timestamp()),
            "end": int(e["dtend"].dt.timestamp()),
            "status": str(e["status"]),
            "summary": str(e["summary"]),
            "description": str(e.get("description", "")),
            "location": str(e.get("location", "")),
            "url": str(e.get("url", "")),
            "geo": [e["geo"].latitude, e["geo"].longitude] if "geo" in e else [],
        })
    feeds.append(events)
json.dump(feeds, sys.stdout)
