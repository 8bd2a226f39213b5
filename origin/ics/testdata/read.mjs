// Reads [feed, …] from standard input and writes what ical.js reads out of each:
// [[event, …], …]. It runs in the folder the package was installed in.
import {text} from 'node:stream/consumers';
import {createRequire} from 'node:module';
import {join} from 'node:path';

const module = createRequire(join(process.cwd(), 'package.json'))('ical.js');
const ICAL = module.default ?? module;

const feeds = JSON.parse(await text(process.stdin)).map((feed) => {
  const calendar = new ICAL.Component(ICAL.parse(feed));
  return calendar.getAllSubcomponents('vevent').map((e) => {
    const one = (name) => e.getFirstPropertyValue(name);
    return {
      uid: one('uid'),
      changed: one('dtstamp').toUnixTime(),
      sequence: one('sequence'),
      start: one('dtstart').toUnixTime(),
      end: one('dtend').toUnixTime(),
      status: one('status'),
      summary: one('summary'),
      description: one('description') ?? '',
      location: one('location') ?? '',
      url: one('url') ?? '',
      categories: e.getAllProperties('categories').flatMap((p) => p.getValues()),
      geo: one('geo') ?? [],
    };
  });
});
process.stdout.write(JSON.stringify(feeds));
