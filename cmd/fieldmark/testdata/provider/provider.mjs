// An OpenID Connect provider whose sign-in form says who somebody is: the test
// that posts it decides about groups, addresses and how long ago it was.
import http from 'node:http';
import { Provider } from 'oidc-provider';

const { ADDRESS, REDIRECT, CLIENT_SECRET } = process.env;
const [host, port] = ADDRESS.split(':');
const people = new Map();

const provider = new Provider(`http://${ADDRESS}`, {
  clients: [{ client_id: 'fieldmark', client_secret: CLIENT_SECRET, redirect_uris: [REDIRECT], grant_types: ['authorization_code'], response_types: ['code'] }],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  findAccount: (_, id) => people.has(id) && { accountId: id, claims: () => ({ sub: id, ...people.get(id) }) },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: [CLIENT_SECRET] },
  async loadExistingGrant(ctx) { // nobody is asked for consent
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope('openid email groups');
    await grant.save();
    return grant;
  },
});
const handle = provider.callback();

async function body(req) {
  let text = '';
  for await (const part of req) text += part;
  return new URLSearchParams(text);
}

http.createServer(async (req, res) => {
  try {
    if (!req.url.startsWith('/interaction/')) return handle(req, res);
    if (req.method === 'GET') {
      const { prompt } = await provider.interactionDetails(req, res);
      res.setHeader('Content-Type', 'text/html');
      return res.end(`<title>Provider</title><form method="post">${prompt.name} ${prompt.reasons}<input name="sub"></form>`);
    }
    const form = await body(req);
    people.set(form.get('sub'), { groups: form.getAll('group'), email: form.get('email') ?? undefined, email_verified: form.get('verified') === 'yes' });
    const ts = Math.floor(Date.now() / 1000) - Number(form.get('age') ?? 0);
    await provider.interactionFinished(req, res, form.has('deny') ? { error: 'access_denied' } : { login: { accountId: form.get('sub'), ts } });
  } catch (err) {
    res.statusCode = 500;
    res.end(String(err.stack ?? err));
  }
}).listen(Number(port), host, () => console.log('ready'));
