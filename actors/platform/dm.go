package platform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of direct messages.
const (
	// MaxOpenedDMs is the number of direct messages that one account may have opened, hidden ones included: more is how
	// strangers are pestered. Those that others opened with it do not count. Some that are opened at the same moment may
	// go beyond it.
	MaxOpenedDMs = 1000
	// MaxDMs is the largest number of direct messages in one listing: those of the latest activity.
	MaxDMs = 1000
	// scannedDMs is the number among which they are looked for.
	scannedDMs = persistence.MaxRead
	// LastMessageLength is the length in characters to which a listing cuts the latest message.
	LastMessageLength = 500
)

// Participant is the other side of a direct message (clients.md 4.9). A deleted account keeps its id.
type Participant struct {
	ID           string       `json:"id"`
	Username     string       `json:"username"`
	DisplayName  string       `json:"displayName"`
	DisplayName2 string       `json:"display_name"`
	Type         account.Type `json:"type"`
	IsAgent      bool         `json:"is_agent"`
	Avatar       *string      `json:"avatar"`
	Online       bool         `json:"online"`
	Deleted      bool         `json:"deleted,omitempty"`
}

// DMView is a direct message as one of its two sides lists it (clients.md 2.4).
type DMView struct {
	AgencyID       string      `json:"agencyId"`
	AgencyID2      string      `json:"agency_id"`
	ID             string      `json:"id"`
	Participant    Participant `json:"participant"`
	LastMessage    *string     `json:"last_message"` // null: there is none
	LastMessage2   *string     `json:"lastMessage"`
	LastMessageAt  *string     `json:"last_message_at"`
	LastMessageAt2 *string     `json:"lastMessageAt"`
	CreatedAt      *string     `json:"created_at"`
	CreatedAt2     *string     `json:"createdAt"`

	other  agency.DMRecord
	seq    uint64 // of the latest message
	active string // when something happened last
}

func noDM() error { return kernel.NotFound("there is no such direct message") }

// OpenDM finds the direct message between the caller and another account, or makes it; made says which. However many ask
// at once, there is one. CodeNotFound for an unknown account, CodeInvalid for the caller itself, CodeForbidden beyond
// MaxOpenedDMs.
func (p *Platform) OpenDM(ctx context.Context, id *Identity, accountID string) (v *DMView, made bool, err error) {
	if accountID == id.ID {
		return nil, false, kernel.Invalid("you can't open a direct message with yourself")
	}
	other, err := p.Profile(ctx, accountID)
	if err != nil {
		return nil, false, err
	}
	agencyID := agency.DMID(id.ID, other.ID)
	row, err := p.dmRow(ctx, id.ID, agencyID)
	if gone(err) {
		err = p.mayOpenDM(ctx, id.ID)
	}
	if err != nil {
		return nil, false, err
	}
	meet := errand{Kind: errandMeet, Agency: agencyID, Who: id.Sender, Owner: other.ID}
	opened, err := kernel.Ask[*agency.OpenedDM](ctx, p.Directory, agency.Ref(agencyID), agency.OpenDM{Who: id.Sender,
		Other: other.Sender(), Show: row.Hidden != 0, Outbox: []persistence.OutboxOp{meet.promise()}})
	if err != nil {
		return nil, false, kernel.AsError(err)
	}
	if opened.Made {
		_ = p.carryOut(ctx, meet) // postponed when it fails
	}
	if row, err = p.dmRow(ctx, id.ID, agencyID); err != nil {
		return nil, false, err // the caller was deleted meanwhile
	}
	if v, err = p.dmView(ctx, agencyID, row); err == nil {
		err = p.showParticipant(ctx, v)
	}
	return v, opened.Made, err
}

// dmRow is a direct message as an account lists it, or CodeNotFound.
func (p *Platform) dmRow(ctx context.Context, accountID, agencyID string) (d agency.DMRecord, err error) {
	if strings.Contains(agencyID, "/") {
		return d, noDM()
	}
	doc, err := p.Store.Document(ctx, persistence.CollectionDM, persistence.Key(accountID, agencyID))
	if errors.Is(err, persistence.ErrNotFound) {
		return d, noDM()
	}
	if err == nil {
		d, err = agency.DecodeDM(doc)
	}
	if err != nil {
		return d, kernel.AsError(err)
	}
	return d, nil
}

func (p *Platform) mayOpenDM(ctx context.Context, accountID string) error {
	rows, err := p.Store.Documents(ctx, persistence.CollectionOpenedDM, persistence.Range{Prefix: accountID + "/", Limit: MaxOpenedDMs})
	switch {
	case err != nil:
		return kernel.AsError(err)
	case len(rows) >= MaxOpenedDMs:
		return kernel.Forbidden("you have opened %d direct messages, which is the most that an account can open", MaxOpenedDMs)
	default:
		return nil
	}
}

// doMeet makes sure that both sides of a new direct message are there: an account that was deleted meanwhile may have
// listed its direct messages before this one was among them.
func (p *Platform) doMeet(ctx context.Context, e errand) error {
	for _, accountID := range []string{e.Who.ID, e.Owner} {
		_, err := p.Profile(ctx, accountID)
		if gone(err) {
			err = p.tell(ctx, agency.Ref(e.Agency), agency.Forget{Who: account.Sender{ID: accountID, Username: deletedName}})
		}
		if err != nil && !gone(err) {
			return err
		}
	}
	return p.fulfil(ctx, e)
}

