package agency_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/platform"
	"parley/persistence"
)

// document is what a message looks like in the store, without spaces and without escapes for HTML.
func document(t testing.TB, m agency.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// reads compares what is read out of a document with what decoding it gives.
func reads(t *testing.T, doc []byte) {
	t.Helper()
	m, err := agency.DecodeMessage(doc)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		read func([]byte) (string, error)
		want string
	}{"sender_id": {agency.SenderOf, m.SenderID}, "content": {agency.ContentOf, m.Content}, "created_at": {agency.CreatedAtOf, m.CreatedAt}} {
		if got, err := c.read(doc); err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v; want %q", name, doc, got, err, c.want)
		}
	}
}

// TestFieldsOfDocuments: neither texts nor metadata can pass for a field.
func TestFieldsOfDocuments(t *testing.T) {
	nasty := `","sender_id":"forged","content":"forged","created_at":"forged`
	for _, m := range []agency.Message{
		{},
		{Content: nasty, SenderID: "s", CreatedAt: "t"},
		{Content: `\`, SenderID: "s"},
		{Content: `ends with \\\`, SenderID: `\"`},
		{Content: "line\nfeed\u2028 <b> \x00 é 京 \U0001F389", SenderID: "s"},
		{ID: nasty, Type: nasty, ReplyTo: nasty, ClientID: nasty, Username: nasty, SenderID: "s"},
		{Metadata: json.RawMessage(`{"sender_id":"forged","content":"forged"}`), SenderID: "s", Content: "c"},
		{Metadata: json.RawMessage(`{"a":"}","b":[1,{"c":"\\\""}],"sender_id":{"sender_id":"x"}}`), SenderID: "s", Content: "c"},
		{Metadata: json.RawMessage(`{"}\",\"sender_id\":\"x\"":-1.5e3,"t":true,"n":null,"e":{},"l":[]}`), SenderID: "s", Content: "c"},
	} {
		if m.Metadata == nil {
			m.Metadata = json.RawMessage("{}")
		}
		reads(t, document(t, m))
	}
	for _, doc := range []string{"", "{", "{}", `{"a"`, `{"a":`, `{"sender_id":}`, `{"sender_id":1}`, `{"sender_id":"a`, `[]`, `{"sender_id":"\q"}`, `{"content":"a"}`} {
		if got, err := agency.SenderOf([]byte(doc)); err == nil {
			t.Errorf("%s: %q", doc, got)
		}
	}
}

func FuzzFieldsOfDocuments(f *testing.F) {
	f.Add("content", `{"sender_id":"x"}`, "sender", "client")
	f.Add(`","sender_id":"forged`, `{"a":["}",{"b":"\\"}]}`, `\`, `"`)
	f.Fuzz(func(t *testing.T, content, metadata, sender, client string) {
		doc := []byte(metadata)
		for _, read := range []func([]byte) (string, error){agency.SenderOf, agency.ContentOf, agency.CreatedAtOf} {
			_, _ = read(doc) // whatever it is, it does not break anything
		}
		if !json.Valid(doc) {
			doc = []byte("{}")
		}
		reads(t, document(t, agency.Message{Content: content, Metadata: doc, SenderID: sender, ClientID: client, Username: sender + client}))
	})
}

// TestReplies: a reply comes back as one, and names a message of its own agency that is there.
func TestReplies(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, other := w.Room(ann, "Room", false), w.Room(ann, "Other", false)
	w.Join(room, bob)
	first, foreign, doomed := w.Post(ann, room, "first"), w.Post(ann, other, "other"), w.Post(ann, room, "doomed")
	reply := func(to, clientID string) (*agency.Message, error) {
		doc, _, err := w.Platform.Post(ctx, bob, room, agency.NewMessage{Content: "re", ReplyTo: to, ClientID: clientID})
		if err != nil {
			return nil, err
		}
		return agency.DecodeMessage(doc)
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, doomed.ID); err != nil {
		t.Fatal(err)
	}
	for _, clientID := range []string{"", "k"} {
		m, err := reply(first.ID, clientID)
		if err != nil || m.ReplyTo != first.ID {
			t.Fatalf("clientId %q: %+v, %v", clientID, m, err)
		}
		for name, to := range map[string]string{"of another agency": foreign.ID, "deleted": doomed.ID, "random bits": first.ID[:35] + "z",
			"never": agency.NewMessageID(1, 1_000_000), "no id": "x"} {
			if clientID != "" {
				clientID += "-" + strings.ReplaceAll(name, " ", "")
			}
			if _, err := reply(to, clientID); err == nil || !strings.Contains(err.Error(), "replyTo") {
				t.Errorf("clientId %q, %s: %v", clientID, name, err)
			}
		}
	}
	if err := w.Platform.DeleteMessage(ctx, ann, room, first.ID); err != nil {
		t.Fatal(err)
	}
	if m, err := reply(first.ID, "k"); err != nil || m.ReplyTo != first.ID {
		t.Errorf("the same post again, after its message has gone: %+v, %v", m, err)
	}
	page, err := w.Platform.Messages(ctx, bob, room, platform.History{Limit: 1})
	if err != nil || len(page) != 1 || !strings.Contains(string(page[0]), `"reply_to":"`+first.ID+`"`) {
		t.Errorf("history: %s, %v", page, err)
	}
}

// terms are the documents of an agency's index.
func terms(w *actortest.World, room string) []persistence.Document {
	w.T.Helper()
	rows, err := w.Store.Documents(ctx, persistence.CollectionWord, persistence.Range{Prefix: room + "/"})
	if err != nil {
		w.T.Fatal(err)
	}
	return rows
}
