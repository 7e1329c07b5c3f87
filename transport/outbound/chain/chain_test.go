package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/platform"
	"parley/transport/outbound/chain/chaintest"
)

const (
	contract = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
	ann      = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	bob      = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	chainID  = 84532
)

var (
	ctx     = context.Background()
	tx      = "0x" + strings.Repeat("ab", 32)
	network = platform.Network{Name: "base-sepolia", ChainID: chainID, Explorer: "https://x.test", Token: contract}
)

func client(t testing.TB, n *chaintest.Node, timeout time.Duration) *Client {
	t.Helper()
	u, err := url.Parse(n.URL + "/v2/s3cret")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{URL: u, Network: network, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBalances(t *testing.T) {
	n := chaintest.Start(t, chainID)
	ether, _ := new(big.Int).SetString("1234567890123456789012", 10)
	n.Hold(ann, chaintest.Holding{Token: big.NewInt(12_500_000), Ether: ether})
	c := client(t, n, 0)
	for range 2 {
		units, wei, err := c.Balances(ctx, ann)
		if err != nil || units.Int64() != 12_500_000 || wei.Cmp(ether) != 0 {
			t.Fatalf("%v, %v, %v", units, wei, err)
		}
	}
	if units, wei, err := c.Balances(ctx, strings.ToLower(bob)); err != nil || units.Sign() != 0 || wei.Sign() != 0 {
		t.Fatalf("of nothing: %v, %v, %v", units, wei, err)
	}
	if asked := n.Asked("eth_chainId"); asked != 1 {
		t.Errorf("the chain was asked for %d times", asked)
	}
	if _, _, err := c.Balances(ctx, "0x12"); err == nil {
		t.Error("took a short address")
	}
}

func TestReceipts(t *testing.T) {
	n := chaintest.Start(t, chainID)
	c := client(t, n, 0)
	if r, err := c.Receipt(ctx, tx); r != nil || err != nil {
		t.Fatalf("unknown: %v, %v", r, err)
	}
	paid := chaintest.Transfer(contract, ann, bob, big.NewInt(7))
	change := func(f func(*chaintest.Log)) chaintest.Log {
		l := paid
		l.Topics = append([]string(nil), paid.Topics...)
		f(&l)
		return l
	}
	n.Mine(tx, true,
		change(func(l *chaintest.Log) { l.Address = bob }),
		change(func(l *chaintest.Log) { l.Topics = l.Topics[:2] }),
		change(func(l *chaintest.Log) { l.Topics = nil }),
		change(func(l *chaintest.Log) { l.Topics[0] = l.Topics[1] }),
		change(func(l *chaintest.Log) { l.Topics[1] = "0x1" + l.Topics[1][3:] }),
		change(func(l *chaintest.Log) { l.Topics[2] = bob }),
		change(func(l *chaintest.Log) { l.Topics = append(l.Topics, l.Topics[1]) }),
		change(func(l *chaintest.Log) { l.Data = "0x" }),
		change(func(l *chaintest.Log) { l.Data = "0x7" }),
		change(func(l *chaintest.Log) { l.Data = "0x" + strings.Repeat("zz", 32) }),
		change(func(l *chaintest.Log) { l.Data += strings.Repeat("0", 64) }),
		change(func(l *chaintest.Log) { l.Address = strings.ToUpper(l.Address[2:]) }),
		paid)
	r, err := c.Receipt(ctx, strings.ToUpper(tx[2:]))
	if r != nil || err != nil {
		t.Fatalf("of another hash: %v, %v", r, err)
	}
	r, err = c.Receipt(ctx, "0x"+strings.ToUpper(tx[2:]))
	if err != nil || !r.Succeeded || len(r.Transfers) != 1 || !strings.EqualFold(r.Transfers[0].From, ann) ||
		!strings.EqualFold(r.Transfers[0].To, bob) || r.Transfers[0].Amount.Int64() != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	n.Mine(tx, false, paid)
	if r, err := c.Receipt(ctx, tx); err != nil || r.Succeeded || len(r.Transfers) != 0 {
		t.Errorf("failed: %+v, %v", r, err)
	}
	good := map[string]any{"transactionHash": tx, "blockHash": "0x" + strings.Repeat("b", 64), "blockNumber": "0x1", "status": "0x1", "logs": []any{}}
	for name, c2 := range map[string]struct {
		key    string
		value  any
		absent bool // as good as unknown; else an error
	}{
		"no block": {"blockNumber", nil, true}, "no hash of a block": {"blockHash", nil, true}, "a short hash": {"blockHash", "0x1", true},
		"another transaction": {"transactionHash", "0x" + strings.Repeat("cd", 32), false}, "no hash": {"transactionHash", nil, false},
		"no status": {"status", nil, false}, "a number": {"status", 1, false}, "a long number": {"status", "0x" + strings.Repeat("1", 65), false},
		"a word": {"status", "yes", false}, "logs are an object": {"logs", map[string]int{}, false}, "logs of numbers": {"logs", []int{1}, false},
		"topics of numbers": {"logs", []any{map[string]any{"topics": []int{1}}}, false},
	} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		bad[c2.key] = c2.value
		n.Put(tx, bad)
		if r, err := c.Receipt(ctx, tx); r != nil || (err == nil) != c2.absent {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestWrongChain(t *testing.T) {
	n := chaintest.Start(t, 1)
	c := client(t, n, 0)
	if _, err := c.Receipt(ctx, tx); err == nil || !strings.Contains(err.Error(), "chain 1") {
		t.Fatal(err)
	}
	if _, _, err := c.Balances(ctx, ann); err == nil {
		t.Fatal("read another chain")
	}
	if n.Asked("eth_getBalance")+n.Asked("eth_getTransactionReceipt") != 0 {
		t.Error("asked the wrong chain")
	}
	n.SetChain(chainID)
	if _, err := c.Receipt(ctx, tx); err != nil {
		t.Errorf("after the node was put right: %v", err)
	}
}

// echoing answers with a body in which {id} is the id of the question.
func echoing(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "{id}", string(q.ID)))
	}
}

func TestHostileAnswers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"empty":       echoing(200, ""),
		"no JSON":     echoing(200, "<html>"),
		"a list":      echoing(200, `[{"id":{id},"result":"0x1"}]`),
		"no result":   echoing(200, `{"id":{id}}`),
		"null":        echoing(200, `{"id":{id},"result":null}`),
		"number":      echoing(200, `{"id":{id},"result":84532}`),
		"object":      echoing(200, `{"id":{id},"result":{}}`),
		"no hex":      echoing(200, `{"id":{id},"result":"0xzz"}`),
		"negative":    echoing(200, `{"id":{id},"result":"-0x1"}`),
		"bare 0x":     echoing(200, `{"id":{id},"result":"0x"}`),
		"long":        echoing(200, `{"id":{id},"result":"0x`+strings.Repeat("1", 1000)+`"}`),
		"other id":    echoing(200, `{"id":77777,"result":"0x14a34"}`),
		"refusal":     echoing(200, `{"id":{id},"error":{"code":-32000,"message":"`+strings.Repeat("no ", 10_000)+`"}}`),
		"odd refusal": echoing(200, `{"id":{id},"error":"no"}`),
		"status":      echoing(500, `{"id":{id},"result":"0x14a34"}`),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"huge":           echoing(200, `{"id":{id},"result":"0x14a34","x":"`+strings.Repeat("x", MaxAnswer)+`"}`),
		"hangs up":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"deeply nested":  echoing(200, `{"id":{id},"result":`+strings.Repeat("[", 100_000)),
		"wrong encoding": echoing(200, "{\"id\":{id},\"result\":\"\xff\"}"),
	} {
		t.Run(name, func(t *testing.T) {
			n := chaintest.Start(t, chainID)
			n.Answer(h)
			c := client(t, n, 0)
			_, err := c.Receipt(ctx, tx)
			if err == nil || strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 1000 {
				t.Errorf("%v", err)
			}
			if c.checked.Load() {
				t.Error("took the node for one of the right chain")
			}
		})
	}
}