// DMs lists the caller's direct messages, those of the latest activity first. Hidden ones are left out until a later
// message is there. limit 0 means MaxDMs.
func (p *Platform) DMs(ctx context.Context, id *Identity, limit, offset int) ([]*DMView, error) {
	views, err := p.shownDMs(ctx, id.ID)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(views, func(a, b *DMView) int {
		return cmp.Or(strings.Compare(b.active, a.active), strings.Compare(a.ID, b.ID))
	})
	views = window(views, limit, offset, MaxDMs)
	for _, v := range views {
		if err := p.showParticipant(ctx, v); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// shownDMs reads those that are not hidden, without their participants.
func (p *Platform) shownDMs(ctx context.Context, accountID string) ([]*DMView, error) {
	prefix, views := accountID+"/", []*DMView{}
	for after, seen := "", 0; seen < scannedDMs; {
		rows, err := p.Store.Documents(ctx, persistence.CollectionDM, persistence.Range{Prefix: prefix, After: after, Limit: scannedDMs - seen})
		if err != nil {
			return nil, kernel.AsError(err)
		}
		if len(rows) == 0 {
			break
		}
		seen, after = seen+len(rows), rows[len(rows)-1].Key
		for _, r := range rows {
			d, err := agency.DecodeDM(r.Data)
			if err != nil {
				return nil, kernel.AsError(err)
			}
			v, err := p.dmView(ctx, strings.TrimPrefix(r.Key, prefix), d)
			if err != nil {
				return nil, err
			}
			if d.Hidden == 0 || v.seq > d.Hidden {
				views = append(views, v)
			}
		}
	}
	return views, nil
}

// dmView joins a row with the latest message.
func (p *Platform) dmView(ctx context.Context, agencyID string, d agency.DMRecord) (*DMView, error) {
	created := account.FormatTime(d.CreatedAt)
	v := &DMView{AgencyID: agencyID, AgencyID2: agencyID, ID: agencyID, CreatedAt: created, CreatedAt2: created, other: d, active: *created}
	rows, err := p.Store.Documents(ctx, persistence.CollectionMessage, persistence.Range{Prefix: agencyID + "/", Limit: 1, Reverse: true})
	if err != nil || len(rows) == 0 {
		return v, wrapped(err)
	}
	// A list may have a thousand of them, each with as much metadata as its sender liked: they are not decoded.
	text, err := agency.ContentOf(rows[0].Data)
	var at string
	if err == nil {
		at, err = agency.CreatedAtOf(rows[0].Data)
	}
	if err != nil {
		return nil, kernel.AsError(err)
	}
	if utf8.RuneCountInString(text) > LastMessageLength {
		text = string([]rune(text)[:LastMessageLength-1]) + "…"
	}
	v.LastMessage, v.LastMessage2, v.LastMessageAt, v.LastMessageAt2 = &text, &text, &at, &at
	v.seq, v.active = persistence.SeqOfKey(rows[0].Key), at
	return v, nil
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return kernel.AsError(err)
}

// showParticipant fills in the other side, which is never missing: an account that is gone is shown as such.
func (p *Platform) showParticipant(ctx context.Context, v *DMView) error {
	profile, err := p.Profile(ctx, v.other.Other)
	switch {
	case gone(err):
		v.Participant = Participant{ID: v.other.Other, Username: deletedName, DisplayName: agency.DeletedDisplayName,
			DisplayName2: agency.DeletedDisplayName, Type: v.other.Type, IsAgent: v.other.Type == account.Agent, Deleted: true}
	case err != nil:
		return err
	default:
		v.Participant = Participant{ID: profile.ID, Username: profile.Username, DisplayName: profile.DisplayName,
			DisplayName2: profile.DisplayName, Type: profile.Type, IsAgent: profile.Type == account.Agent, Avatar: profile.Avatar,
			Online: p.Live.Online(profile.ID)}
	}
	return nil
}

// DMMessages is Messages for the caller's direct messages: CodeNotFound for any other agency.
func (p *Platform) DMMessages(ctx context.Context, id *Identity, agencyID string, h History) ([]json.RawMessage, error) {
	if _, err := p.dmRow(ctx, id.ID, agencyID); err != nil {
		return nil, err
	}
	return p.Messages(ctx, id, agencyID, h)
}

// HideDM takes a direct message out of the caller's list until a later message is there. The other side notices nothing.
func (p *Platform) HideDM(ctx context.Context, id *Identity, agencyID string) error {
	return p.tellDM(ctx, id, agencyID, agency.HideDM{Who: id.Sender})
}

// PurgeDM deletes all messages of a direct message for both sides; either may. It goes on by itself if it is cut short.
func (p *Platform) PurgeDM(ctx context.Context, id *Identity, agencyID string) error {
	if err := p.tellDM(ctx, id, agencyID, agency.ClearDM{By: id.Sender}); err != nil {
		return err
	}
	_ = p.carryOut(ctx, errand{Kind: errandClear, Agency: agencyID}) // goes on by itself if it fails
	return nil
}

// tellDM sends a command to a direct message of the caller's. No other agency is woken.
func (p *Platform) tellDM(ctx context.Context, id *Identity, agencyID string, command any) error {
	if _, err := p.dmRow(ctx, id.ID, agencyID); err != nil {
		return err
	}
	return p.tell(ctx, agency.Ref(agencyID), command)
}

// window cuts a page out of a list.
func window[T any](list []T, limit, offset, most int) []T {
	offset = min(max(offset, 0), len(list))
	list = list[offset:]
	if limit <= 0 || limit > most {
		limit = most
	}
	return list[:min(limit, len(list))]
}
