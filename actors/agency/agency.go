// Package agency is the actor of one agency (chat room): charter, roles, members, and the log of everything said in it.
package agency

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"parley/actors/kernel"
	"parley/persistence"
)

// ActorKind is the kind of agency actors.
const ActorKind kernel.Kind = persistence.StreamAgency

// Limits of an agency's actor.
const (
	// memberCache is the number of members (and known strangers) that the actor remembers.
	memberCache = 4096
	// postCache is the number of idempotent posts that the actor remembers; older ones are read.
	postCache = 4096
	// banCache is the number of accounts of which the actor remembers whether they are banned.
	banCache = 4096
	// wallCache is the number of messages whose reactions the actor remembers.
	wallCache = 64
	// retainEvents and retainFor say how long the log is kept behind the snapshot.
	retainEvents = 10_000
	retainFor    = 7 * 24 * time.Hour

	// retainEnd is how many events are kept of an agency that is gone: those that tell its end.
	retainEnd = 2

	snapshotVersion = 1
)

// Ref names the actor of an agency.
func Ref(id string) kernel.Ref { return kernel.Ref{Kind: ActorKind, ID: id} }

// Publisher carries committed events to the servers on which members are online.
type Publisher interface {
	// Publish hands over neighbouring events, oldest first. It must not block. It reports false when nobody there
	// is interested any more.
	Publish(agency string, events []persistence.Event) bool
	// Followed reports whether anybody there is interested.
	Followed(agency string) bool
	// PublishDirect is Publish for a direct message, whose events go to every live connection of its sides. Whoever begins
	// to deliver begins behind h, and moves h on. It reports false when no side is connected there.
	PublishDirect(agency string, sides []string, h *Handed, events []persistence.Event) bool
}

// Ports is what an agency needs from outside.
type Ports struct {
	Publisher Publisher
}

// Agency is the entity.
type Agency struct {
	ports    Ports
	s        state
	members  *simplelru.LRU[string, MemberRecord] // zero record: known not to be a member
	recent   *simplelru.LRU[string, recentPost]   // by clientId key
	bans     *simplelru.LRU[string, BanRecord]    // zero record: known not to be banned
	banned   uint64                               // number of bans and unbans so far: what was read before one is stale
	loads    kernel.Gate[string]                  // members being read
	posts    kernel.Gate[string]                  // clientIds being looked up
	edits    kernel.Gate[uint64]                  // messages being changed
	purges   kernel.Gate[struct{}]                // steps of the clean-up
	walls    *simplelru.LRU[uint64, *wall]        // reactions to messages, by the messages' places
	marks    map[string]mark                      // reactions on their way to the store, by their keys there
	words    wordIndex
	grain    kernel.Grain
	watched  bool // some server here is interested in the events
	handed   *Handed
	outgoing []persistence.Event
}

var _ kernel.Entity = (*Agency)(nil)

// Factory makes the actors of agencies.
func Factory(p Ports) kernel.Factory {
	return func(id string) kernel.Behavior {
		h := &Handed{}
		return kernel.NewGrain(persistence.StreamAgency, id, func() kernel.Entity { return newAgency(p, h) })
	}
}

func newAgency(p Ports, h *Handed) *Agency {
	members, _ := simplelru.NewLRU[string, MemberRecord](memberCache, nil)
	recent, _ := simplelru.NewLRU[string, recentPost](postCache, nil)
	bans, _ := simplelru.NewLRU[string, BanRecord](banCache, nil)
	walls, _ := simplelru.NewLRU[uint64, *wall](wallCache, nil)
	return &Agency{ports: p, handed: h, members: members, recent: recent, bans: bans, walls: walls, marks: map[string]mark{}}
}

// Load implements kernel.Entity.
func (a *Agency) Load(version uint32, data []byte) error {
	if version != snapshotVersion {
		return fmt.Errorf("agency snapshot of version %d", version)
	}
	return json.Unmarshal(data, &a.s)
}

// Apply implements kernel.Entity.
func (a *Agency) Apply(ev *persistence.Event) error { return a.s.apply(ev) }

// Snapshot implements kernel.Entity.
func (a *Agency) Snapshot() (uint32, []byte) {
	data, err := json.Marshal(&a.s)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return snapshotVersion, data
}

// Ready implements kernel.Entity. Servers that were interested before are told that the actor is new: they ask again for
// what they miss.
func (a *Agency) Ready(g kernel.Grain) {
	a.grain = g
	a.watched = a.ports.Publisher.Publish(g.ID(), nil)
	a.readyDirect()
}

