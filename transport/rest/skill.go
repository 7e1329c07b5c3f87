package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/session"
	"parley/transport/realtime/conn"
)

//go:embed skill.md
var skillText string

var skillTemplate = template.Must(template.New("skill").Parse(skillText))

// renderSkill makes the guide for agents (rest.md, Agents).
func renderSkill(base string) ([]byte, error) {
	var b bytes.Buffer
	err := skillTemplate.Execute(&b, map[string]any{
		"Base": base, "Requests": RequestsPerMinute, "Rate": conn.DefaultRate, "Burst": conn.DefaultBurst,
		"Connections": session.MaxConnections, "Content": agency.MaxContent, "Metadata": agency.MaxMetadata >> 10, "ClientID": agency.MaxClientID,
		"Page": maxMessages, "MinName": account.MinUsername, "MaxName": account.MaxUsername,
	})
	if err != nil {
		return nil, fmt.Errorf("skill: %w", err)
	}
	return b.Bytes(), nil
}
