package client

import "testing"

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"@ann": true, "hi @Ann!": true, "(@ANN)": true, "@ann_x @ann": true, "ü@ann": true,
		"": false, "ann": false, "@ann_x": false, "@annb": false, "x@ann": false, "@ann-1": false, "@an": false,
	} {
		if got := Mentions(text, "ann"); got != want {
			t.Errorf("%q mentions ann: %t, want %t", text, got, want)
		}
	}
}
