package config

import (
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
)

const (
	// maxHostPart is how much of the host's name goes into the name of the instance.
	maxHostPart = 48
	// suffixBytes of randomness tell apart the servers of one host and the lives of one server.
	suffixBytes = 4
)

var notInstance = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// instanceName is the host's name and a random suffix. A host that does not know its name is "server".
func instanceName(host hostFacts) (string, error) {
	suffix := make([]byte, suffixBytes)
	if _, err := io.ReadFull(host.random, suffix); err != nil {
		return "", fmt.Errorf("make a name for the instance: %w", err)
	}
	name, err := host.name()
	name = notInstance.ReplaceAllString(name, "-")
	if err != nil || name == "" {
		name = "server"
	}
	return name[:min(len(name), maxHostPart)] + "-" + hex.EncodeToString(suffix), nil
}
