package persistence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Kinds of streams. A stream is named kind + "/" + id.
const (
	StreamAccount = "account"
	StreamAgency  = "agency"
	StreamUpgrade = "upgrade" // what brings older stores up to date
	StreamRun     = "run"
	StreamSeats   = "seats" // the rooms of live connections
)

// Stream returns the name of a stream.
func Stream(kind, id string) string { return kind + "/" + id }

// Collections of documents and the form of their keys.
const (
	CollectionAccount    = "account"    // account id: the public profile
	CollectionAgency     = "agency"     // agency id: name, slug, charter, counts
	CollectionPublic     = "public"     // agency id: empty; the agencies that anybody may see
	CollectionMember     = "member"     // agency id / account id: role and time of joining
	CollectionMembership = "membership" // account id / agency id: the same, seen from the account
	CollectionOwned      = "owned"      // owner's account id / agent's account id: empty
	CollectionMessage    = "message"    // agency id / seq (see SeqKey): the message as clients see it
	CollectionBan        = "ban"        // agency id / account id: reason, moderator and end of a ban
	CollectionFollowing  = "following"  // follower's account id / followed account id: since when
	CollectionFollower   = "follower"   // followed account id / follower's account id: the same, seen from the other side
	CollectionUpload     = "upload"     // id of a picture: its bytes
	CollectionNote       = "note"       // agency id / key: a text that members keep
	CollectionTally      = "tally"      // agency id / seq (see SeqKey): a message's reactions as clients see them
	CollectionReaction   = "reaction"   // agency id / seq / …: who reacted to a message with what, and in which order
	CollectionDM         = "dm"         // account id / agency id: a direct message as one of the two sees it
	CollectionOpenedDM   = "dm-opened"  // opener's account id / agency id: empty; what counts towards the opener's limit

	// The directory (package explore): what lists and searches walk.
	CollectionListing = "listing" // size and age / agency id: the record of a public agency once more
	CollectionNewest  = "newest"  // kind / age / account id: empty
	CollectionTerm    = "term"    // kind / word of a name / id: empty

	CollectionSeats        = "seats"        // id of a login session or PAT: the rooms of its connection, restored when it comes back
	CollectionUpgrade      = "upgrade"      // name of a step that brings older stores up to date: how far it has come
	CollectionAlias        = "alias"        // agency id / message id that a client made: position in the log, 8 bytes, big-endian
	CollectionRun          = "run"          // run id: agent, agency, state, permissions
	CollectionAgencyRun    = "agencyrun"    // agency id / start in ms, as in SeqKey / run id: agent and state
	CollectionRunning      = "running"      // agency id / run id: empty; the runs that have not ended
	CollectionAgentRunning = "agentrunning" // agent's account id / run id: agency, and when the agent was last heard of
	CollectionRunEntry     = "runentry"     // run id / number, as in SeqKey: an entry of the server's own record of a run
	CollectionTranscript   = "transcript"   // run id: the transcript that the agent sent, a JSON array
	CollectionWord         = "word"         // agency id / word / block of the log: the messages that have the word (see actors/search)
)

// Indexes of claims.
const (
	ClaimUsername = "username" // lower-case name: account id
	ClaimSlug     = "slug"     // agency slug: agency id
	ClaimToken    = "token"    // hash of a session token, PAT or agent token: account id
	ClaimPAT      = "pat"      // id of a personal access token: account id
	ClaimCode     = "code"     // claim code of an unclaimed agent: account id
	ClaimVerify   = "verify"   // hash of the token in a claim's mail: account id of who wants to claim
	ClaimPost     = "post"     // agency id / sender id / client id: idempotency of posts, with an expiry
	ClaimInvite   = "invite"   // invite code: agency id
	ClaimWallet   = "wallet"   // lower-case address: account id
	ClaimPayment  = "payment"  // network / lower-case hash of a transaction: key of the message that reports it
)

// Counters, changed in the batch that changes what they count.
const (
	CountUsers         = "total_users"
	CountAgents        = "total_agents"
	CountUnclaimed     = "unclaimed_agents"
	CountPendingClaims = "pending_claims"
	CountAgencies      = "total_agencies"
	CountMessages      = "total_messages"
	CountMemberships   = "total_memberships"
)

// Key joins the parts of a document key. Ids never contain a slash.
func Key(a, b string) string { return a + "/" + b }

// SeqKey is the key of something at a position of an agency's log; keys of one agency sort by sequence.
func SeqKey(id string, seq uint64) string { return fmt.Sprintf("%s/%016x", id, seq) }

// SeqOfKey is the sequence in a key of SeqKey, 0 for any other key.
func SeqOfKey(key string) uint64 {
	_, hex, _ := strings.Cut(key, "/")
	seq, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0
	}
	return seq
}

// HashToken is the form in which tokens are stored and looked up (decision 10): lower-case hex of SHA-256. Tokens have
// more than 128 bits of entropy, so a plain hash is enough and a lookup by it gives nothing away by its timing.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
