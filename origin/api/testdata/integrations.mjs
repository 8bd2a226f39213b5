// Runs the templates of deploy/integrations that are programs, in the tools' own
// syntax and with stand-ins for their surroundings, against a real Fieldmark:
//   node integrations.mjs FOLDER URL KEY     in the folder that has liquidjs
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';

const [folder, url, key] = process.argv.slice(2);
const read = (name) => readFileSync(join(folder, name), 'utf8');
const {Liquid} = createRequire(join(process.cwd(), 'package.json'))('liquidjs');
const hostile = 'Router "7" \\ is down\n; it\'s <b>bad</b> ümlaut';
const must = (what, status) => {
  if (status < 200 || status > 299) throw new Error(`${what}: status ${status}`);
};

// ask is a request that blocks, as scripts inside of Zabbix and ServiceNow make it.
function ask(method, address, headers, body) {
  const args = ['--silent', '--max-time', '20', '--request', method, '--write-out', '\n%{http_code}'];
  for (const h of headers) args.push('--header', h);
  if (body !== undefined) args.push('--data-binary', '@-');
  const said = execFileSync('curl', [...args, address], {input: body ?? ''}).toString();
  const cut = said.lastIndexOf('\n');
  return {body: said.slice(0, cut), status: Number(said.slice(cut + 1))};
}

class HttpRequest {
  headers = [];
  addHeader(h) { this.headers.push(h); }
  get(address) { return this.done(ask('GET', address, this.headers)); }
  post(address, body) { return this.done(ask('POST', address, this.headers, body)); }
  done(r) { this.status = r.status; return r.body; }
  getStatus() { return this.status; }
}

function zabbix() {
  const lines = read('zabbix/media_fieldmark.yaml').split('\n');
  const from = lines.findIndex((l) => l.trim() === 'script: |') + 1;
  const until = lines.findIndex((l, i) => i > from && l.trim() !== '' && !l.startsWith('        '));
  const script = new Function('value', 'HttpRequest', lines.slice(from, until).map((l) => l.slice(8)).join('\n'));
  const problem = {
    event_id: '4711', event_name: hostile.replace('\n', ' ') + 'x'.repeat(300), event_severity: '5', event_value: '1', fieldmark_key: key, fieldmark_url: url + '/',
    host: 'rtr-7', message: hostile, on_resolve: 'cancel',
  };
  for (const change of [{}, {}, {event_id: '4712', event_severity: '2'}, {event_value: '0'}, {event_id: 'nobody', event_value: '0'}]) {
    if (script(JSON.stringify({...problem, ...change}), HttpRequest) !== 'OK') throw new Error('zabbix');
  }
}

function servicenow() {
  const fields = {number: 'INC0010001', short_description: hostile.replace('\n', ' '), priority: '2', description: hostile};
  const current = {
    getValue: (name) => fields[name] ?? null, getDisplayValue: () => 'Linz', getUniqueValue: () => '9d385017c611228701d22104cc95c371',
    setValue: (name, value) => { fields[name] = value; }, setWorkflow() {}, update() { fields.updated = true; },
  };
  const gs = {getProperty: (name) => ({'fieldmark.url': url, 'fieldmark.key': key})[name], error(text) { throw new Error(text); }};
  class RESTMessageV2 {
    headers = [];
    setHttpMethod(m) { this.method = m; }
    setEndpoint(e) { this.endpoint = e; }
    setRequestHeader(n, v) { this.headers.push(`${n}: ${v}`); }
    setHttpTimeout() {}
    setRequestBody(b) { this.body = b; }
    execute() {
      const r = ask(this.method, this.endpoint, this.headers, this.body);
      return {getStatusCode: () => r.status, getBody: () => r.body};
    }
  }
  const rule = new Function('current', 'previous', 'gs', 'sn_ws', read('servicenow/business_rule.js'));
  rule(current, null, gs, {RESTMessageV2});
  rule(current, null, gs, {RESTMessageV2});
  if (!fields.updated || !fields.correlation_id.startsWith('msn_')) throw new Error('servicenow');
}

async function n8n() {
  const node = JSON.parse(read('n8n/workflow.json')).nodes.find((n) => n.name === 'Open mission');
  const expression = node.parameters.jsonBody.match(/^=\{\{(.*)\}\}$/s)[1];
  const $json = {id: 7, title: hostile.replace('\n', ' '), description: hostile};
  const body = new Function('$json', `return ${expression}`)($json);
  const r = await fetch(node.parameters.url.replace('https://fieldmark.example', url), {
    method: node.parameters.method, body, headers: {'Content-Type': 'application/json', Authorization: 'Bearer ' + key},
  });
  must('n8n', r.status);
}

async function kuma() {
  const headers = JSON.parse(read('uptime-kuma/headers.json').replace('$FIELDMARK_API_KEY', key));
  const template = read('uptime-kuma/body.liquid');
  const monitorJSON = {id: 3, name: hostile, url: 'https://shop.example/'};
  for (const context of [
    {monitorJSON, heartbeatJSON: {status: 0, msg: 'x'}, msg: `[${hostile}] [🔴 Down] timeout`},
    {monitorJSON, heartbeatJSON: {status: 0, msg: 'x'}, msg: 'still down'},
    {monitorJSON, heartbeatJSON: {status: 1, msg: 'x'}, msg: '[✅ Up]'},
    {monitorJSON: null, heartbeatJSON: null, msg: 'Test'},
  ]) {
    const body = await new Liquid().parseAndRender(template, context);
    JSON.parse(body);
    const r = await fetch(url + '/api/public/v1/integrations/alertmanager?source=uptime-kuma&onResolved=cancel', {
      method: 'POST', body, headers: {'Content-Type': 'application/json', ...headers},
    });
    must('uptime-kuma', r.status);
  }
}

zabbix();
servicenow();
await n8n();
await kuma();
