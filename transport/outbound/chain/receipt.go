package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"parley/actors/platform"
)

// Forms of values in a node's answers.
var (
	addressForm  = regexp.MustCompile(`^0x[0-9a-f]{40}$`)
	quantityForm = regexp.MustCompile(`^0x[0-9a-fA-F]{1,64}$`)
	wordForm     = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
)

// topicTransfer is the hash of Transfer(address,address,uint256), the event of EIP-20.
const topicTransfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

// quantity is a number as nodes write it: hex without needless zeros. null leaves n nil.
type quantity struct{ n *big.Int }

// UnmarshalJSON implements json.Unmarshaler.
func (q *quantity) UnmarshalJSON(data []byte) (err error) {
	q.n, err = number(data, quantityForm)
	return err
}

// word is 32 bytes of data that are a number. null leaves n nil.
type word struct{ n *big.Int }

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(data []byte) (err error) {
	w.n, err = number(data, wordForm)
	return err
}

func number(data []byte, form *regexp.Regexp) (*big.Int, error) {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil || s == nil {
		return nil, err
	}
	if !form.MatchString(*s) {
		return nil, fmt.Errorf("%.80q is no number", *s)
	}
	n, _ := new(big.Int).SetString((*s)[2:], 16) // the form says that it is one
	return n, nil
}

// receipt is what a node tells of a transaction, as far as it is asked here.
type receipt struct {
	TransactionHash string   `json:"transactionHash"`
	BlockHash       string   `json:"blockHash"`
	BlockNumber     quantity `json:"blockNumber"`
	Status          quantity `json:"status"`
	Logs            []entry  `json:"logs"`
}

// entry is one event of a contract.
type entry struct {
	Address string   `json:"address"`
	Topics  []string `json:"topics"`
	Data    string   `json:"data"`
	Removed bool     `json:"removed"`
}

// read checks that the receipt is of a transaction, and finds the transfers of a token in it. A receipt without a block
// is as good as none.
func (r *receipt) read(txHash, token string) (*platform.Receipt, error) {
	if !strings.EqualFold(r.TransactionHash, txHash) {
		return nil, errors.New("chain: the receipt is of another transaction")
	}
	if r.BlockNumber.n == nil || !wordForm.MatchString(r.BlockHash) {
		return nil, nil
	}
	if r.Status.n == nil {
		return nil, errors.New("chain: the receipt has no status")
	}
	out := &platform.Receipt{Succeeded: r.Status.n.Cmp(big.NewInt(1)) == 0}
	if !out.Succeeded {
		return out, nil
	}
	for _, e := range r.Logs {
		if t, ok := e.transfer(token); ok {
			out.Transfers = append(out.Transfers, t)
		}
	}
	return out, nil
}

// transfer reads a transfer of the token; ok is false for whatever else.
func (e *entry) transfer(token string) (t platform.TokenTransfer, ok bool) {
	if e.Removed || !strings.EqualFold(e.Address, token) || len(e.Topics) != 3 || !strings.EqualFold(e.Topics[0], topicTransfer) ||
		!wordForm.MatchString(e.Data) {
		return t, false
	}
	from, ok1 := addressOf(e.Topics[1])
	to, ok2 := addressOf(e.Topics[2])
	n, _ := new(big.Int).SetString(e.Data[2:], 16) // the form says that it is one
	return platform.TokenTransfer{From: from, To: to, Amount: n}, ok1 && ok2
}

// addressOf reads an address out of a topic, which is filled up with zeros in front.
func addressOf(topic string) (string, bool) {
	topic = strings.ToLower(topic)
	digits, filled := strings.CutPrefix(topic, "0x"+strings.Repeat("0", 24))
	address := "0x" + digits
	return address, filled && addressForm.MatchString(address)
}
