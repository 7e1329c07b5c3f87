// Package chaintest is a node of a block chain for tests: it answers the JSON-RPC questions that Parley asks.
package chaintest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Holding is what an address has, in smallest units.
type Holding struct{ Token, Ether *big.Int }

// Log is one event of a contract.
type Log struct {
	Address string   `json:"address"`
	Topics  []string `json:"topics"`
	Data    string   `json:"data"`
}

// Node is the server. Its methods may be called from any goroutine.
type Node struct {
	*httptest.Server

	mu       sync.Mutex
	chainID  uint64
	holdings map[string]Holding
	receipts map[string]any
	asked    map[string]int
	instead  http.HandlerFunc
}

// Start runs a node of a chain until the test ends.
func Start(t testing.TB, chainID uint64) *Node {
	t.Helper()
	n := &Node{chainID: chainID, holdings: map[string]Holding{}, receipts: map[string]any{}, asked: map[string]int{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// Hold gives an address what it holds.
func (n *Node) Hold(address string, h Holding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holdings[strings.ToLower(address)] = h
}

// Mine puts a transaction with these events into a block.
func (n *Node) Mine(txHash string, succeeded bool, logs ...Log) {
	status := "0x0"
	if succeeded {
		status = "0x1"
	}
	n.Put(txHash, map[string]any{"transactionHash": txHash, "blockHash": "0x" + strings.Repeat("b", 64), "blockNumber": "0x10",
		"status": status, "logs": append([]Log{}, logs...)})
}

// Put answers a receipt of the test's making.
func (n *Node) Put(txHash string, receipt any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.receipts[strings.ToLower(txHash)] = receipt
}

// SetChain makes it a node of another chain.
func (n *Node) SetChain(id uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.chainID = id
}

// Answer answers everything with a handler of the test's from now on; nil: no more.
func (n *Node) Answer(h http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.instead = h
}

// Asked is how often a method was called.
func (n *Node) Asked(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[method]
}

// Transfer is the event of a transfer of a token.
func Transfer(token, from, to string, amount *big.Int) Log {
	topic := func(address string) string { return "0x" + strings.Repeat("0", 24) + strings.ToLower(address[2:]) }
	return Log{Address: token, Data: fmt.Sprintf("0x%064x", amount),
		Topics: []string{"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", topic(from), topic(to)}}
}

// ServeHTTP implements http.Handler.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	instead := n.instead
	n.mu.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	var q struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost {
		http.Error(w, "not JSON-RPC", http.StatusBadRequest)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	if result, ok := n.result(q.Method, q.Params); ok {
		answer["result"] = result
	} else {
		answer["error"] = map[string]any{"code": -32602, "message": "invalid method or parameters"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs no answer
}

func (n *Node) result(method string, params []json.RawMessage) (any, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[method]++
	if method == "eth_chainId" {
		return fmt.Sprintf("0x%x", n.chainID), true
	}
	if len(params) == 0 {
		return nil, false
	}
	var text string
	var call struct{ To, Data string }
	switch method {
	case "eth_getBalance":
		if json.Unmarshal(params[0], &text) != nil {
			return nil, false
		}
		return "0x" + units(n.holdings[text].Ether).Text(16), true
	case "eth_call":
		const selector, filled = "0x70a08231", 24
		if json.Unmarshal(params[0], &call) != nil || !strings.HasPrefix(call.Data, selector) || len(call.Data) != len(selector)+64 {
			return nil, false
		}
		return fmt.Sprintf("0x%064x", units(n.holdings["0x"+call.Data[len(selector)+filled:]].Token)), true
	case "eth_getTransactionReceipt":
		if json.Unmarshal(params[0], &text) != nil {
			return nil, false
		}
		return n.receipts[text], true
	}
	return nil, false
}

func units(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}
