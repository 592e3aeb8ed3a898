// An MCP server for tests that wants each person's own token: the official SDK, with the tool "whoami",
// the prompt "greet" and the resource "card://me", which name the person of the token. Tokens are those of
// an identity provider (../provider) for this server alone.
// Usage: node guarded.mjs MODULES ISSUER. The first line says its address, each further one the headers of
// a request as JSON.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [modules, issuer] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const sdk = '@modelcontextprotocol/sdk/dist/esm/server';
const { default: express } = await load('express/index.js');
const { createRemoteJWKSet, jwtVerify } = await load('jose/dist/webapi/index.js');
const { McpServer } = await load(`${sdk}/mcp.js`);
const { StreamableHTTPServerTransport } = await load(`${sdk}/streamableHttp.js`);
const { requireBearerAuth } = await load(`${sdk}/auth/middleware/bearerAuth.js`);
const { mcpAuthMetadataRouter, getOAuthProtectedResourceMetadataUrl } = await load(`${sdk}/auth/router.js`);
const { InvalidTokenError } = await load(`${sdk}/auth/errors.js`);

const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));

// serverFor returns a server that answers one request of a person.
function serverFor(name) {
  const server = new McpServer({ name: 'guarded', version: '1' });
  server.registerTool('whoami', { description: 'Says who you are to this service', annotations: { readOnlyHint: true } },
    () => ({ content: [{ type: 'text', text: `You are ${name}.` }] }));
  server.registerPrompt('greet', { description: `Greets ${name}` },
    () => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name} warmly.` } }] }));
  server.registerResource('card', 'card://me', { mimeType: 'text/plain' },
    (uri) => ({ contents: [{ uri: uri.href, text: `The card of ${name}.` }] }));
  return server;
}

let app;
const http = createServer((req, res) => app(req, res));
http.listen(0, '127.0.0.1', () => {
  const address = new URL(`http://127.0.0.1:${http.address().port}/mcp`);
  const verifyAccessToken = async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: address.href });
      return { token, clientId: payload.client_id, scopes: [], expiresAt: payload.exp, resource: address, extra: { name: payload.sub } };
    } catch (err) {
      throw new InvalidTokenError(err.message);
    }
  };
  app = express();
  app.use((req, _res, next) => {
    console.log(JSON.stringify(req.headers));
    next();
  });
  app.use(mcpAuthMetadataRouter({ oauthMetadata: metadata, resourceServerUrl: address, scopesSupported: ['read'] }));
  app.post('/mcp', express.json(), requireBearerAuth({ verifier: { verifyAccessToken }, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(address) }), async (req, res) => {
    const server = serverFor(req.auth.extra.name);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    res.on('close', () => { transport.close(); server.close(); });
    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
  });
  app.all('/mcp', (_req, res) => res.sendStatus(405));
  console.log(address.href);
});
