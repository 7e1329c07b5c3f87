package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"parley/transport/rest/openapi"
)

//go:embed welcome.html
var welcomeText string

var welcomeTemplate = template.Must(template.New("welcome").Parse(welcomeText))

// renderWelcome makes the page for a person whose browser has come to the service's address.
func renderWelcome(base string) ([]byte, error) {
	var b bytes.Buffer
	err := welcomeTemplate.Execute(&b, struct {
		Base  string
		Style template.CSS
	}{base, openapi.Style})
	if err != nil {
		return nil, fmt.Errorf("welcome: %w", err)
	}
	return b.Bytes(), nil
}
