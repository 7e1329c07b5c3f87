package platform

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"strings"
	texttemplate "text/template"
	"time"
	"unicode/utf8"

	"parley/actors/account"
)

// maxMailName is the number of characters of a name that a mail repeats.
const maxMailName = 64

var claimText = texttemplate.Must(texttemplate.New("text").Parse(`Hello,

{{.User}} wants to become the owner of the agent {{.Name}} (@{{.Handle}}).

If this is you, open this link:

{{.Link}}

It works until {{.Until}}. If you know nothing of this, do nothing: without the link nothing happens.
`))

var claimHTML = htmltemplate.Must(htmltemplate.New("html").Parse(`<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif">
<p>Hello,</p>
<p>{{.User}} wants to become the owner of the agent <strong>{{.Name}}</strong> (@{{.Handle}}).</p>
<p>If this is you: <a href="{{.Link}}">claim the agent</a>.</p>
<p>The link works until {{.Until}}. If you know nothing of this, do nothing: without the link nothing happens.</p>
</body></html>
`))

// claimMail writes the mail of a claim.
func claimMail(agent, user *account.Profile, link string, m *account.ClaimMail) (Mail, error) {
	about := struct{ User, Name, Handle, Link, Until, Subject string }{
		User: user.Username, Name: oneLine(agent.DisplayName), Handle: agent.Username, Link: link,
		Until:   time.UnixMilli(m.Expires).UTC().Format("15:04 on 2 January 2006 (UTC)"),
		Subject: "Claim the agent " + oneLine(agent.DisplayName),
	}
	var text, html bytes.Buffer
	if err := claimText.Execute(&text, about); err != nil {
		return Mail{}, fmt.Errorf("write the mail: %w", err)
	}
	if err := claimHTML.Execute(&html, about); err != nil {
		return Mail{}, fmt.Errorf("write the mail: %w", err)
	}
	return Mail{To: m.Email, Subject: about.Subject, Text: text.String(), HTML: html.String()}, nil
}

// oneLine makes a name fit into a header and a sentence. Agents choose their names themselves: one that holds an address
// is not repeated, so that mail of ours does not carry links of theirs.
func oneLine(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	if strings.Contains(name, "://") || strings.Contains(strings.ToLower(name), "www.") {
		return "with an address for a name"
	}
	if utf8.RuneCountInString(name) > maxMailName {
		name = string([]rune(name)[:maxMailName]) + "…"
	}
	return name
}
