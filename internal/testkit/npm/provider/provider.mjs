// An identity provider for tests: the package oidc-provider with one client, "molar", that must use
// PKCE. Everybody signs in with any name and password; the part of the name before "-" is their group,
// so that staff-007 is in the group staff. Other clients may register themselves, and get tokens for any
// MCP server that they name as the resource: JWTs that live for a minute, with refresh tokens.
// Usage: node provider.mjs MODULES PORT CALLBACK LOGOUT. Port 0 chooses one; the line "ISSUER" tells it.
// LOGOUT is told when somebody signs out at the provider.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [modules, port, callback, logout] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
let app;
const server = createServer((req, res) => app(req, res));
server.listen(Number(port), '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  app = new Provider(issuer, {
    clients: [{
      client_id: 'molar',
      token_endpoint_auth_method: 'none',
      // A native client may come back to any port of this machine (RFC 8252, section 7.3).
      application_type: 'native',
      redirect_uris: [callback],
      backchannel_logout_uri: logout,
      backchannel_logout_session_required: true,
    }],
    jwks: { keys: [{ ...key, alg: 'RS256', use: 'sig', kid: 'k1' }] },
    cookies: { keys: [randomUUID()] },
    // Its own dispatcher refuses addresses of this machine, where its client is.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email'] },
    scopes: ['openid', 'offline_access', 'read'],
    features: {
      backchannelLogout: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({ scope: 'read', audience: resource, accessTokenTTL: 60, accessTokenFormat: 'jwt' }),
      },
    },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    conformIdTokenClaims: false, // the ID token itself names the groups
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `Person ${id}`, groups: [id.split('-')[0]], email: `${id}@example.com` }),
    }),
  });
  app.on('backchannel.error', (_, err) => console.error(err));
  app = app.callback();
  console.log(issuer);
});
