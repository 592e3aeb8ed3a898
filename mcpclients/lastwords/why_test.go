package lastwords_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients/lastwords"
)

func TestWhy(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"node: a missing module", `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '../build/Release/keytar.node'
Require stack:
- /srv/a/index.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/srv/a/index.js' ]
}

Node.js v20.20.2`, "Error: Cannot find module '../build/Release/keytar.node'"},
		{"node: a generic error with its cause", `(node:12) [DEP0040] DeprecationWarning: The punycode module is deprecated and must not be used. Please use another.
(Use node --trace-deprecation ... to show where the warning was created)
node:internal/deps/undici/undici:14976
      Error.captureStackTrace(err);
            ^

TypeError: fetch failed
    at node:internal/deps/undici/undici:14976:13
    at async file:///srv/b.mjs:1:11 {
  [cause]: Error: getaddrinfo ENOTFOUND docs.example
      at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26) {
    errno: -3008,
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: 'docs.example'
  }
}

Node.js v20.20.2`, "TypeError: fetch failed (cause: Error: getaddrinfo ENOTFOUND docs.example)"},
		{"node: minified source in front", `file:///srv/dist/index.js:1
` + strings.Repeat(`function a(b){if(!b)throw new Error("Invalid key: cannot go on")}`, 4) + `
                              ^

TypeError: webidl.util.markAsUncloneable is not a function
    at file:///srv/dist/index.js:1:31

Node.js v20.20.2`, "TypeError: webidl.util.markAsUncloneable is not a function"},
		{"node: a code and a package", `node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/x.js
    at packageResolve (node:internal/modules/esm/resolve:873:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}`, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/x.js"},
		{"node: what was tried is listed", `/srv/node_modules/bindings/bindings.js:126
  err = new Error(
        ^

Error: Could not locate the bindings file. Tried:
 → /srv/node_modules/better-sqlite3/build/better_sqlite3.node
 → /srv/node_modules/better-sqlite3/build/Debug/better_sqlite3.node
    at bindings (/srv/node_modules/bindings/bindings.js:126:9) {
  tries: [
    '/srv/a',
    '/srv/b'
  ]
}`, "Error: Could not locate the bindings file. Tried: /srv/node_modules/better-sqlite3/build/better_sqlite3.node; /srv/node_modules/better-sqlite3/build/Debug/better_sqlite3.node"},
		{"node: a program reports a fatal error and leaves", `[4711] Using automatically selected callback port: 3334
[4711] Connection error: TypeError: fetch failed
    at node:internal/deps/undici/undici:1:1 {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:9
      at TCPConnectWrap.afterConnect (node:net:1:1) {
    code: 'ECONNREFUSED'
  }
}
[4711] Fatal error: TypeError: fetch failed
    at node:internal/deps/undici/undici:1:1 {
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:9
      at TCPConnectWrap.afterConnect (node:net:1:1) {
    code: 'ECONNREFUSED'
  }
}`, "Connection error: TypeError: fetch failed (cause: Error: connect ECONNREFUSED 127.0.0.1:9)"},
		{"node: several errors in one", `AggregateError [ECONNREFUSED]: 
    at internalConnectMultiple (node:net:1122:18)
    at afterConnectMultiple (node:net:1689:7) {
  code: 'ECONNREFUSED',
  [errors]: [
    Error: connect ECONNREFUSED ::1:5432
        at createConnectionError (node:net:1652:14) {
      errno: -111
    },
    Error: connect ECONNREFUSED 127.0.0.1:5432
        at createConnectionError (node:net:1652:14) {
      errno: -111
    }
  ]
}`, "AggregateError [ECONNREFUSED]: (cause: Error: connect ECONNREFUSED 127.0.0.1:5432)"},
		{"node: a rejection", `node:internal/process/promises:394
      triggerUncaughtException(err, true /* fromPromise */);
      ^

[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason "no token".] {
  code: 'ERR_UNHANDLED_REJECTION'
}`, `[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason "no token".]`},
		{"node: a list of faults of a schema", `Starting…
ZodError: [
  {
    "code": "invalid_type",
    "expected": "string",
    "received": "undefined",
    "path": [
      "env",
      "API_KEY"
    ],
    "message": "Required"
  },
  {
    "code": "invalid_string",
    "path": [ "URL" ],
    "message": "Invalid url"
  }
]
    at get error (file:///srv/zod/types.js:39:31)`, "ZodError: env.API_KEY: Required; URL: Invalid url"},
		{"node: an object is printed", `Failed to start: {
  message: 'the token is missing',
  status: 401
}`, "Failed to start: message: 'the token is missing', status: 401"},
		{"node: the reason is a sentence, in red", "\x1b[31m\x1b[1mServer could not start\x1b[0m\nSLACK_TOKEN is not set\nBye", "Server could not start"},
		{"node: a heading before the reason", "Missing required environment variables:\n  - API_KEY\n  - API_URL\nSee the README", "Missing required environment variables: API_KEY; API_URL"},
		{"a warning before the reason", "npm warn deprecated glob@7: old versions are not supported\nWARN cache is missing\nplease provide a token with --token", "please provide a token with --token"},
		{"help before the reason", "Usage: server [options]\n\nOptions:\n  --key <key>   the key (required)\n  --help        show this\n\nMissing required argument: key", "Missing required argument: key"},
		{"python: a traceback", `INFO:root:starting
Traceback (most recent call last):
  File "/srv/a.py", line 7, in <module>
    raise ValueError("Invalid: cannot go on")
          ^^^^^^^^^^^^^^^^^
  File "/srv/b.py", line 3, in f
    g()
ModuleNotFoundError: No module named 'httpx'`, "ModuleNotFoundError: No module named 'httpx'"},
		{"python: one traceback after the other", `Traceback (most recent call last):
  File "/srv/a.py", line 2, in <module>
    os.environ["TOKEN"]
KeyError: 'TOKEN'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/a.py", line 4, in <module>
    raise RuntimeError("the configuration cannot be read") from None
RuntimeError: the configuration cannot be read`, "RuntimeError: the configuration cannot be read (cause: KeyError: 'TOKEN')"},
		{"python: a group", `  + Exception Group Traceback (most recent call last):
  |   File "/srv/a.py", line 2, in <module>
  |     run()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/b.py", line 2, in run
    |     get()
    | httpx.ConnectError: All connection attempts failed
    +------------------------------------`, "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception) (cause: httpx.ConnectError: All connection attempts failed)"},
		{"python: faults of a model", `Traceback (most recent call last):
  File "/srv/a.py", line 2, in <module>
    Settings()
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.example/v/missing`, "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings: api_key; Field required [type=missing, input_value={}, input_type=dict]"},
		{"python: arguments", "usage: server [-h] --key KEY\nserver: error: the following arguments are required: --key", "server: error: the following arguments are required: --key"},
		{"python: a log", "2026-11-29 10:00:00,123 - server.main - INFO - starting without errors\n2026-11-29 10:00:01,123 - server.main - ERROR - the key was revoked", "the key was revoked"},
		{"go: a panic", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:7 +0x1d\nexit status 2", "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"go: a log", "2026/11/29 10:00:00 listening\n2026/11/29 10:00:01 dial tcp 127.0.0.1:5432: connect: connection refused", "dial tcp 127.0.0.1:5432: connect: connection refused"},
		{"go: pairs", `time=2026-11-29T10:00:00.000Z level=INFO msg="error tracking is off"` + "\n" + `time=2026-11-29T10:00:01.000Z level=ERROR msg="no start" err="open /x: permission denied"`, "no start: open /x: permission denied"},
		{"go: klog", "E1129 10:00:00.000000       1 main.go:12] failed to load the kubeconfig", "E1129 10:00:00.000000       1 main.go:12] failed to load the kubeconfig"},
		{"java: the deepest cause", `Exception in thread "main" java.lang.RuntimeException: start went wrong
	at a.Main.run(Main.java:12)
	at a.Main.main(Main.java:7)
Caused by: java.io.IOException: io
	at a.B.c(B.java:1)
	... 2 more
Caused by: java.net.ConnectException: Connection refused
	at d.E.f(E.java:1)
	... 3 more`, `Exception in thread "main" java.lang.RuntimeException: start went wrong (cause: java.net.ConnectException: Connection refused)`},
		{"java: no jar", "Error: Unable to access jarfile server.jar", "Error: Unable to access jarfile server.jar"},
		{"rust: a panic", "thread 'main' panicked at src/main.rs:4:5:\ncalled `Result::unwrap()` on an `Err` value: NotPresent\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", "thread 'main' panicked at src/main.rs:4:5: called `Result::unwrap()` on an `Err` value: NotPresent"},
		{"shell", "sh: 1: mcp-server-x: not found", "sh: 1: mcp-server-x: not found"},
		{"shell: no interpreter", "/usr/bin/env: ‘deno’: No such file or directory", "/usr/bin/env: ‘deno’: No such file or directory"},
		{"npm", "npm warn config old\nnpm error code E404\nnpm error 404 Not Found - GET http://registry.example/nothing - Not found\nnpm error 404\nnpm error A complete log of this run can be found in: /root/.npm/_logs/x.log", "npm error code E404: 404 Not Found - GET http://registry.example/nothing - Not found"},
		{"docker: an image", "Unable to find image 'mcp/x:latest' locally\ndocker: Error response from daemon: pull access denied for mcp/x, repository does not exist\n\nRun 'docker run --help' for more information", "docker: Error response from daemon: pull access denied for mcp/x, repository does not exist"},
		{"docker: no daemon", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"},
		{"uv: no solution", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because nothing-x was not found in the package registry and you require\n      nothing-x, we can conclude that your requirements are unsatisfiable.", "× No solution found when resolving tool dependencies: Because nothing-x was not found in the package registry and you require; nothing-x, we can conclude that your requirements are unsatisfiable."},
		{"uv: a cause", "Installed 12 packages in 8ms\nerror: Failed to spawn: `server-x`\n  Caused by: No such file or directory (os error 2)", "error: Failed to spawn: `server-x` (cause: No such file or directory (os error 2))"},
		{"vietnamese", "Đang khởi động\nLỗi: không kết nối được cơ sở dữ liệu\nTạm biệt", "Lỗi: không kết nối được cơ sở dữ liệu"},
		{"vietnamese: a sentence", "Đang khởi động\nThiếu biến môi trường TOKEN\nTạm biệt", "Thiếu biến môi trường TOKEN"},
		{"chinese", "正在启动\n数据库连接失败\n再见", "数据库连接失败"},
		{"a structured log", `{"level":30,"time":1,"msg":"no error so far"}
{"level":50,"time":2,"msg":"the database is away","err":{"type":"Error","message":"connect ECONNREFUSED 127.0.0.1:5432"}}
{"level":30,"time":3,"msg":"bye"}`, "the database is away: connect ECONNREFUSED 127.0.0.1:5432"},
		{"a structured log with names", `{"severity":"ERROR","message":"the quota is used up"}`, "the quota is used up"},
		{"a structure alone", "{\n  \"code\": 401,\n  \"message\": \"the key is invalid\",\n  \"docs\": \"https://docs.example\"\n}", `"message": "the key is invalid",`},
		{"levels and colours", "\x1b[90m[10:00:00]\x1b[39m \x1b[32mINFO\x1b[39m ready soon\n\x1b[90m[10:00:01]\x1b[39m \x1b[31mERROR\x1b[39m (server): the port is taken", "(server): the port is taken"},
		{"errors that are none", "Server started with 0 errors\nNo errors found\nerror reporting: off\nlistening on stdio", "listening on stdio"},
		{"no error, and a version last", "hello\nDemo MCP Server running on stdio\nNode.js v20.20.2\n}\n", "Demo MCP Server running on stdio"},
		{"python: a log of an exception", `ERROR:root:the sync stopped
Traceback (most recent call last):
  File "/srv/a.py", line 7, in <module>
    open(path)
PermissionError: [Errno 13] Permission denied: '/srv/state'
INFO:root:bye`, "root:the sync stopped (cause: PermissionError: [Errno 13] Permission denied: '/srv/state')"},
		{"java: a log of an exception", `10:00:00.000 [main] ERROR a.b.Main - Startup failed
java.net.BindException: Address already in use
	at a.b.Main.bind(Main.java:12)
10:00:00.100 [main] INFO a.b.Main - bye`, "a.b.Main - Startup failed (cause: java.net.BindException: Address already in use)"},
		{"rust: a cause on a line of its own", "Error: cannot open the index\n\nCaused by:\n    Permission denied (os error 13)", "Error: cannot open the index (cause: Permission denied (os error 13))"},
		{"npm: the sentence after codes", "npm error code ECONNRESET\nnpm error syscall read\nnpm error errno ECONNRESET\nnpm error network request to https://registry.example/x failed, reason: socket hang up\nnpm error network This is a problem related to network connectivity.", "npm error code ECONNRESET: network request to https://registry.example/x failed, reason: socket hang up"},
		{"a structured log that is too long", `{"level":60,"time":1,"err":{"type":"Error","message":"the lease is lost","stack":"Error: the lease is lost` + strings.Repeat(`\n    at f (/srv/a.js:1:1)`, 60) + `"},"msg":"stopped"}`, "the lease is lost"},
		{"a box around the reason", "Usage: x [OPTIONS]\n╭─ Error ─────────────────╮\n│ No such option: --port  │\n╰─────────────────────────╯", "Error: No such option: --port"},
		{"words of failure that mean none", "Using the default settings\nopened /var/log/errors.log\nuncaughtException handler installed\nerror reporting is ready\nthe token is invalid\nbye", "the token is invalid"},
		{"a handler of errors that fails", "Error handling request: the handler is gone\nbye", "Error handling request: the handler is gone"},
		{"a sentence of the system for a failure", "opening\n/srv/run: line 2: /srv/state: No space left on device\nbye", "/srv/run: line 2: /srv/state: No space left on device"},
		{"an option, before all others", "x: unrecognized option '--port'\nUsage: x [options]\n  --host <name>  the host", "x: unrecognized option '--port'"},
		{"a name of the system for a failure", "attempt 1: connect ETIMEDOUT 192.0.2.1:5432\nattempt 2: connect ETIMEDOUT 192.0.2.1:5432\nleaving", "attempt 1: connect ETIMEDOUT 192.0.2.1:5432"},
		{"an error before the fatal word that says nothing", "ERROR the licence is not valid here\nFATAL exiting\n", "the licence is not valid here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			record := lastwords.NewRecord(nil)
			_, _ = record.Write([]byte(tc.text))
			got, _ := lastwords.Why(record.Lines())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
