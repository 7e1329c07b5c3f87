// Package asyncapi describes an interface of messages over connections in Go values and renders it as AsyncAPI 3.0. It
// knows two kinds of formats: JSON frames, and packets of Socket.IO. Schemas are those of package openapi.
package asyncapi
