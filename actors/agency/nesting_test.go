package agency

import (
	"strings"
	"testing"
)

func TestMetadataNesting(t *testing.T) {
	deep := func(n int) []byte { return []byte(`{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`) }
	if _, err := checkMetadata(deep(MaxNesting - 1)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := checkMetadata(deep(MaxNesting)); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := checkMetadata([]byte(`{"a":"` + strings.Repeat(`[{\"`, 500) + `"}`)); err != nil {
		t.Errorf("brackets in a text: %v", err)
	}
}
