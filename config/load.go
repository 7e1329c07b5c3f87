package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// sourceDefault is the source of options that nobody set.
const sourceDefault = "default"

// Sources are the places that a configuration comes from.
type Sources struct {
	// Flags are parsed flags that AddFlags made. nil is none.
	Flags *pflag.FlagSet
	// Environ has the form of os.Environ.
	Environ []string
	// HostName names the host. nil means os.Hostname.
	HostName func() (string, error)
	// Random is where the suffix of the instance's name comes from. nil means crypto/rand.
	Random io.Reader
}

// AddFlags adds the flags of the named options to a set, of all options when none is named. Options without a flag are
// left out.
func AddFlags(flags *pflag.FlagSet, names ...string) {
	for _, o := range table {
		if o.Secret || (len(names) > 0 && !slices.Contains(names, o.Name)) {
			continue
		}
		usage := strings.ReplaceAll(o.Usage, "`", "") // pflag gives backticks a meaning of their own
		usage += fmt.Sprintf(" (default: %s; %s)", withoutTicks(o.Default), o.Env())
		if o.List {
			flags.StringSlice(o.Name, nil, usage)
		} else {
			flags.String(o.Name, "", usage)
		}
	}
}

func withoutTicks(s string) string {
	if s == "" {
		return "none"
	}
	return strings.ReplaceAll(s, "`", "")
}

// setting is a value with its source, as it was found.
type setting struct {
	text   string
	source string
}

// Load reads the configuration: flags win over the environment, it over the file, it over the defaults. An empty
// variable or key counts as absent, an empty flag as an empty value. The error joins one *OptionError for each option
// that is wrong, and whatever else is wrong with the file.
func Load(from Sources) (*Config, error) {
	if from.HostName == nil {
		from.HostName = os.Hostname
	}
	if from.Random == nil {
		from.Random = rand.Reader
	}
	c := &Config{text: map[string]string{}, source: map[string]string{}}
	env, warnings := readEnviron(from.Environ)
	c.Warnings = warnings
	flags, err := readFlags(from.Flags)
	if err != nil {
		return nil, err
	}
	var file map[string]setting
	var problems []error
	if at := first("config", flags, env); at.text != "" {
		file, err = readFile(at)
		problems = append(problems, err)
	}
	host := hostFacts{name: from.HostName, random: from.Random}
	for _, o := range table {
		err := c.take(o, first(o.Name, flags, env, file), host)
		if o.derive != nil && c.source[o.Name] == sourceDefault && errors.Join(problems...) != nil {
			continue // what it is derived from is wrong, and reported
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return c, nil
}

// first returns the setting of the first layer that has one, an empty source for none.
func first(name string, layers ...map[string]setting) setting {
	for _, l := range layers {
		if s, ok := l[name]; ok {
			return s
		}
	}
	return setting{}
}

// take gives one option its value: the one found, else its default.
func (c *Config) take(o *Option, found setting, host hostFacts) error {
	if found.source == "" || (found.text == "" && (o.derive != nil || o.Secret)) {
		found = setting{source: sourceDefault}
		switch {
		case o.derive != nil:
			text, err := o.derive(c, host)
			if err != nil {
				return err
			}
			found.text = text
		case !o.Secret:
			found.text = o.Default
		}
	}
	c.text[o.Name], c.source[o.Name] = found.text, found.source
	err := o.set(c, found.text)
	if err == nil {
		return nil
	}
	got := strconv.Quote(found.text)
	switch {
	case o.Secret, o.Masked:
		got = "something else"
	case found.text == "":
		got = "nothing"
	case len(got) > maxQuoted:
		got = fmt.Sprintf("%d characters", len(found.text))
	}
	return &OptionError{Option: o.Name, Source: found.source, Got: got, Want: err.Error()}
}

// maxQuoted is the longest value that an error repeats.
const maxQuoted = 200

// readFlags returns the flags that were given.
func readFlags(flags *pflag.FlagSet) (map[string]setting, error) {
	out := map[string]setting{}
	if flags == nil {
		return out, nil
	}
	for _, o := range table {
		f := flags.Lookup(o.Name)
		if f == nil || !f.Changed {
			continue
		}
		text := f.Value.String()
		if o.List {
			list, err := flags.GetStringSlice(o.Name)
			if err != nil {
				return nil, fmt.Errorf("read the flag --%s: %w", o.Name, err)
			}
			text = strings.Join(list, ",")
		}
		out[o.Name] = setting{text: text, source: "flag --" + o.Name}
	}
	return out, nil
}

// readEnviron returns the options that the environment sets, and a warning for each variable that looks like one.
func readEnviron(environ []string) (map[string]setting, []string) {
	names := make(map[string]string, len(table))
	for _, o := range table {
		names[o.Env()] = o.Name
	}
	out := map[string]setting{}
	var warnings []string
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(key, envPrefix) {
			continue
		}
		name, known := names[key]
		switch {
		case !known:
			warnings = append(warnings, "the environment variable "+key+" is unknown and ignored"+suggest(key, keys(names)))
		case value != "":
			out[name] = setting{text: value, source: "environment variable " + key}
		}
	}
	slices.Sort(warnings)
	return out, warnings
}

func keys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
