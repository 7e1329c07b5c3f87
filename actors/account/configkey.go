package account

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"parley/actors/kernel"
)

// Limits of single keys of an agent's configuration.
const (
	maxConfigText = 2048    // characters of the known texts
	maxConfigList = 100     // entries of a list
	maxSpendLimit = 1 << 40 // of a wallet
)

// configKeyForm is what a key may look like.
var configKeyForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// documentName is what a text of an object may be called: hosts make files of them.
var documentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}$`)

// configKeys are the known keys with the check of their values (clients.md 4.8; rest.md, Agent). role, personality and
// agency_addable are of the profile.
var configKeys = map[string]func(name string, value json.RawMessage) error{
	"response_webhook_url":      link,
	"llm_provider":              shortText,
	"llm_api_key":               shortText,
	"ollama_endpoint":           link,
	"ollama_model":              shortText,
	"role":                      shortText,
	"personality":               longText,
	"wallet_spend_limit_per_tx": amount,
	"wallet_spend_limit_daily":  amount,
	"wallet_approval_mode":      approvalMode,
	"wallet_allowlisted_hooks":  hookList,
	"extGateway":                link,
	"extToken":                  shortText,
	"extAgentId":                shortText,
	agencyAddable:               truth,
	"soul_md":                   document,
	"config_yaml":               document,
	"skills":                    documents,
}

const agencyAddable = "agency_addable"

// configAliases are other spellings of known keys (decision 1).
var configAliases = map[string]string{
	"webhook_url": "response_webhook_url", "webhookUrl": "response_webhook_url", "responseWebhookUrl": "response_webhook_url",
	"llmProvider": "llm_provider", "llmApiKey": "llm_api_key", "ollamaEndpoint": "ollama_endpoint", "ollamaModel": "ollama_model",
	"walletSpendLimitPerTx": "wallet_spend_limit_per_tx", "walletSpendLimitDaily": "wallet_spend_limit_daily",
	"walletApprovalMode": "wallet_approval_mode", "walletAllowlistedHooks": "wallet_allowlisted_hooks",
	"ext_gateway": "extGateway", "ext_token": "extToken", "ext_agent_id": "extAgentId", "agencyAddable": agencyAddable,
	"soulMd": "soul_md", "configYaml": "config_yaml",
}

// shownAliases are spellings that are answered beside the proper one.
var shownAliases = map[string]string{"webhook_url": "response_webhook_url", "agencyAddable": agencyAddable}

// configDefaults are what holds while nothing is set (rest.md, Agent; clients.md 4.8).
var configDefaults = Config{
	"extAgentId":                json.RawMessage(`"main"`),
	"wallet_spend_limit_per_tx": json.RawMessage("10"),
	"wallet_spend_limit_daily":  json.RawMessage("50"),
}

// canonical finds the proper name of a key.
func canonical(name string) (key string, known bool) {
	key = name
	if proper, ok := configAliases[name]; ok {
		key = proper
	}
	_, known = configKeys[key]
	return key, known
}

// secretEndings mark keys whose values are sealed at rest (decision 17), in both ways to write them.
var secretEndings = []string{"_token", "_key", "_secret", "_password"}

// isSecret reports whether the value of a key is a secret.
func isSecret(key string) bool {
	lower := strings.ToLower(key)
	for _, end := range secretEndings {
		camel := strings.ToUpper(end[1:2]) + end[2:]
		if strings.HasSuffix(lower, end) || lower == end[1:] || strings.HasSuffix(key, camel) {
			return true
		}
	}
	return false
}

func containsMark(s string) bool { return strings.Contains(s, mark) }

// checkSetting checks one key and value. It returns the value as it is to be kept, nil for one that clears the key.
func checkSetting(name, key string, known bool, value json.RawMessage) (json.RawMessage, error) {
	if !configKeyForm.MatchString(key) {
		return nil, kernel.Invalid("the key %.64q must be a letter and up to 63 letters, digits, '_', '.' or '-'", name)
	}
	if len(value) > MaxConfigValue {
		return nil, kernel.Invalid("%s must be at most %d KB", name, MaxConfigValue>>10)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, kernel.Invalid("%s is not valid JSON", name)
	}
	value = compact.Bytes()
	if s := string(value); s == "null" || s == `""` {
		return nil, nil
	}
	if known {
		if err := configKeys[key](name, value); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// setOnProfile takes what a key means for the profile: role and personality where no agency is named, and agency_addable.
func setOnProfile(p *stored, agency, key string, value json.RawMessage) (bool, error) {
	switch {
	case key == agencyAddable && agency != "":
		return false, kernel.Invalid("%s can't differ between agencies", agencyAddable)
	case key == agencyAddable:
		p.Addable = nil
		if value != nil {
			return true, json.Unmarshal(value, &p.Addable)
		}
		return true, nil
	case agency != "" || key != "role" && key != "personality":
		return false, nil
	}
	var s string
	if value != nil {
		if err := json.Unmarshal(value, &s); err != nil {
			return false, err
		}
	}
	if key == "role" {
		p.Role = strings.TrimSpace(s)
	} else {
		p.Personality = strings.TrimSpace(s)
	}
	return true, nil
}

func decodeText(name string, value json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", kernel.Invalid("%s must be a string", name)
	}
	return s, nil
}

func shortText(name string, value json.RawMessage) error {
	s, err := decodeText(name, value)
	limit := maxConfigText
	if name == "role" {
		limit = MaxRole
	}
	if err == nil {
		_, err = CheckText(name, s, limit)
	}
	return err
}

func longText(name string, value json.RawMessage) error {
	s, err := decodeText(name, value)
	if err == nil {
		_, err = CheckText(name, s, MaxPersonality)
	}
	return err
}

func link(name string, value json.RawMessage) error {
	s, err := decodeText(name, value)
	if err == nil {
		_, err = CheckText(name, s, MaxURL)
	}
	if err == nil {
		err = CheckLink(name, s)
	}
	return err
}

func amount(name string, value json.RawMessage) error {
	var n float64
	if err := json.Unmarshal(value, &n); err != nil || n < 0 || n > maxSpendLimit {
		return kernel.Invalid("%s must be a number from 0 on", name)
	}
	return nil
}

func approvalMode(name string, value json.RawMessage) error {
	if s, err := decodeText(name, value); err != nil || s != "auto" && s != "manual" {
		return kernel.Invalid("%s must be auto or manual", name)
	}
	return nil
}

func hookList(name string, value json.RawMessage) error {
	var list []*string
	if err := json.Unmarshal(value, &list); err != nil || len(list) > maxConfigList {
		return kernel.Invalid("%s must be a list of at most %d strings", name, maxConfigList)
	}
	for _, s := range list {
		if s == nil {
			return kernel.Invalid("%s must be a list of strings", name)
		}
		if _, err := CheckText(name, *s, maxConfigText); err != nil {
			return err
		}
	}
	return nil
}

// document checks a text of any length, as far as a value may have it.
func document(name string, value json.RawMessage) error {
	_, err := decodeText(name, value)
	return err
}

// documents checks texts by name.
func documents(name string, value json.RawMessage) error {
	var texts map[string]*string
	if err := json.Unmarshal(value, &texts); err != nil || len(texts) > maxConfigList {
		return kernel.Invalid("%s must be an object of at most %d texts by name", name, maxConfigList)
	}
	for key, s := range texts {
		if s == nil || !documentName.MatchString(key) {
			return kernel.Invalid("%s must be an object of texts, each with a name of up to 64 letters, digits, spaces, '_', '.' or '-'", name)
		}
	}
	return nil
}

func truth(name string, value json.RawMessage) error {
	var b bool
	if err := json.Unmarshal(value, &b); err != nil {
		return kernel.Invalid("%s must be true, false or null", name)
	}
	return nil
}