// Notice implements kernel.Entity.
func (a *Agency) Notice(kernel.Grain, any) {}

// Settled implements kernel.Entity: what one round of commits made goes out as one envelope.
func (a *Agency) Settled() {
	if len(a.outgoing) == 0 {
		return
	}
	switch {
	case a.s.Kind == DM:
		a.publishDirect(a.outgoing)
	case a.watched:
		a.watched = a.ports.Publisher.Publish(a.s.ID, a.outgoing)
	}
	a.outgoing = nil
}

// Busy implements kernel.Entity: an agency with members online stays awake.
func (a *Agency) Busy() bool {
	a.watched = a.watched && a.ports.Publisher.Followed(a.s.ID)
	return a.watched
}

// Retain implements kernel.Entity.
func (a *Agency) Retain() (uint64, time.Duration) {
	if a.s.Purged {
		return retainEnd, 0
	}
	return retainEvents, retainFor
}

// Handle implements kernel.Entity.
func (a *Agency) Handle(t *kernel.Turn, command any) {
	if a.anytime(t, command) {
		return
	}
	if !a.s.exists() {
		t.Fail(errNotFound())
		return
	}
	if a.s.Kind == DM && a.refuseInDM(t, command) {
		return
	}
	switch c := command.(type) {
	case Post:
		a.post(t, c)
	case PostRun:
		a.postRun(t, c)
	case EditMessage:
		a.editMessage(t, c)
	case DeleteMessage:
		a.deleteMessage(t, c)
	case React:
		a.react(t, c)
	case HideDM:
		a.hideDM(t, c)
	case ClearDM:
		a.clearDM(t, c)
	case Index:
		a.index(t)
	case Enter:
		a.enter(t, c)
	case AddMember:
		a.addMember(t, c)
	case Leave:
		a.leave(t, c)
	case SetRole:
		a.setRole(t, c)
	case Kick:
		a.kick(t, c)
	case Transfer:
		a.transfer(t, c)
	case Ban:
		a.ban(t, c)
	case Unban:
		a.unban(t, c)
	case PostPayment:
		a.postPayment(t, c)
	case SetSkill:
		a.setSkill(t, c)
	case CreateInvite:
		a.createInvite(t, c)
	case ListInvites:
		a.listInvites(t, c)
	case RevokeInvite:
		a.revokeInvite(t, c)
	case Redeem:
		a.redeem(t, c)
	case SaveNote, ClearNote:
		a.notes(t, c)
	case Update:
		a.update(t, c)
	case Dissolve:
		a.dissolve(t, c)
	default:
		t.Fail(fmt.Errorf("agency: unknown command %T", command))
	}
}

// anytime handles what is also for an agency that is not there, or not any more, and reports whether the command was of that
// kind.
func (a *Agency) anytime(t *kernel.Turn, command any) bool {
	switch c := command.(type) {
	case Found:
		a.found(t, c)
	case Purge:
		a.purge(t, c)
	case Forget:
		a.forget(t, c)
	case OpenDM:
		a.openDM(t, c)
	case ClearMessages:
		a.clearMessages(t)
	case DropReactions:
		a.dropReactions(t, c)
	case Watch:
		a.watch(t)
	default:
		return false
	}
	return true
}

// errNotFound is also the answer about a private agency to those who are not in it (decision 3).
func errNotFound() error { return kernel.NotFound("there is no such agency") }

// Watch makes the agency publish its events from now on. It answers with Watched, also when the agency has ended: who
// followed it reads in the log how.
type Watch struct{}

// Watched says after which event publishing begins.
type Watched struct {
	Last  uint64
	Ended bool // the agency is dissolved; its last events say so
}

func (a *Agency) watch(t *kernel.Turn) {
	if a.s.ID == "" {
		t.Fail(errNotFound())
		return
	}
	a.watched = true
	next, _ := t.Next()
	w := Watched{Last: next - 1, Ended: a.s.Dissolved}
	t.AfterCommits(func() { t.Reply(w) })
}

// commit commits a change whose events are to be published; answer runs when it is durable, before they are.
func (a *Agency) commit(t *kernel.Turn, c kernel.Change, answer func(), refused func(error) error) {
	events := c.Events
	t.Commit(c, func() {
		answer()
		a.outgoing = append(a.outgoing, events...)
		a.filled(events)
	}, refused)
}
