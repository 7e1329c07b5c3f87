package account

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"parley/actors/kernel"
)

// Limits of an agent's configuration.
const (
	// MaxConfigKeys is the number of keys for all agencies together, and as many again for each agency.
	MaxConfigKeys = 100
	// MaxConfigAgencies is the number of agencies with overrides.
	MaxConfigAgencies = 100
	// MaxConfigValue is the largest value of one key in bytes of JSON.
	MaxConfigValue = 64 << 10
	// MaxConfigBytes is the size of everything that is configured of one agent, in bytes of keys and JSON.
	MaxConfigBytes = 512 << 10
)

// mark stands for the hidden part of a secret (decision 17). Nothing that has it in it is taken for a secret.
const (
	mark     = "…"
	maskHead = 3  // characters of a secret that stay visible at its beginning
	maskTail = 4  // and at its end
	maskFrom = 12 // shorter secrets are hidden whole
)

// setting is the value of one key: in clear, or sealed if it is a secret.
type setting struct {
	Value  json.RawMessage `json:"v,omitempty"`
	Sealed []byte          `json:"s,omitempty"`
}

func (s setting) size() int { return len(s.Value) + len(s.Sealed) }

// settings are the values of one agency, or of all.
type settings map[string]setting

// configuration is the body of the event configured.
type configuration struct {
	Agency string   `json:"a,omitempty"` // empty: for all agencies
	Set    settings `json:"s,omitempty"`
	Clear  []string `json:"c,omitempty"`
}

func (c *configuration) empty() bool { return len(c.Set) == 0 && len(c.Clear) == 0 }

// apply changes the settings by an event's body. What was there is not touched, since views may still be made of it.
func (c *configuration) apply(all map[string]settings) map[string]settings {
	next := maps.Clone(all)
	if next == nil {
		next = map[string]settings{}
	}
	of := maps.Clone(next[c.Agency])
	if of == nil {
		of = settings{}
	}
	maps.Copy(of, c.Set)
	for _, key := range c.Clear {
		delete(of, key)
	}
	next[c.Agency] = of
	if len(of) == 0 {
		delete(next, c.Agency)
	}
	return next
}

// Config is an agent's configuration as it is shown: JSON values by key.
type Config map[string]json.RawMessage

// GetConfig asks for an agent's configuration. It answers with a Config: to the agent itself with its secrets in clear,
// to its owner with them masked; others are refused (decision 17).
type GetConfig struct {
	By       string
	AgencyID string // empty: without overrides
}

// SetConfig changes an agent's configuration; its owner may. It answers with the new Config, masked. null and the empty
// text clear a key; a masked secret that comes back leaves the secret as it is.
type SetConfig struct {
	By       string
	AgencyID string // empty: for all agencies; else overrides for this one
	Values   map[string]json.RawMessage
}

func (a *Account) getConfig(t *kernel.Turn, c GetConfig) {
	own := c.By == t.ID() && a.s.Type == Agent
	if err := a.ownedBy(c.By); err != nil && !own {
		t.Fail(err)
		return
	}
	view := a.showConfig(t, &a.s.stored, a.s.Config, c.AgencyID, own)
	t.AfterCommits(func() { t.Reply(view) })
}

func (a *Account) setConfig(t *kernel.Turn, c SetConfig) {
	if err := a.ownedBy(c.By); err != nil {
		t.Fail(err)
		return
	}
	next := a.s.stored
	body, err := a.planConfig(t, &next, c.AgencyID, c.Values)
	if err != nil {
		t.Fail(err)
		return
	}
	all := body.apply(a.s.Config)
	if err := checkConfigSize(all, c.AgencyID); err != nil && len(body.Set) > 0 {
		t.Fail(err)
		return
	}
	var change kernel.Change
	if !body.empty() {
		change.Events = append(change.Events, event(configured, body))
	}
	if next != a.s.stored {
		p := Profile(next)
		change.Events = append(change.Events, event(profileUpdated, next))
		change.Documents = append(change.Documents, profileDocuments(t.ID(), a.profile(), &p)...)
	}
	view := a.showConfig(t, &next, all, c.AgencyID, false)
	if len(change.Events) == 0 {
		t.AfterCommits(func() { t.Reply(view) })
		return
	}
	t.Commit(change, func() { t.Reply(view) }, nil)
}

