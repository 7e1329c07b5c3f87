package agency_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
)

// TestOutsidersLearnNothing: what is wrong in itself is refused to strangers as if there were no agency, so that a wrong
// request is no way to find private ones and direct messages.
func TestOutsidersLearnNothing(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	secret := w.Room(ann, "Secret", true)
	message := w.Post(ann, secret, "hello").ID
	dm, _, err := w.Platform.OpenDM(ctx, ann, bob.ID)
	if err != nil {
		t.Fatal(err)
	}
	if dm.AgencyID != agency.DMID(ann.ID, bob.ID) {
		t.Fatal("the id of a direct message does not follow from its accounts")
	}
	long := strings.Repeat("x", 1<<17)
	post := func(m agency.NewMessage) any { return agency.Post{Who: eve.Sender, NewMessage: m} }
	wrong := map[string]any{
		"post nothing":              post(agency.NewMessage{Content: " "}),
		"post much":                 post(agency.NewMessage{Content: long}),
		"post of an unknown type":   post(agency.NewMessage{Content: "x", Type: "zz"}),
		"post with bad metadata":    post(agency.NewMessage{Content: "x", Metadata: json.RawMessage("[1]")}),
		"post with a long clientId": post(agency.NewMessage{Content: "x", ClientID: long}),
		"post a reply to nothing":   post(agency.NewMessage{Content: "x", ReplyTo: "zz"}),
		"edit into nothing":         agency.EditMessage{Who: eve.Sender, MessageID: message, Content: " "},
		"react with no emoji":       agency.React{Who: eve.Sender, MessageID: message, Emoji: "x"},
		"take back no emoji":        agency.React{Who: eve.Sender, MessageID: message, Emoji: "", Remove: true},
		"invite nobody":             agency.CreateInvite{By: eve.Sender, Code: agency.NewInviteCode(), MaxUses: most(0)},
		"invite never":              agency.CreateInvite{By: eve.Sender, Code: agency.NewInviteCode(), Expires: "zz"},
		"ban with a long reason":    agency.Ban{By: eve.Sender, Target: ann.Sender, Reason: long},
		"ban for no time":           agency.Ban{By: eve.Sender, Target: ann.Sender, Expires: "zz"},
		"make a user an agent":      agency.SetRole{By: eve.Sender, Target: ann.Sender, Role: agency.AgentRole},
		"note nothing":              agency.SaveNote{By: eve.Sender},
	}
	ask := func(id string, command any) string {
		_, err := kernel.Ask[any](ctx, w.Platform.Directory, agency.Ref(id), command)
		actortest.Wants(t, "no answer", err, kernel.CodeNotFound)
		return kernel.AsError(err).Message
	}
	for name, command := range wrong {
		want := ask(uuid.NewString(), command)
		for kind, id := range map[string]string{"a private agency": secret, "a direct message": dm.AgencyID} {
			if got := ask(id, command); got != want {
				t.Errorf("%s in %s: %q, and %q where there is none", name, kind, got, want)
			}
		}
	}
	// those who are in it are told what is wrong
	for _, who := range []account.Sender{ann.Sender, bob.Sender} {
		_, err := kernel.Ask[any](ctx, w.Platform.Directory, agency.Ref(dm.AgencyID), agency.Post{Who: who})
		actortest.Wants(t, "a participant", err, kernel.CodeInvalid)
	}
}
