package command

import "encoding/json"

// View is a built-in command as GET /api/commands and GET /api/explore/commands list it (clients.md 2.9, 4.7).
type View struct{ Builtin }

// builtinType is the type and source of a built-in command.
const builtinType = "builtin"

// MarshalJSON renders the view under both names of its fields.
func (v View) MarshalJSON() ([]byte, error) {
	type form struct {
		Usage       string `json:"usage"`
		Description string `json:"description"`
		Who         string `json:"who"`
		Ephemeral   bool   `json:"ephemeral"`
	}
	forms := make([]form, len(v.Forms))
	for i := range v.Forms {
		f := &v.Forms[i]
		forms[i] = form{v.Usage(f), f.Description, f.Who, f.Private}
	}
	return json.Marshal(struct {
		Name        string `json:"name"`
		Command     string `json:"command"`
		Description string `json:"description"`
		Type        string `json:"type"`
		Source      string `json:"source"`
		Usage       string `json:"usage"`
		Forms       []form `json:"forms"`
	}{v.Name, "/" + v.Name, v.Description, builtinType, builtinType, v.Usage(&v.Forms[0]), forms})
}

// Views shows commands.
func Views(list []Builtin) []View {
	views := make([]View, len(list))
	for i, b := range list {
		views[i] = View{b}
	}
	return views
}
