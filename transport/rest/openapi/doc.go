// Package openapi describes an HTTP interface as Go values and renders them as an OpenAPI 3.1 document and as a page for
// people. It knows nothing of what is described.
//
// Schemas are values made by Text, Object and their like; a method of a Schema returns a changed copy. A schema with a
// name becomes a component of the document wherever it is used, so that nothing has to be registered.
package openapi
