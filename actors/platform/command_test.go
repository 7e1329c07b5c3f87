package platform_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
	"parley/persistence/storetest"
)

// typed executes a command as a user would type it.
func typed(w *actortest.World, who *platform.Identity, room, text string) (command.Result, error) {
	return w.Platform.Command(ctx, platform.Invoke{Who: who, AgencyID: room, Message: agency.NewMessage{Content: text}})
}

// latest returns the newest message of a room.
func latest(t *testing.T, w *actortest.World, room string) *agency.Message {
	t.Helper()
	rows, err := w.Store.Documents(ctx, persistence.CollectionMessage, persistence.Range{Prefix: room + "/", Limit: 1, Reverse: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		return &agency.Message{}
	}
	m, err := agency.DecodeMessage(rows[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// utterance is a step of a scenario: who says what, and what comes back.
type utterance struct {
	who  *platform.Identity
	text string
	want string // a regular expression; a refusal's begins with "!"
}

// checkSaid takes one step and checks all that holds for every result.
func checkSaid(t *testing.T, w *actortest.World, room string, s utterance) command.Result {
	t.Helper()
	before := latest(t, w, room)
	r, err := typed(w, s.who, room, s.text)
	if err != nil {
		t.Fatalf("%s: %v", s.text, err)
	}
	want, refused := strings.CutPrefix(s.want, "!")
	if r.OK == refused || !regexp.MustCompile(`(?s)^`+want+`$`).MatchString(r.Content) {
		t.Errorf("%.60s\n got %v %q\nwant %q", s.text, r.OK, r.Content, s.want)
	}
	i := command.Parse(s.text)
	m := latest(t, w, room)
	shown := m.ID != before.ID
	b := command.Find(i.Name)
	private := refused
	if b != nil && !refused {
		f, _ := b.Form(i.Args)
		private = f.Private
	}
	switch {
	case r.Command != i.Shown(), r.Ephemeral != private, shown == private, shown != (r.MessageID != ""):
		t.Errorf("%.60s: %+v, posted: %t", s.text, r, shown)
	case !shown && r.Type != command.System:
		t.Errorf("%.60s: type %s", s.text, r.Type)
	case shown && (m.ID != r.MessageID || m.Content != r.Content || m.SenderID != s.who.ID || !strings.Contains(string(m.Metadata), `"command":"`+r.Command+`"`)):
		t.Errorf("%.60s was posted as %+v", s.text, m)
	case shown && strings.Contains(m.Content, "sk_"):
		t.Errorf("%.60s put a token into the room", s.text)
	}
	return r
}

// TestEveryCommand: good, wrong and forbidden uses of every built-in command, in their order.
func TestEveryCommand(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve, mod := w.User("Ann"), w.User("bob"), w.User("eve"), w.User("mod")
	room := w.Room(ann, "Ann's Reef", false)
	w.Join(room, bob, eve, mod)
	w.Room(bob, "Bob's den", true)
	const token, at = `sk_[0-9a-f]{48}`, `2026-01-\d\dT00:00:00\.\d{3}Z`
	for _, s := range []utterance{
		{bob, "/help", `(/[a-z]+ — [^\n—]+\n){20,}/whoami — show who you are here`},
		{bob, "/HELP /roll", `/roll \[count\]d<sides>\[\+bonus\] — roll dice.*`},
		{bob, "/help agent", `(/agent [a-z]+.* — [^\n]+\n?){6}`},
		{bob, "/help frob", `!There is no command /frob; /help lists them\.`},
		{bob, "/custom", `There are no custom commands in this agency\.`},
		{bob, "/who", `Ann — owner\nbob — member\neve — member\nmod — member`},
		{bob, "/whoami", `You are bob \(bob\), a user with the role member in Ann's Reef\. Your id is [0-9a-f-]{36}\.`},
		{bob, `/echo  hello "two  words" --flag /roll`, `hello "two  words" --flag /roll`},
		{bob, "/echo", `!Usage: /echo <text>`},
		{bob, "/roll 2d6", `2d6: ([1-6]) \+ ([1-6]) = \d+`},
		{bob, "/roll", `d6: [1-6]`},
		{bob, "/roll D20", `d20: (1?[0-9]|20)`},
		{bob, "/roll 3d6 + 2", `3d6\+2: [1-6] \+ [1-6] \+ [1-6] \+ 2 = \d+`},
		{bob, "/roll d2-1", `d2-1: [12] - 1 = [01]`},
		{bob, "/roll 100d1000+10000", `100d1000\+10000: .*`},
		{bob, "/roll 101d6", `!Roll 1 to 100 dice.*`}, {bob, "/roll 0d6", `!Roll 1 to 100 dice.*`}, {bob, "/roll d1", `!Roll 1.*`}, {bob, "/roll d1001", `!Roll 1.*`},
		{bob, "/roll d6+99999", `!Roll 1.*`}, {bob, "/roll dice", `!Usage: /roll.*`}, {bob, "/roll 99999999d99999999", `!Usage: /roll.*`}, {bob, "/roll -1d6", `!Usage.*`},
		{bob, `/me waves "hello"`, `waves "hello"`}, {bob, "/me", `!Usage: /me <action>`},
		{bob, "/ping", `pong`}, {bob, "/time", at},

		{bob, "/notes", `There are no notes in this agency\.`},
		{bob, "/save repo ann/reef main", `Saved repo\.`}, {ann, "/get repo", `ann/reef main`},
		{bob, `/save json {"owner": "ann",  "repo": "reef"}`, `Saved json\.`}, {bob, "/get json", `{owner: ann,  repo: reef}`},
		{bob, "/save cmd git push\n\t--force", `Saved cmd\.`}, {bob, "/get cmd extra", "git push\n\t--force"},
		{bob, "/save é/ü " + strings.Repeat("ö ", 100), `Saved é/ü\.`},
		{bob, "/notes", `cmd — git push --force\njson — {owner: ann, repo: reef}\nrepo — ann/reef main\né/ü — (ö ){40}…`},
		{bob, "/get none", `!There is no such note\.`}, {bob, "/get", `!Usage: /get <key>`}, {bob, "/save repo", `!Usage: /save <key> <value>`},
		{bob, `/save "a b" x`, `!The key of a note must be one word.*`}, {bob, `/save a ""`, `!Content must not be empty\.`},
		{ann, "/clearnote repo", `Deleted the note repo\.`}, {bob, "/clearnote repo", `!There is no such note\.`}, {bob, "/clearnote", `!Usage.*`},

		{ann, `/agent create "My Bot" code reviewer --persona "short and dry"`, `Created the agent my-bot\..*\nAgent token: ` + token},
		{ann, "/agent create my-bot", `!The name "my-bot" is taken\.`}, {ann, "/agent create", `!Usage: /agent create.*`}, {ann, "/agent create --persona x", `!Usage.*`}, {ann, "/agent create !", `!Name must.*`},
		{ann, "/agent details my-bot", `Name: my-bot\nId: .*\nStatus: unverified\nDisplay name: My Bot\nRole: code reviewer\nPersona: short and dry\nAgent token: ` + token},
		{bob, "/agent details my-bot", `!Only the agent's owner can do this\.`}, {ann, "/agent details bob", `!There is no agent called "bob"\.`},
		{bob, "/agent verify my-bot", `!Only the agent's owner can do this\.`}, {ann, "/agent verify none", `!There is no agent called "none"\.`},
		{ann, "/agent verify My Bot", `The agent my-bot is verified\.\nAgent token: ` + token},
		{ann, "/agent list", `my-bot \[agent\] — offline, code reviewer`}, {bob, "/agent list", `You have no agents\.`},
		{ann, "/agent customize @MY-BOT github_token ghp_123456789012 --agency", `Set github_token of my-bot for this agency\.`},
		{ann, "/agent customize my-bot --agency favourite colour of the sea", `Set favourite of my-bot for this agency\.`},
		{ann, "/agent customize my-bot personality Be kind.", `Set personality of my-bot\.`}, {ann, "/agent customize my-bot wallet_spend_limit_daily 7.5", `Set .*`},
		{ann, "/agent customize my-bot agency_addable FALSE", `Set .*`}, {ann, "/agent customize my-bot wallet_allowlisted_hooks a, b", `Set .*`},
		{ann, "/agent customize my-bot wallet_spend_limit_daily much", `!wallet_spend_limit_daily must be a number.*`}, {ann, "/agent customize my-bot no/key x", `!The key.*`},
		{ann, "/agent customize my-bot role", `Cleared role of my-bot\.`}, {ann, "/agent customize my-bot", `!Usage.*`}, {ann, "/agent customize my-bot --agency", `!Usage.*`},
		{bob, "/agent customize my-bot a b", `!Only the agent's owner can do this\.`},
		{bob, "/agent token my-bot", `!Only the agent's owner can do this\.`}, {ann, "/agent token my-bot", `The old token of my-bot is dead\..*\nAgent token: ` + token},
		{ann, "/agent details my-bot", `.*not kept any more; /agent token my-bot makes a new one\.`},
		{ann, "/agent", `!Usage: /agent create.*, or /agent customize.*`}, {ann, "/agent frob", `!Usage: /agent create.*`},
		{bob, `/boot helper --persona "two words" --role guide`, `Created the agent helper\..*` + token}, {bob, "/boot helper2 is a poet", `Created the agent helper2\..*`},
		{bob, "/boot helper3", `!Usage: /boot.*`}, {bob, "/boot --persona x", `!Usage: /boot.*`},
		{bob, "/who", `Ann — owner\nbob — member\neve — member\nhelper \[agent\] — agent\nhelper2 \[agent\] — agent\nmod — member\nmy-bot \[agent\] — agent`},

		{bob, "/agency create Bob's Reef", `Created Bob's Reef\. Its slug is bob-s-reef, its id [0-9a-f-]{36}\.`}, {bob, `/agency create cave --private --charter "be nice"`, `Created cave\. Its slug is cave.*`},
		{bob, "/agency create", `!Usage: /agency create.*`}, {bob, "/agency create --private", `!Usage: /agency create.*`}, {bob, "/agency", `!Usage: .*, or /agency list\.`},
		{eve, "/agency list", `ann-s-reef — Ann's Reef, 7 members, you are member\nlobby — Lobby, 0 members\nbob-s-reef — Bob's Reef, 1 member`},
		{eve, "/charter", `This agency has no charter\.`}, {eve, "/charter set x", `!This needs the role admin or higher in the agency\.`},
		{ann, `/charter set Be "kind".`, `The charter is set\.`}, {eve, "/charter", `Be "kind"\.`}, {eve, "/charter Be kind.", `!Usage: /charter, or .*`}, {ann, "/charter set", `!Usage.*`},
		{ann, "/charter clear", `The charter is removed\.`}, {eve, "/charter clear", `!This needs.*`},

		{ann, "/invite", `Invite code: [0-9a-z]{16}`}, {ann, "/invite 3 7d", `Invite code: [0-9a-z]{16}, for 3 uses, until ` + at}, {ann, "/invite --expires 1d --uses 1", `Invite code: .*, for 1 use, until ` + at},
		{eve, "/invite", `!This needs the role admin or higher in the agency\.`}, {ann, "/invite 0", `!maxUses must be .*`}, {ann, "/invite 99999999999999999999", `!The number of uses.*`},
		{ann, "/invite soon", `!Expires must be a duration.*`}, {ann, "/invite 1 1d x", `!Usage.*`}, {ann, "/invite @bob", `!People join with a code.*`},
		{eve, "/invite agent my-bot", `!This agent can be added by its owner alone.*`}, {ann, "/invite agent @my-bot", `Added my-bot to Ann's Reef\.`}, {ann, "/invite agent bob", `!There is no agent called "bob"\.`}, {ann, "/invite agent", `!Usage.*`},

		{bob, "/skill install dice", `!This needs the role admin or higher in the agency\.`}, {ann, "/skill install Dice", `The skill dice is installed: /dice`}, {ann, "/skill install nope", `!There is no such skill; there are .*`},
		{bob, "/skill list", `dice — installed: [^\n]*\nanalyze — [^\n]*\necho — [^\n]*\npoll — [^\n]*`}, {ann, "/skill uninstall dice", `The skill dice is removed\.`}, {ann, "/skill uninstall dice", `!.*not installed.*`},
		{ann, "/skill install", `!Usage: /skill install <name>`}, {ann, "/skill", `!Usage: .*`}, {bob, "/skill uninstall dice", `!This needs.*`},
		{bob, "/dm eve", `The direct message with eve is open\. Its id is \S+\.`}, {bob, `/dm @Eve hello "you"`, `Sent to eve\. The id of the direct message is \S+\.`},
		{bob, "/dm bob", `!You can't open a direct message with yourself\.`}, {bob, "/dm nobody x", `!There is nobody called nobody\.`}, {bob, "/dm", `!Usage: /dm <name> \[message\]`},

		{ann, "/promote mod", `mod is moderator now\.`}, {eve, "/promote bob", `!This needs the role admin or higher in the agency\.`}, {ann, "/promote mod", `!The role of mod is moderator.*`},
		{ann, "/promote @Mod ADMIN", `mod is admin now\.`}, {ann, "/demote mod admin", `!The role of mod is admin; /demote can.t make that admin\.`}, {ann, "/demote mod moderator", `mod is moderator now\.`},
		{ann, "/promote bob king", `!Role must be .*`}, {ann, "/promote nobody", `!There is nobody called nobody\.`}, {ann, "/promote", `!Usage.*`}, {ann, "/demote bob", `!The role of bob is member.*`},
		{mod, "/promote my-bot", `!This needs the role admin.*`}, {ann, "/promote my-bot", `my-bot is moderator now\.`}, {ann, "/demote my-bot", `my-bot is agent now\.`}, {ann, "/demote", `!Usage.*`},
		{ann, "/promote outsider", `!There is nobody called outsider\.`},
		{eve, "/kick bob", `!This needs the role moderator or higher in the agency\.`}, {mod, "/kick Ann", `!You can't do this .*`}, {mod, "/kick", `!Usage.*`}, {mod, "/kick a/b", `!There is nobody called "a/b"\.`},
		{mod, "/kick @BOB too   loud", `Kicked bob: too loud`}, {mod, "/kick bob", `!This account is not a member of the agency\.`}, {ann, "/promote bob", `!This account is not a member of the agency\.`},
		{mod, `/kick helper --reason "off topic"`, `Kicked helper: off topic`},
		{eve, "/ban bob", `!This needs the role moderator.*`}, {mod, "/ban bob 7d spam and more", `Banned bob until ` + at + `: spam and more`}, {mod, "/ban bob spam", `Banned bob: spam`},
		{mod, "/ban bob --expires 1d", `Banned bob until ` + at + `\.`}, {mod, "/ban bob 0d", `!Expires must be in the future\.`}, {mod, "/ban bob never", `Banned bob\.`}, {mod, "/ban", `!Usage.*`},
		{eve, "/unban bob", `!This needs.*`}, {mod, "/unban bob", `bob may come back\.`}, {mod, "/unban bob", `!This account is not banned\.`}, {mod, "/unban", `!Usage.*`},
		{ann, "/leave", `!The last owner can't leave.*`}, {eve, "/leave", `You left Ann's Reef\.`},
		{ann, "/frobnicate x", `!Unknown command /frobnicate\.`}, {ann, "/roll@dice 2d6", `!Unknown command /roll: nothing here is called @dice\.`}, {ann, "/", `!Unknown command /\.`},
	} {
		checkSaid(t, w, room, s)
	}
	_, err := typed(w, eve, room, "/ping")
	actortest.Wants(t, "one who has left", err, kernel.CodeForbidden)
	_, err = typed(w, eve, "none", "/ping")
	actortest.Wants(t, "nowhere", err, kernel.CodeNotFound)
	_, err = typed(w, ann, room, "/echo "+strings.Repeat("x", agency.MaxContent))
	actortest.Wants(t, "too long", err, kernel.CodeInvalid)
}

// TestCommandAgent: a configuration that was set by command is what the agent reads, and the token of a command works.
func TestCommandAgent(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	find := regexp.MustCompile(`sk_[0-9a-f]+`)
	made := find.FindString(checkSaid(t, w, room, utterance{ann, "/agent create bot coder", `.*`}).Content)
	_, _, err := w.Platform.ExchangeAgentToken(ctx, made)
	actortest.Wants(t, "an unverified agent", err, kernel.CodeForbidden)
	if again := find.FindString(checkSaid(t, w, room, utterance{ann, "/agent verify bot", `.*`}).Content); again != made {
		t.Errorf("the token changed from %s to %s", made, again)
	}
	if again := find.FindString(checkSaid(t, w, room, utterance{ann, "/agent details bot", `.*`}).Content); again != made {
		t.Errorf("the token changed from %s to %s", made, again)
	}
	w.Clock.Advance(account.SealedTokenFor + time.Second)
	checkSaid(t, w, room, utterance{ann, "/agent details bot", `.*not kept any more.*`})
	token, _, err := w.Platform.ExchangeAgentToken(ctx, made)
	if err != nil {
		t.Fatal(err)
	}
	bot := identify(w, token)
	for _, s := range []string{"github_token ghp_123456789012 --agency", "agency_addable true", "wallet_allowlisted_hooks a,b  c", "wallet_spend_limit_daily 7", "note " + strings.Repeat("x ", 20)} {
		checkSaid(t, w, room, utterance{ann, "/agent customize bot " + s, `Set .*`})
	}
	config, err := w.Platform.AgentConfig(ctx, bot, bot.ID, room)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"github_token": `"ghp_123456789012"`, "agency_addable": "true", "wallet_allowlisted_hooks": `["a","b","c"]`,
		"wallet_spend_limit_daily": "7", "note": `"` + strings.TrimSpace(strings.Repeat("x ", 20)) + `"`} {
		if string(config[key]) != want {
			t.Errorf("%s is %s, want %s", key, config[key], want)
		}
	}
	config, err = w.Platform.AgentConfig(ctx, bot, bot.ID, "")
	if err != nil || config["github_token"] != nil {
		t.Errorf("an override holds everywhere: %s, %v", config["github_token"], err)
	}
	for _, s := range []utterance{{bot, "/whoami", `You are bot \(bot\), an agent with the role agent.*`}, {bot, "/save k v", `Saved k\.`}, {bot, "/agent create x2", `!Only users can create agents.*`}, {bot, "/boot x2 y", `!Only users.*`}, {bot, "/agent list", `You have no agents\.`}} {
		checkSaid(t, w, room, s)
	}
}

// TestCommandsInTheLobby: nobody moderates it, and it can't be left.
func TestCommandsInTheLobby(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	w.Join(agency.LobbyID, ann, bob)
	for _, s := range []utterance{{ann, "/kick bob", `!The Lobby .*`}, {ann, "/ban bob", `!The Lobby .*`}, {ann, "/promote bob", `!The Lobby .*`}, {ann, "/leave", `!The Lobby can't be left\.`},
		{ann, "/invite", `!The Lobby .*`}, {ann, "/charter", `Everybody is here\.`}, {ann, "/custom", `.*no custom.*`}, {ann, "/save a b", `Saved a\.`}, {bob, "/get a", `b`}} {
		checkSaid(t, w, agency.LobbyID, s)
	}
}

// TestCommandsInADirectMessage: two talk, and nobody is added to it.
func TestCommandsInADirectMessage(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	w.Join(agency.LobbyID, ann)
	room := w.Room(ann, "Room", false)
	id := regexp.MustCompile(`is (\S+)\.$`).FindStringSubmatch(checkSaid(t, w, room, utterance{ann, `/dm bob hello "you"`, `Sent to bob.*`}).Content)[1]
	if texts := said(w, bob, id); len(texts) != 1 || texts[0] != `hello "you"` {
		t.Errorf("%q", texts)
	}
	for _, s := range []utterance{{bob, "/echo hi", `hi`}, {bob, "/who", `ann — member\nbob — member`}, {bob, "/save a b", `Saved a\.`}, {ann, "/get a", `b`}, {ann, "/leave", `!.*`}, {ann, "/kick bob", `!.*`},
		{ann, "/charter set x", `!.*`}, {ann, "/invite", `!.*`}, {ann, "/skill install dice", `!.*`}, {ann, "/agent create helper", `Created the agent helper\..*`}, {ann, "/invite agent helper", `!.*`}, {ann, "/who", `ann — member\nbob — member`}} {
		checkSaid(t, w, id, s)
	}
	if m := latest(t, w, id); !m.DM {
		t.Errorf("%+v", m)
	}
}

// TestCommandMessages: what a posted result takes from the message that asked for it.
func TestCommandMessages(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	post := w.Post(ann, room, "first")
	do := func(m agency.NewMessage, silent bool) (command.Result, error) {
		return w.Platform.Command(ctx, platform.Invoke{Who: ann, AgencyID: room, Message: m, Silent: silent})
	}
	r, err := do(agency.NewMessage{Content: "/me waves", Metadata: json.RawMessage(`{"trace":[{"step":"<a>"}],"command":"forged","webhook":true}`), ReplyTo: post.ID}, false)
	m := latest(t, w, room)
	if err != nil || r.Type != command.Chat || m.Type != "action" || m.ReplyTo != post.ID || string(m.Metadata) != `{"command":"/me","trace":[{"step":"<a>"}]}` {
		t.Errorf("%+v %v, posted %+v %s", r, err, m, m.Metadata)
	}
	if r, err := do(agency.NewMessage{Content: "/echo quiet"}, true); err != nil || !r.OK || r.Content != "quiet" || r.MessageID != "" || r.Ephemeral || latest(t, w, room).ID != m.ID {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range []agency.NewMessage{{Content: "/echo x", ReplyTo: "none"}, {Content: "/echo x", ClientID: strings.Repeat("x", 65)}, {Content: "/echo x", Type: "system"},
		{Content: "/echo x", Metadata: json.RawMessage(`[]`)}, {Content: "/echo x", Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", agency.MaxMetadata-10) + `"}`)}} {
		_, err := do(bad, false)
		actortest.Wants(t, "a message against the rules", err, kernel.CodeInvalid)
	}
	// Repeated tries of one clientId are one message, and their answers are the same, also at the same time.
	results := make([]command.Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			var err error
			if results[i], err = do(agency.NewMessage{Content: "/roll 20d1000", ClientID: "once"}, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		if r != results[0] || r.MessageID != latest(t, w, room).ID || r.Content != latest(t, w, room).Content {
			t.Errorf("%+v and %+v", r, results[0])
		}
	}
	if n, err := w.Platform.Messages(ctx, ann, room, platform.History{}); err != nil || len(n) != 3 {
		t.Errorf("%d messages, %v", len(n), err)
	}
}

// TestHostileCommands: whatever is typed is answered, in bounded time and space.
func TestHostileCommands(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	fill := strings.Repeat
	tails := []string{"", " " + fill(`"`, 15_900), " " + fill("--a ", 3900), fill(" --b=c", 2600), " " + fill("é", 15_900), " \u202e\u0000\u200b", " " + fill(`"a `, 5000), " " + fill("{", 15_000), " " + fill("@", 15_000),
		" a/b/../c", " x\u0000y", fill(" a", 7900), " ${x} %s %d `ls` '; DROP TABLE", " 99999999d99999999", " -- --", " \U0001F600 \U0001F600"}
	names := []string{"frob", fill("x", 50), "é@ü", "@@@"}
	for _, b := range command.Builtins() {
		names = append(names, b.Name)
		for _, f := range b.Forms {
			if f.Sub != "" {
				names = append(names, b.Name+" "+f.Sub)
			}
		}
	}
	for _, name := range names {
		for _, tail := range tails {
			r, err := typed(w, ann, room, "/"+name+tail)
			if err != nil {
				if code, _ := actortest.Code(err); code != kernel.CodeInvalid {
					t.Errorf("/%s%.20q: %v", name, tail, err)
				}
				continue
			}
			if r.Content == "" || r.Command == "" || len(r.Command) > 60 || !r.OK && !r.Ephemeral {
				t.Errorf("/%s%.20q: %+v", name, tail, r)
			}
		}
	}
}

// TestRun: a command that runs beside its caller is answered exactly once, whatever happens.
func TestRun(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", true)
	run := func(who *platform.Identity, text string) command.Result {
		got := make(chan command.Result, 2)
		w.Platform.RunCommand(platform.Invoke{Who: who, AgencyID: room, Message: agency.NewMessage{Content: text}}, func(r command.Result) { got <- r })
		return <-got
	}
	if r := run(ann, "/echo hi"); !r.OK || r.MessageID != latest(t, w, room).ID {
		t.Errorf("%+v", r)
	}
	for who, text := range map[*platform.Identity]string{ann: "/frob", bob: "/echo hi"} {
		if r := run(who, text); r.OK || r.Content == "" || r.Command != strings.Fields(text)[0] || !r.Ephemeral {
			t.Errorf("%+v", r)
		}
	}
	if r := run(ann, "/echo "+strings.Repeat("x", 16_001)); r.OK || r.Content != "Content must be at most 16000 characters." {
		t.Errorf("%+v", r)
	}
	p := w.NewPlatform()
	p.Close()
	got := make(chan command.Result, 1)
	p.RunCommand(platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/ping"}}, func(r command.Result) { got <- r })
	if r := <-got; r.OK || r.Content == "" {
		t.Errorf("after the end: %+v", r)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := w.Platform.Command(gone, platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/echo x"}})
	actortest.Wants(t, "a caller that has gone", err, kernel.CodeUnavailable)
}

// TestCommandsAndTheStore: while the store refuses or stands still, commands are answered all the same.
func TestCommandsAndTheStore(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	checkSaid(t, w, room, utterance{ann, "/save a b", `Saved a\.`})
	w.Faults.Script(storetest.FailBefore)
	_, err := typed(w, ann, room, "/echo lost")
	actortest.Wants(t, "a post that is refused by the store", err, kernel.CodeUnavailable)
	got := make(chan command.Result, 2)
	w.Faults.Script(storetest.FailBefore)
	w.Platform.RunCommand(platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/save a c"}}, func(r command.Result) { got <- r })
	if r := <-got; r.OK || r.Content == "" || !r.Ephemeral {
		t.Errorf("%+v", r)
	}
	checkSaid(t, w, room, utterance{ann, "/get a", `b`})

	p := w.NewPlatform()
	w.Faults.Always(storetest.Stall)
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = w.Platform.Command(soon, platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/echo late"}})
	actortest.Wants(t, "a store that stands still", err, kernel.CodeUnavailable)
	p.RunCommand(platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/echo late"}}, func(r command.Result) { got <- r })
	p.Close()
	if r := <-got; r.OK || r.Content == "" {
		t.Errorf("%+v", r)
	}
	w.Faults.Always(0)
	w.Faults.Release()
}

// broken is a part of the server with a mistake in it.
type broken struct{ platform.Live }

func (broken) Online(string) bool { panic("scripted") }

// TestCommandPanics: a mistake in a command costs its invoker an error and nobody else anything.
func TestCommandPanics(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	o := w.Platform.Options
	o.Live = broken{}
	p, err := platform.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range platform.MaxCommands + 1 { // each gives its place back
		_, err = p.Command(ctx, platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/who"}})
		actortest.Wants(t, "a command that panics", err, kernel.CodeInternal)
	}
	got := make(chan command.Result, 2)
	p.RunCommand(platform.Invoke{Who: ann, AgencyID: room, Message: agency.NewMessage{Content: "/who"}}, func(r command.Result) { got <- r })
	if r := <-got; r.OK || r.Content != "Internal error." {
		t.Errorf("%+v", r)
	}
}

// Of many who found the same agency or kick the same member by command at once, each gets an answer, and one kick counts.
func TestCommandsAtOnce(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(ann, "Room", false)
	w.Join(room, bob)
	var wg sync.WaitGroup
	var mu sync.Mutex
	slugs, kicks := map[string]bool{}, 0
	for range 6 {
		wg.Go(func() {
			r, err := typed(w, ann, room, "/agency create same name")
			k, kerr := typed(w, ann, room, "/kick bob")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !r.OK || kerr != nil {
				t.Error(r, err, kerr)
			}
			slugs[regexp.MustCompile(`slug is ([a-z0-9-]+)`).FindString(r.Content)] = true
			if k.OK {
				kicks++
			}
		})
	}
	wg.Wait()
	if len(slugs) != 6 || kicks != 1 {
		t.Errorf("%v, %d kicks", slugs, kicks)
	}
}

// TestWhoIsBounded: a crowd is not listed whole.
func TestWhoIsBounded(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	for i := range 210 {
		w.Join(room, w.User(fmt.Sprintf("user-with-a-long-name%03d", i)))
	}
	lines := strings.Split(checkSaid(t, w, room, utterance{ann, "/who", `.*`}).Content, "\n")
	if len(lines) != 201 || lines[200] != "- and 11 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