// planConfig checks values and turns them into the body of an event; what belongs to the profile is changed in p.
func (a *Account) planConfig(t *kernel.Turn, p *stored, agency string, values map[string]json.RawMessage) (configuration, error) {
	body := configuration{Agency: agency}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, known := canonical(name)
		if _, twice := values[key]; twice && key != name {
			continue // given by its proper name too, which counts
		}
		value, err := checkSetting(name, key, known, values[name])
		if err != nil {
			return body, err
		}
		if onProfile, err := setOnProfile(p, agency, key, value); onProfile || err != nil {
			if err != nil {
				return body, err
			}
			continue
		}
		if err := a.planSetting(t, &body, name, key, value); err != nil {
			return body, err
		}
	}
	return body, nil
}

// planSetting adds one checked value to the body; nil clears the key.
func (a *Account) planSetting(t *kernel.Turn, body *configuration, name, key string, value json.RawMessage) error {
	old, there := a.s.Config[body.Agency][key]
	switch {
	case value == nil && there:
		body.Clear = append(body.Clear, key)
		return nil
	case value == nil:
		return nil
	case body.Set == nil:
		body.Set = settings{}
	}
	if !isSecret(key) {
		if !there || string(old.Value) != string(value) {
			body.Set[key] = setting{Value: value}
		}
		return nil
	}
	var secret string
	if err := json.Unmarshal(value, &secret); err != nil {
		return kernel.Invalid("%s must be a string", name)
	}
	agency := body.Agency
	if _, overridden := a.s.Config[agency][key]; !overridden {
		agency = ""
	}
	if current, ok := a.secret(t, agency, key); ok && secret == maskSecret(current) {
		return nil
	}
	if containsMark(secret) {
		return kernel.Invalid("%s is a masked secret that is not this one; give the whole secret", name)
	}
	body.Set[key] = setting{Sealed: a.ports.Sealer.Seal(configPurpose(t.ID(), body.Agency, key), secret)}
	return nil
}

// secret opens a sealed value. One that does not open is as good as none.
func (a *Account) secret(t *kernel.Turn, agency, key string) (string, bool) {
	s, there := a.s.Config[agency][key]
	if !there || s.Sealed == nil {
		return "", false
	}
	return a.open(t, agency, key, s.Sealed)
}

func (a *Account) open(t *kernel.Turn, agency, key string, sealed []byte) (string, bool) {
	plain, err := a.ports.Sealer.Open(configPurpose(t.ID(), agency, key), sealed)
	if err != nil {
		t.System().Log.Error("agent's secret can't be unsealed", "agent", t.ID(), "key", key, "error", err)
		return "", false
	}
	return plain, true
}

// showConfig is the configuration that holds in an agency, from defaults, profile, general settings and overrides.
func (a *Account) showConfig(t *kernel.Turn, p *stored, all map[string]settings, agency string, clear bool) Config {
	view := Config{"role": text(p.Role), "personality": text(p.Personality), "agency_addable": addable(p.Addable)}
	maps.Copy(view, configDefaults)
	scopes := []string{""}
	if agency != "" {
		scopes = append(scopes, agency)
	}
	for _, scope := range scopes {
		for key, s := range all[scope] {
			if s.Sealed == nil {
				view[key] = s.Value
				continue
			}
			secret, ok := a.open(t, scope, key, s.Sealed)
			switch {
			case !ok:
				delete(view, key)
			case clear:
				view[key] = text(secret)
			default:
				view[key] = text(maskSecret(secret))
			}
		}
	}
	for alias, key := range shownAliases {
		if v, there := view[key]; there {
			view[alias] = v
		}
	}
	return view
}

// maskSecret shows enough of a secret to recognise it.
func maskSecret(secret string) string {
	if utf8.RuneCountInString(secret) < maskFrom {
		return mark
	}
	runes := []rune(secret)
	return string(runes[:maskHead]) + mark + string(runes[len(runes)-maskTail:])
}

// checkConfigSize holds what would be configured against the limits.
func checkConfigSize(all map[string]settings, agency string) error {
	total := 0
	for _, scope := range all {
		for key, s := range scope {
			total += len(key) + s.size()
		}
	}
	switch {
	case len(all[agency]) > MaxConfigKeys:
		return kernel.Invalid("an agent's configuration can have %d keys at most", MaxConfigKeys)
	case agency != "" && len(all) > MaxConfigAgencies:
		return kernel.Invalid("an agent can have overrides for %d agencies at most", MaxConfigAgencies)
	case total > MaxConfigBytes:
		return kernel.Invalid("an agent's configuration can have %d KB at most", MaxConfigBytes>>10)
	}
	return nil
}

// text is a string in JSON.
func text(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}

func addable(b *bool) json.RawMessage {
	switch {
	case b == nil:
		return json.RawMessage("null")
	case *b:
		return json.RawMessage("true")
	default:
		return json.RawMessage("false")
	}
}
