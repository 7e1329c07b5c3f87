// Package rest is the REST transport: one handler for every plain HTTP request of the service.
//
// Rules that hold for every endpoint, in the order in which a request meets them:
//
//   - Paths: runs of slashes count as one and a slash at the end is ignored, both without a redirect, because a redirected
//     POST loses its body (clients.md 1.1). Unknown paths answer 404 and known paths with a wrong method 405 with Allow,
//     both in JSON. HEAD answers like GET; OPTIONS lists the methods.
//   - Answers are JSON objects or arrays, never empty and never 204 (decision 2). The one exception is a CORS preflight,
//     which is a browser's question and not an API call: 204 without a body. The logout by GET is a redirect, with JSON.
//     GET /metrics is text, as Prometheus reads it, and GET /uploads is a picture; their errors are JSON. The pages of
//     start.go are what their addresses say. Pages and pictures answer 304 without a body to who has them.
//   - Cross-origin access: the service's own and the web front end's pages may send the cookie. Pages of any other origin
//     may call everything with a bearer token, which no browser adds by itself, but never with the cookie: they get
//     "Access-Control-Allow-Origin: *" without credentials. This covers the open agent registration (rest.md,
//     Authentication, rule 4).
//   - Rate limits, then credentials, then the origin of changes made by the cookie alone (decision 6), then the body
//     (decision 3; a route that takes a file instead of JSON reads it by its own Route.body), then the handler.
//   - Every answer carries X-Request-Id, X-Content-Type-Options: nosniff and Cache-Control: no-store: what this API says
//     is private to its caller or changes by the second, and some of it is credentials. Uploaded pictures alone may be
//     kept, and do not change; the pages of start.go may be kept for minutes.
//
// A resource has a file: its bind function on top adds the resource's routes to the one table, each with its description,
// then come the handlers, then the forms of the requests, then the schemas of the answers. What follows from a route's
// rule, method, path and budget (credentials, the usual failures, Retry-After) is added to its description by describe.go.
package rest