func TestSlowAndAbsentNodes(t *testing.T) {
	n := chaintest.Start(t, chainID)
	release := make(chan struct{})
	n.Answer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	c := client(t, n, 50*time.Millisecond)
	if _, err := c.Receipt(ctx, tx); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("slow: %v", err)
	}
	close(release)
	n.CloseClientConnections()
	n.Close()
	if _, _, err := c.Balances(ctx, ann); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("absent: %v", err)
	}
}

// TestBusy: readings at once are bounded, and so are those that wait.
func TestBusy(t *testing.T) {
	n := chaintest.Start(t, chainID)
	release, inside := make(chan struct{}), make(chan struct{}, 1000)
	n.Answer(func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-release
		echoing(200, `{"id":{id},"result":null}`)(w, r)
	})
	c := client(t, n, 20*time.Second)
	c.checked.Store(true)
	var wg sync.WaitGroup
	failed := make(chan error, MaxCalls+MaxWaiting)
	for range MaxCalls + MaxWaiting {
		wg.Go(func() {
			if _, err := c.Receipt(ctx, tx); err != nil {
				failed <- err
			}
		})
	}
	for range MaxCalls {
		<-inside
	}
	for end := time.Now().Add(20 * time.Second); c.waiting.Load() < MaxCalls+MaxWaiting; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d readings wait", c.waiting.Load())
		}
	}
	if _, err := c.Receipt(ctx, tx); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	if len(inside) != 0 {
		t.Errorf("%d readings at once", MaxCalls+len(inside))
	}
	close(release)
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	u := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	for _, o := range []Options{{}, {URL: u("ftp://x"), Network: network}, {URL: u("https://"), Network: network}, {URL: u("https://x")}} {
		if _, err := New(o); err == nil {
			t.Errorf("took %+v", o)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	good := fmt.Sprintf(`{"transactionHash":"%s","blockHash":"0x%s","blockNumber":"0x1","status":"0x1","logs":[{"address":"%s",
		"topics":["%s","0x%s%s","0x%s%s"],"data":"0x%064x"}]}`, tx, strings.Repeat("b", 64), contract, topicTransfer,
		strings.Repeat("0", 24), ann[2:], strings.Repeat("0", 24), bob[2:], 5)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":` + good + `}`))
	f.Add([]byte(`{"id":1,"result":null}`))
	f.Add([]byte(`{"id":1,"error":{"code":1,"message":"x"}}`))
	f.Add([]byte(`{"id":1,"result":{"status":"0x1","logs":[{"topics":[]}]}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var r *receipt
		if decode(answer, 1, &r) != nil || r == nil {
			return
		}
		out, err := r.read(tx, strings.ToLower(contract))
		if err != nil || out == nil {
			return
		}
		for _, tr := range out.Transfers {
			if !addressForm.MatchString(tr.From) || !addressForm.MatchString(tr.To) || tr.Amount == nil || tr.Amount.Sign() < 0 || tr.Amount.BitLen() > 256 {
				t.Fatalf("%+v of %s", tr, answer)
			}
		}
	})
}
